import type { ContextValues } from "@connectrpc/connect";
import type { UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { nextRound } from "../../core/event-loop.js";
import type { MeasuredPieces } from "../../wire/large/large.js";

/** A large message that an implementation has put aside: an empty one goes through Connect in its place. */
interface Aside extends MeasuredPieces {
  /** Called when it is written, or will not be written any more. */
  readonly written?: (() => void) | undefined;
}

/** By the values of their calls, which are the only thing that goes through Connect from one end to the other. */
const aside = new WeakMap<ContextValues, Aside>();

/** Puts a large message aside; the very next thing that Connect writes for this call stands for it. */
export function putAside(values: ContextValues, large: Aside): void {
  aside.set(values, large);
}

/**
 * The same response, in which large messages are written piece by piece. Connect would make each of them as a whole, and
 * once more with its envelope, for every one of its readers. They are sent uncompressed, which a flag in the envelope says.
 */
export function withLarge(
  request: UniversalServerRequest,
  values: ContextValues,
  response: UniversalServerResponse,
): UniversalServerResponse {
  const { body } = response;
  if (body === undefined) return response;
  const enveloped = /^application\/(?:grpc|connect\+)/i.test(request.header.get("content-type") ?? "");
  if (!enveloped && !aside.has(values)) return response;
  if (!enveloped) response.header?.delete("content-length");
  return { ...response, body: new LargeBody(body, values, enveloped, request.signal) };
}

/** What stands before a message: its flags, which are none, and its length. */
function prefixOf(length: number): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(length, 1);
  return prefix;
}

/** A body in which each chunk is one message, as Connect makes it. */
export class LargeBody implements AsyncIterableIterator<Uint8Array> {
  readonly #inner: AsyncIterator<Uint8Array>;
  readonly #values: ContextValues;
  readonly #enveloped: boolean;
  #large: { readonly pieces: Iterator<Uint8Array>; readonly written: (() => void) | undefined } | undefined;

  constructor(body: AsyncIterable<Uint8Array>, values: ContextValues, enveloped: boolean, signal: AbortSignal) {
    this.#inner = body[Symbol.asyncIterator]();
    this.#values = values;
    this.#enveloped = enveloped;
    // The writer does not call again when the reader is gone.
    signal.addEventListener("abort", () => this.#end(), { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    return this.#large === undefined ? this.#inner.next().then(this.#pass) : this.#piece();
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    this.#end();
    return this.#inner.return?.() ?? Promise.resolve({ done: true, value: undefined });
  }

  throw(error: unknown): Promise<IteratorResult<Uint8Array>> {
    this.#end();
    return this.#inner.throw?.(error) ?? Promise.reject(error);
  }

  readonly #pass = (
    next: IteratorResult<Uint8Array>,
  ): IteratorResult<Uint8Array> | Promise<IteratorResult<Uint8Array>> => {
    const large = aside.get(this.#values);
    if (large === undefined || next.done === true) return next;
    aside.delete(this.#values);
    this.#large = { pieces: large.pieces[Symbol.iterator](), written: large.written };
    return this.#enveloped ? { done: false, value: prefixOf(large.length) } : this.#piece();
  };

  async #piece(): Promise<IteratorResult<Uint8Array>> {
    // Other work of the event loop runs between two pieces, however quickly the reader takes them.
    await nextRound();
    const piece = this.#large?.pieces.next();
    if (piece === undefined || piece.done === true) {
      this.#end();
      return this.#inner.next().then(this.#pass);
    }
    return { done: false, value: piece.value };
  }

  #end(): void {
    const { written } = this.#large ?? aside.get(this.#values) ?? {};
    aside.delete(this.#values);
    this.#large = undefined;
    written?.();
  }
}
