import { Gathered } from "../../core/bytes.js";
import { A2AError } from "../../core/error.js";
import { parseUrl } from "../../core/net.js";
import { hostUnavailable } from "../errors/errors.js";
import type { HttpAnswer, HttpAsk } from "../platform.js";

/** Unread bytes after which reading from the connection pauses. */
const MAX_WAITING = 64 * 1024;

/** Reads a whole body. */
interface WholeReader {
  readonly maxBytes: number;
  resolve(text: string): void;
  reject(error: unknown): void;
}

/** Reads the next chunk. */
interface PieceReader {
  resolve(result: IteratorResult<Uint8Array>): void;
  reject(error: unknown): void;
}

/** Takes each chunk as it arrives. */
interface Taker {
  take(chunk: Uint8Array): void;
  resolve(): void;
  reject(error: unknown): void;
}

/** An incoming answer over any transport, read at the pace of its reader. */
export abstract class IncomingAnswer implements HttpAnswer, AsyncIterator<Uint8Array> {
  status = 0;
  contentType = "";
  protected readonly ask: HttpAsk;
  readonly #resolve: (answer: HttpAnswer) => void;
  readonly #reject: (error: unknown) => void;
  #headers: Headers | undefined;
  /** Bytes that have arrived and are unread. */
  readonly #waiting = new Gathered();
  #isPaused = false;
  #failure: unknown;
  #whole: WholeReader | undefined;
  #next: PieceReader | undefined;
  #taker: Taker | undefined;
  /** True after the end of the answer. */
  isOver = false;

  constructor(ask: HttpAsk, resolve: (answer: HttpAnswer) => void, reject: (error: unknown) => void) {
    this.ask = ask;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  protected abstract makeHeaders(): Headers;
  protected abstract pauseReading(): void;
  protected abstract resumeReading(): void;
  /** Aborts the exchange on the wire, in any state. */
  protected abstract abort(): void;

  /** @throws the reason of a signal that is already aborted */
  protected listen(): void {
    const { signal } = this.ask;
    if (signal === undefined) return;
    if (signal.aborted) throw signal.reason;
    signal.addEventListener("abort", this.#onAbort);
  }

  protected answered(status: number, contentType: string, encoding: string): void {
    this.status = status;
    this.contentType = contentType;
    if (encoding !== "" && encoding !== "identity") {
      this.breakOff(wrong(`The answer is in the encoding ${encoding.slice(0, 50)}, which was not asked for.`));
    } else this.#resolve(this);
  }

  protected arrived(chunk: Uint8Array): void {
    if (this.isOver) return;
    this.#waiting.push(chunk);
    this.#advance();
    if (this.#whole !== undefined || this.#waiting.size < MAX_WAITING || this.#isPaused) return;
    this.#isPaused = true;
    this.pauseReading();
  }

  /** Ends the answer. Bytes that have arrived can still be read. @param given undefined if the answer is complete */
  protected end(given: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    const { signal } = this.ask;
    signal?.removeEventListener("abort", this.#onAbort);
    // HTTP/2 may end a request properly without an answer.
    const failure = given ?? (this.status === 0 ? unanswered() : undefined);
    if (failure !== undefined) {
      this.#failure = this.#errorOf(failure);
      // Has no effect after the answer began.
      this.#reject(this.#failure);
    }
    this.#advance();
  }

  protected breakOff(reason: unknown): void {
    if (this.isOver) return;
    this.end(reason);
    this.abort();
  }

  get headers(): Headers {
    this.#headers ??= this.makeHeaders();
    return this.#headers;
  }

  text(maxBytes: number): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#whole = { maxBytes, resolve, reject };
      this.#resume();
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

  read(take: (chunk: Uint8Array) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#taker = { take, resolve, reject };
      this.#advance();
      this.#resume();
    });
  }

  cancel(): void {
    this.#waiting.clear();
    if (this.isOver) return;
    this.end(undefined);
    this.abort();
  }

  readonly #onAbort = (): void => this.breakOff(this.ask.signal?.reason);

  #errorOf(failure: unknown): unknown {
    const { signal, url } = this.ask;
    if (signal?.aborted) return signal.reason;
    return failure instanceof A2AError ? failure : hostUnavailable(failure, parseUrl(url)?.host ?? "the server");
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.resumeReading();
  }

  /** Passes arrived data to the reader. */
  #advance(): void {
    if (this.#taker !== undefined) this.#advanceTaker(this.#taker);
    else if (this.#whole !== undefined) this.#advanceWhole(this.#whole);
    else if (this.#next !== undefined) this.#advanceNext(this.#next);
  }

  #advanceTaker({ take, resolve, reject }: Taker): void {
    try {
      if (this.#waiting.size > 0) take(this.#taken());
    } catch (error) {
      this.#taker = undefined;
      this.cancel();
      reject(error);
      return;
    }
    if (!this.isOver) return;
    this.#taker = undefined;
    if (this.#failure !== undefined) reject(this.#failure);
    else resolve();
  }

  #advanceWhole({ maxBytes, resolve, reject }: WholeReader): void {
    const isTooLong = this.#waiting.size > maxBytes;
    if (!this.isOver && !isTooLong) return;
    this.#whole = undefined;
    if (isTooLong) reject(wrong(`The answer has more than ${maxBytes} bytes.`));
    else if (this.#failure !== undefined) reject(this.#failure);
    else resolve(textWithoutBom(this.#waiting.bytes));
    this.cancel();
  }

  #advanceNext({ resolve, reject }: PieceReader): void {
    const isThere = this.#waiting.size > 0;
    if (!isThere && !this.isOver) return;
    this.#next = undefined;
    if (isThere) {
      const value = this.#taken();
      this.#resume();
      resolve({ done: false, value });
    } else if (this.#failure !== undefined) reject(this.#failure);
    else resolve({ done: true, value: undefined });
  }

  /** Returns all unread bytes. Not as a Buffer, since messages would keep it in their bytes fields. */
  #taken(): Uint8Array {
    const { buffer, byteOffset, byteLength } = this.#waiting.bytes;
    this.#waiting.clear();
    return new Uint8Array(buffer, byteOffset, byteLength);
  }
}

function textWithoutBom({ buffer, byteOffset, byteLength }: Uint8Array): string {
  const text = Buffer.from(buffer, byteOffset, byteLength).toString();
  // A byte order mark, which some servers write before JSON (RFC 8259, 8.1).
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

/** Returns the error for an answer that violates HTTP or its limits. */
export function wrong(what: string): A2AError {
  return new A2AError("INVALID_AGENT_RESPONSE", what);
}

function unanswered(): Error {
  return Object.assign(new Error("no answer"), { code: "ECONNRESET" });
}
