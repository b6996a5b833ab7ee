import type { ContextValues } from "@connectrpc/connect";
import type { UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { yieldToEventLoop } from "../../core/event-loop.js";
import type { MeasuredPieces } from "../../wire/large/large.js";
import { isEnvelopedType } from "../../wire/media-type.js";

/** A large message that an implementation has set aside. An empty one passes through Connect in its place. */
interface StreamedBody extends MeasuredPieces {
  /** Called once the message is written or can no longer be written. */
  readonly written?: (() => void) | undefined;
}

/** The messages by the context values of their calls, the only object that Connect passes from one end to the other. */
const aside = new WeakMap<ContextValues, StreamedBody>();

/** Sets a large message aside. The next message that Connect writes for this call is its placeholder. */
export function putAside(values: ContextValues, large: StreamedBody): void {
  aside.set(values, large);
}

/**
 * Returns the response with large messages written piece by piece. Connect would create each as a whole, and again with
 * its envelope, for every reader. They are sent uncompressed, as a flag in the envelope says.
 */
export function withLarge(
  request: UniversalServerRequest,
  values: ContextValues,
  response: UniversalServerResponse,
): UniversalServerResponse {
  const { body } = response;
  if (body === undefined) return response;
  const enveloped = isEnvelopedType(request.header.get("content-type"));
  if (!enveloped && !aside.has(values)) return response;
  if (!enveloped) response.header?.delete("content-length");
  return { ...response, body: new LargeBody(body, values, enveloped, request.signal) };
}

/** Returns the prefix of a message: empty flags and the length. */
function prefixOf(length: number): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(length, 1);
  return prefix;
}

/**
 * A body of Connect, in which each chunk is one message. Not a mapped stream, because a large message becomes several
 * chunks.
 */
class LargeBody implements AsyncIterableIterator<Uint8Array> {
  readonly #inner: AsyncIterator<Uint8Array>;
  readonly #values: ContextValues;
  readonly #enveloped: boolean;
  #large: { readonly pieces: Iterator<Uint8Array>; readonly written: (() => void) | undefined } | undefined;

  constructor(body: AsyncIterable<Uint8Array>, values: ContextValues, enveloped: boolean, signal: AbortSignal) {
    this.#inner = body[Symbol.asyncIterator]();
    this.#values = values;
    this.#enveloped = enveloped;
    // The writer does not call again after the reader has left.
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
    // Other work of the event loop runs between two pieces, even if the reader takes them quickly.
    await yieldToEventLoop();
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
