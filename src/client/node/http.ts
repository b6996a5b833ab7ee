import type { Dispatcher } from "undici";
import { A2AError } from "../../core/error.js";
import { unavailable } from "../errors.js";
import { isNever } from "../never.js";
import type { HttpAnswer, HttpAsk, HttpClient } from "../platform.js";

/** Answers with a status of 1xx that may come before the answer itself. */
const MAX_INTERIM = 16;

/** What waits for its reader before nothing more is read from the connection, in bytes. */
const MAX_WAITING = 64 * 1024;

/** Asks through a pool of connections. */
export function undiciClient(dispatcher: Dispatcher): HttpClient {
  const origins = new Set<string>();
  return (ask) =>
    new Promise((resolve, reject) => {
      const exchange = new Exchange(ask, resolve, reject);
      try {
        const [origin, path] = split(ask.url, origins);
        exchange.begin(dispatcher, origin, path);
      } catch (error) {
        exchange.onResponseError(undefined, error as Error);
      }
    });
}

/** Origins that are remembered as well-formed. */
const MAX_ORIGINS = 256;

/** Parsing a URL costs more than all else here, so one whose beginning was seen before is only cut. */
function split(url: string, origins: Set<string>): [string, string] {
  const slash = url.indexOf("/", 8);
  const begin = slash < 0 ? url : url.slice(0, slash);
  if (origins.has(begin)) return [begin, slash < 0 ? "/" : url.slice(slash)];
  const { origin, pathname, search } = new URL(url);
  if (!/^https?:/.test(origin)) throw new TypeError(`${url.slice(0, 100)} is no URL of HTTP`);
  if (origin === begin && origins.size < MAX_ORIGINS) origins.add(begin);
  return [origin, pathname + search];
}

/** Who wants all of a body. */
interface WholeReader {
  readonly maxBytes: number;
  resolve(text: string): void;
  reject(error: unknown): void;
}

/** Who wants the next piece of it. */
interface PieceReader {
  resolve(result: IteratorResult<Uint8Array>): void;
  reject(error: unknown): void;
}

/** One request and its answer, as undici reports it. */
class Exchange implements Dispatcher.DispatchHandler, HttpAnswer, AsyncIterator<Uint8Array> {
  status = 0;
  contentType = "";
  readonly #ask: HttpAsk;
  readonly #resolve: (answer: HttpAnswer) => void;
  readonly #reject: (error: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #given: Record<string, string | string[] | undefined> = {};
  #headers: Headers | undefined;
  #interim = 0;
  /** What has come and nobody has read yet. */
  #waiting: Uint8Array[] = [];
  #bytes = 0;
  #isOver = false;
  #failure: unknown;
  #whole: WholeReader | undefined;
  #next: PieceReader | undefined;

  constructor(ask: HttpAsk, resolve: (answer: HttpAnswer) => void, reject: (error: unknown) => void) {
    this.#ask = ask;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  begin(dispatcher: Dispatcher, origin: string, path: string): void {
    const { method, headers, body, signal } = this.#ask;
    if (!isNever(signal)) {
      signal?.throwIfAborted();
      signal?.addEventListener("abort", this.#onAbort, { once: true });
    }
    const verb = method as Dispatcher.HttpMethod;
    dispatcher.dispatch({ origin, path, method: verb, headers, ...(body === undefined ? {} : { body }) }, this);
  }

  get headers(): Headers {
    if (this.#headers === undefined) {
      this.#headers = new Headers();
      for (const [name, value = ""] of Object.entries(this.#given)) {
        for (const each of Array.isArray(value) ? value : [value]) this.#headers.append(name, each);
      }
    }
    return this.#headers;
  }

  text(maxBytes: number): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#whole = { maxBytes, resolve, reject };
      this.#controller?.resume();
      this.#advance();
    });
  }

  chunks(): AsyncIterable<Uint8Array> {
    return { [Symbol.asyncIterator]: () => this };
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    return new Promise((resolve, reject) => {
      this.#next = { resolve, reject };
      this.#advance();
    });
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    this.cancel();
    return Promise.resolve({ done: true, value: undefined });
  }

  cancel(): void {
    this.#waiting = [];
    this.#bytes = 0;
    if (this.#isOver) return;
    this.#end(undefined);
    this.#controller?.abort(new Error("nobody wants it any more"));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(new Error("nobody wants it any more"));
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) {
      this.#interim++;
      if (this.#interim > MAX_INTERIM) this.#breakOff(wrong(`more than ${MAX_INTERIM} interim answers came`));
      return;
    }
    this.status = status;
    this.#given = headers;
    const type = headers["content-type"];
    this.contentType = typeof type === "string" ? type : (type?.[0] ?? "");
    const coding = headers["content-encoding"];
    if (coding !== undefined && coding !== "" && coding !== "identity") {
      this.#breakOff(wrong(`the answer is in the encoding ${String(coding).slice(0, 50)}, which was not asked for`));
      return;
    }
    this.#resolve(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.#isOver) return;
    this.#waiting.push(chunk);
    this.#bytes += chunk.byteLength;
    this.#advance();
    if (this.#whole === undefined && this.#bytes >= MAX_WAITING) controller.pause();
  }

  onResponseEnd(): void {
    this.#controller = undefined;
    this.#end(undefined);
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#controller = undefined;
    this.#end(this.#ask.signal?.aborted ? this.#ask.signal.reason : (error as unknown));
  }

  readonly #onAbort = (): void => this.#breakOff(this.#ask.signal?.reason);

  #breakOff(reason: unknown): void {
    if (this.#isOver) return;
    this.#end(reason);
    this.#controller?.abort(new Error("it was broken off"));
  }

  /** Nothing more comes. What has come is still read. */
  #end(failure: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failure = failure === undefined ? undefined : this.#errorOf(failure);
    if (!isNever(this.#ask.signal)) this.#ask.signal?.removeEventListener("abort", this.#onAbort);
    // Nothing happens where there was an answer.
    if (this.#failure !== undefined) this.#reject(this.#failure);
    this.#advance();
  }

  #errorOf(failure: unknown): unknown {
    if (failure instanceof A2AError || failure === this.#ask.signal?.reason) return failure;
    return unavailable(failure, hostOf(this.#ask.url));
  }

  /** Gives its reader what there is for it. */
  #advance(): void {
    if (this.#whole !== undefined) this.#advanceWhole(this.#whole);
    else if (this.#next !== undefined) this.#advanceNext(this.#next);
  }

  #advanceWhole({ maxBytes, resolve, reject }: WholeReader): void {
    const isTooLong = this.#bytes > maxBytes;
    if (!this.#isOver && !isTooLong) return;
    this.#whole = undefined;
    if (isTooLong) reject(wrong(`the answer has more than ${maxBytes} bytes`));
    else if (this.#failure !== undefined) reject(this.#failure);
    else resolve(textOf(this.#waiting, this.#bytes));
    this.cancel();
  }

  #advanceNext({ resolve, reject }: PieceReader): void {
    const chunk = this.#waiting.shift();
    if (chunk === undefined && !this.#isOver) return;
    this.#next = undefined;
    if (chunk !== undefined) {
      this.#bytes -= chunk.byteLength;
      if (this.#bytes < MAX_WAITING) this.#controller?.resume();
      // Not a Buffer, which messages would keep for fields of bytes.
      resolve({ done: false, value: new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength) });
    } else if (this.#failure !== undefined) reject(this.#failure);
    else resolve({ done: true, value: undefined });
  }
}

function textOf(chunks: readonly Uint8Array[], bytes: number): string {
  const [first] = chunks;
  if (first === undefined) return "";
  const whole =
    chunks.length === 1 ? Buffer.from(first.buffer, first.byteOffset, first.byteLength) : Buffer.concat(chunks, bytes);
  return whole.toString();
}

function wrong(what: string): A2AError {
  return new A2AError("INVALID_AGENT_RESPONSE", `${what.charAt(0).toUpperCase()}${what.slice(1)}.`);
}

function hostOf(url: string): string {
  return /^https?:\/\/([^/?#]*)/.exec(url)?.[1] ?? "the server";
}
