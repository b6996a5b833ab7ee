import { pause } from "../core/async.js";
import { membersOf } from "../core/members.js";
import {
  aBoolean,
  aFunction,
  anything,
  assertOptions,
  aText,
  aWholeNumber,
  described,
  expects,
  type OptionChecks,
  unless,
} from "../core/options.js";
import { type AgentEvent, artifact, type Content, working } from "./event.js";
import { type Piece, piecesOf, type ToolCall } from "./model-pieces.js";

/**
 * Output of a language model: an async iterable or a web stream of chunks. A chunk is a string, an event of the AI SDK
 * (`textStream`, `fullStream`), of OpenAI's chat completions and responses or of Anthropic's messages, a message or an
 * event of LangChain (`stream`, `streamEvents`, LangGraph's mode `messages`), or a chunk of Genkit (`generateStream`)
 * or of Gemini (`@google/genai`, `@google/generative-ai`).
 */
export type TextStream = AsyncIterable<unknown> | ReadableStream<unknown>;

/** Options of `text`, which converts a model's text to an artifact. */
export interface TextOptions {
  /** Id of the artifact within the task. Default: that of the newest one of the same name, or a new one. */
  readonly id?: string;
  readonly name?: string;
  readonly description?: string;
  /**
   * False replaces the artifact with this `id`: for a turn rerun after a crash, whose model generates the whole text
   * again. Default true: appends to it.
   */
  readonly append?: boolean;
  /**
   * Chunks that arrive within this time of the first one are joined, in milliseconds. 0 disables joining. Default 50.
   */
  readonly windowMs?: number;
  /** Joined chunks are stored as soon as they have this many characters. Default 4,096. */
  readonly maxChars?: number;
  /** Ends the wait for the next chunk when it fires: pass `turn.signal`, here and to the model's call. */
  readonly signal?: AbortSignal;
  /** Status content shown to the client when the model calls a tool. Default: none. True names the tool. */
  readonly toolCalls?: true | ((call: ToolCall) => Content | undefined);
}

const checks: OptionChecks<TextOptions> = {
  id: aText(),
  name: aText(),
  description: aText(),
  append: aBoolean(),
  windowMs: expects("a number of milliseconds from 0", (value) => typeof value === "number" && value >= 0),
  maxChars: aWholeNumber(1, Number.MAX_SAFE_INTEGER),
  signal: anything(),
  toolCalls: unless((value) => value === true, aFunction()),
};

/**
 * Converts a model's stream to events of one artifact, for `yield*`, which returns the whole text. Small chunks are
 * joined, so that not every token is a separate event; the last one is marked if it is known to be the last. Text
 * before an error of the stream is yielded before the error is thrown.
 *
 * @throws the error in the stream or at its end; the signal's reason when that fires; a TypeError at the end of a
 * stream whose chunks were all unknown, and for invalid options
 */
export async function* text(
  stream: TextStream,
  options: TextOptions = {},
): AsyncGenerator<AgentEvent, string, undefined> {
  assertOptions("text(stream, options)", options, checks);
  const { id, name, description, windowMs = 50, maxChars = 4_096, toolCalls, signal } = options;
  const about = given({ id, name, description });
  let append = options.append ?? true;
  const source = new PieceReader(stream, signal);
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

/** Chunks that wait to be stored as one. */
class Joined {
  #text = "";

  get length(): number {
    return this.#text.length;
  }

  add(text: string): void {
    this.#text += text;
  }

  /** Takes the text. Half of a surrogate pair at the end waits for the other half, unless the text is complete. */
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

/** A chunk, the end or the error of the stream, or the end of the wait for more. */
type Next =
  | Piece
  | { readonly kind: "end" }
  | { readonly kind: "error"; readonly error: unknown }
  | { readonly kind: "pause" };

/** A result of the source. */
type Arrived = { readonly result: IteratorResult<unknown> } | { readonly error: unknown };

/** Maximum number of results of a fast source read per event-loop turn. */
const RESULTS_PER_ROUND = 1_000;

/**
 * Reads a stream so that the wait for its next chunk can be interrupted and continued. Promises are never raced here:
 * one that stays pending during the whole stream, such as that of a signal, would retain every result that it was raced
 * with.
 */
class PieceReader {
  readonly #iterator: AsyncIterator<unknown>;
  readonly #signal: AbortSignal | undefined;
  #ready: Piece[] = [];
  /** Untaken result of the source. */
  #arrived: Arrived | undefined;
  #isAsked = false;
  #results = 0;
  #isKnown = false;
  /** Description of the first unknown chunk. */
  #unknown: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isPauseDue = false;
  /** Ends the current wait. */
  #wake: () => void = () => {};

  constructor(stream: TextStream, signal: AbortSignal | undefined) {
    this.#iterator = iteratorOf(stream);
    this.#signal = signal;
    signal?.addEventListener("abort", this.#onAbort);
  }

  /** Requests a pause, this many milliseconds after the first request since the last pause. */
  pauseIn(ms: number): void {
    this.#timer ??= setTimeout(this.#pause, ms);
  }

  noPause(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isPauseDue = false;
  }

  /** Returns the next chunk, or a pause if it is due first. @throws the signal's reason */
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
      if (++this.#results % RESULTS_PER_ROUND === 0) await pause(0, undefined);
      const next = this.#nextOf(arrived);
      if (next !== undefined) return next;
    }
  }

  #nextOf(arrived: Arrived): Next | undefined {
    if ("error" in arrived) return { kind: "error", error: arrived.error };
    const { result } = arrived;
    if (typeof result !== "object" || result === null) {
      return { kind: "error", error: new TypeError("The stream's iterator returned a result that is not an object.") };
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

  /** Returns the end of the stream. It is an error if no chunk was understood. */
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

  /** Calls an iterator's method, which may throw at once or return a plain value. */
  async #call<T>(method: () => T | Promise<T>): Promise<T> {
    return method();
  }

  readonly #onAbort = (): void => this.#wake();

  readonly #pause = (): void => {
    this.#isPauseDue = true;
    this.#wake();
  };

  /** Releases the source without waiting for it: a silent model may never answer. */
  close(): void {
    this.noPause();
    this.#signal?.removeEventListener("abort", this.#onAbort);
    // Errors of closing the source are ignored.
    this.#call(() => this.#iterator.return?.()).catch(() => {});
  }
}

/** Web streams are iterable in Node.js, but not on every runtime. */
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

/** Returns the reason why a value is rejected, with a remedy for the two likely mistakes. */
function notStream(value: unknown): string {
  const { then, stream } = membersOf(value);
  const remedy =
    typeof then === "function" ? ": await it" : typeof stream === "object" ? ": pass its member stream" : "";
  return `text() takes an async iterable or a ReadableStream, not ${described(value)}${remedy}.`;
}
