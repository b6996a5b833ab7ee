import { described } from "../core/describe.js";
import { type AgentEvent, artifact, type Content, working } from "./event.js";
import { type Piece, piecesOf, type ToolCall } from "./model-pieces.js";

/**
 * Output of a language model, an async iterable or a web stream of pieces. A piece is a string, an event of the AI SDK
 * (`textStream`, `fullStream`), of OpenAI's chat completions and responses or of Anthropic's messages, a message or an
 * event of LangChain (`stream`, `streamEvents`, LangGraph's mode `messages`), or a chunk of Genkit (`generateStream`)
 * or of Gemini (`@google/genai`, `@google/generative-ai`).
 */
export type TextStream = AsyncIterable<unknown> | ReadableStream<unknown>;

/** Options of `text`, which turns a model's text into an artifact. */
export interface TextOptions {
  /** Id of the artifact within the task. Default: the newest of the same name, or a new one. */
  readonly id?: string;
  readonly name?: string;
  readonly description?: string;
  /**
   * False begins the artifact anew, in place of what its `id` has: for turns that a crash cut off and that run again, whose model says
   * everything once more. Default: true, it goes on with what is there.
   */
  readonly append?: boolean;
  /** Pieces that come within this time of each other's first are joined, in milliseconds. 0 joins nothing. Default 50. */
  readonly windowMs?: number;
  /** Joined pieces are stored as soon as they have this many characters. Default 4,096. */
  readonly maxChars?: number;
  /** Stops the wait for the next piece when it fires: give it `turn.signal`, and the model's call as well. */
  readonly signal?: AbortSignal;
  /** What the client is shown, as a status, when the model calls a tool. Default: nothing. True names the tool. */
  readonly toolCalls?: true | ((call: ToolCall) => Content | undefined);
}

/**
 * Turns a model's stream into events of one artifact, for `yield*`, which returns the whole text. Small pieces are
 * joined, so that not every token is an event of its own; the last one is marked where it is known to be the last. What
 * came before an error of the stream is handed on before that is thrown.
 *
 * @throws the error that the stream carries or ends with; the signal's reason when that fires; a TypeError at the end of a
 *   stream that had pieces of which none is of a known kind
 */
export async function* text(
  stream: TextStream,
  options: TextOptions = {},
): AsyncGenerator<AgentEvent, string, undefined> {
  const { id, name, description, windowMs = 50, maxChars = 4_096, toolCalls, signal } = options;
  const about = given({ id, name, description });
  let append = options.append ?? true;
  const source = new Pieces(stream, signal);
  const joined = new Joined();
  let whole = "";
  try {
    for (;;) {
      const piece = await source.next();
      if (piece.kind === "text") {
        whole += piece.text;
        joined.add(piece.text);
        if (windowMs > 0) source.pauseIn(windowMs);
        if (windowMs > 0 && joined.length < maxChars) continue;
      }
      const content = piece.kind === "tool" ? statusOf(piece.tool, toolCalls) : undefined;
      if (piece.kind === "tool" && content === undefined) continue;
      const isLast = piece.kind === "end" || piece.kind === "error";
      const taken = joined.take(isLast);
      source.noPause();
      if (taken !== "") {
        yield artifact({ ...about, append, text: taken, ...(piece.kind === "end" ? { lastChunk: true } : {}) });
        append = true;
      }
      if (content !== undefined) yield working(content);
      if (piece.kind === "error") throw piece.error;
      if (piece.kind === "end") return whole;
    }
  } finally {
    source.close();
  }
}

function statusOf(tool: ToolCall, toolCalls: TextOptions["toolCalls"]): Content | undefined {
  return typeof toolCalls === "function" ? toolCalls(tool) : toolCalls && `Calling ${tool.name}.`;
}

/** Pieces that wait to be stored as one. */
class Joined {
  #text = "";

  get length(): number {
    return this.#text.length;
  }

  add(text: string): void {
    this.#text += text;
  }

  /** All of them. Half of a surrogate pair at the end waits for the other half, unless none will come. */
  take(isLast: boolean): string {
    const end = !isLast && /[\uD800-\uDBFF]$/.test(this.#text) ? this.#text.length - 1 : this.#text.length;
    const taken = this.#text.slice(0, end);
    this.#text = this.#text.slice(end);
    return taken;
  }
}

function given<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** A piece, the end of the stream, what it threw, or the end of the wait for more. */
type Next =
  | Piece
  | { readonly kind: "end" }
  | { readonly kind: "error"; readonly error: unknown }
  | { readonly kind: "pause" };

/** What a source has said. */
type Arrived = { readonly result: IteratorResult<unknown> } | { readonly error: unknown };

/** So many results of a source that is never silent are read before the event loop goes on. */
const RESULTS_PER_ROUND = 1_000;

/**
 * Reads a stream so that the wait for its next piece can be broken off and taken up again. Nothing here races promises: one
 * that stays pending for the whole stream, such as that of a signal, would keep every result that it was raced with.
 */
class Pieces {
  readonly #iterator: AsyncIterator<unknown>;
  readonly #signal: AbortSignal | undefined;
  #ready: Piece[] = [];
  /** What the source has said and nobody has taken. */
  #arrived: Arrived | undefined;
  #isAsked = false;
  #results = 0;
  #isKnown = false;
  /** The first piece of no known kind, in words. */
  #unknown: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isPauseDue = false;
  /** Ends the wait that is under way. */
  #wake: () => void = () => {};

  constructor(stream: TextStream, signal: AbortSignal | undefined) {
    this.#iterator = iteratorOf(stream);
    this.#signal = signal;
    signal?.addEventListener("abort", this.#look);
  }

  /** Asks for a pause so many milliseconds after the first call since the last one. */
  pauseIn(ms: number): void {
    this.#timer ??= setTimeout(this.#pause, ms);
  }

  noPause(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isPauseDue = false;
  }

  /** The next piece; a pause when it is due before. @throws the signal's reason */
  async next(): Promise<Next> {
    for (;;) {
      this.#signal?.throwIfAborted();
      const ready = this.#ready.shift();
      if (ready !== undefined) return ready;
      if (this.#arrived === undefined) {
        if (this.#isPauseDue) return { kind: "pause" };
        this.#ask();
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      this.#signal?.throwIfAborted();
      const arrived = this.#arrived;
      if (arrived === undefined) continue;
      this.#arrived = undefined;
      if (++this.#results % RESULTS_PER_ROUND === 0) await new Promise((resolve) => setTimeout(resolve));
      const next = this.#nextOf(arrived);
      if (next !== undefined) return next;
    }
  }

  #nextOf(arrived: Arrived): Next | undefined {
    if ("error" in arrived) return { kind: "error", error: arrived.error };
    const { result } = arrived;
    if (typeof result !== "object" || result === null) {
      return { kind: "error", error: new TypeError("The stream's iterator gave a result that is no object.") };
    }
    if (result.done === true) return this.#end();
    try {
      const pieces = piecesOf(result.value);
      if (pieces !== undefined) this.#isKnown = true;
      else this.#unknown ??= described(result.value);
      this.#ready = pieces ?? [];
    } catch (error) {
      return { kind: "error", error };
    }
    return undefined;
  }

  /** The end of the stream, which is an error where nothing in it was understood. */
  #end(): Next {
    if (this.#isKnown || this.#unknown === undefined) return { kind: "end" };
    const error = new TypeError(
      `text() does not know the pieces of this stream; the first one is ${this.#unknown}. Map them to strings, ` +
        "or give it a stream of a kind that TextStream lists.",
    );
    return { kind: "error", error };
  }

  #ask(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    const take = (arrived: Arrived): void => {
      this.#isAsked = false;
      this.#arrived = arrived;
      this.#wake();
    };
    this.#call(() => this.#iterator.next()).then(
      (result) => take({ result }),
      (error: unknown) => take({ error }),
    );
  }

  /** An iterator may throw at once, and give what is no promise. */
  async #call<T>(method: () => T | Promise<T>): Promise<T> {
    return method();
  }

  readonly #look = (): void => this.#wake();

  readonly #pause = (): void => {
    this.#isPauseDue = true;
    this.#wake();
  };

  /** Lets the source go. What it does then is not waited for: a model that is silent may never answer. */
  close(): void {
    this.noPause();
    this.#signal?.removeEventListener("abort", this.#look);
    // A source that cannot be closed is left alone.
    this.#call(() => this.#iterator.return?.()).catch(() => {});
  }
}

/** Web streams are iterable by themselves in Node.js, but not everywhere. */
function iteratorOf(stream: TextStream): AsyncIterator<unknown> {
  const given = Object(stream) as Partial<AsyncIterable<unknown> & ReadableStream>;
  if (Symbol.asyncIterator in given) return given[Symbol.asyncIterator]?.() as AsyncIterator<unknown>;
  const { getReader } = given;
  if (typeof getReader !== "function") throw new TypeError(notStream(stream));
  const reader = getReader.call(stream) as ReadableStreamDefaultReader<unknown>;
  return {
    next: async () => {
      const { done, value } = await reader.read();
      return done ? { done, value: undefined } : { done, value };
    },
    return: async () => {
      await reader.cancel();
      return { done: true, value: undefined };
    },
  };
}

/** The reason why a value is refused, with the remedy for the two slips that are likely. */
function notStream(value: unknown): string {
  const { then, stream } = Object(value) as { readonly then?: unknown; readonly stream?: unknown };
  const remedy =
    typeof then === "function" ? ": await it" : typeof stream === "object" ? ": pass its member stream" : "";
  return `text() takes an async iterable or a ReadableStream, not ${described(value)}${remedy}.`;
}
