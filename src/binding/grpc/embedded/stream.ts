import { NodeWriter } from "../../../http/node/writer.js";
import { slowReader } from "../../../http/response.js";
import type { StreamCall } from "./call.js";
import { streamOf } from "./http2-stream.js";

/** Writers of a stream's messages. */
export interface Writing<T> {
  /** Encodes a message. */
  readonly encode: (message: T) => Buffer;
  /** Returns true for a large message. */
  readonly isLarge: (message: T) => boolean;
  /**
   * Writes a large message piece by piece, after everything before it was sent. Resolves with false if that is not
   * possible.
   */
  readonly writeLarge: (message: T) => Promise<boolean>;
}

/**
 * Writes messages to a call, in order and at the client's pace: while written bytes are unsent (HTTP/2 flow control),
 * it does not read from the iterable. Ends the call with status OK after the last message.
 *
 * When the client leaves or its deadline passes, it calls `return()` of the iterable at once, also while a message is
 * awaited, and the promise resolves. It rejects with errors of the iterable or the writing; the call is then still open
 * for its status.
 */
export async function writeAll<T>(grpc: StreamCall, messages: AsyncIterable<T>, writing: Writing<T>): Promise<void> {
  const iterator = messages[Symbol.asyncIterator]();
  const stop = (): void => {
    // No caller is left to handle an error of the iterable's cleanup.
    Promise.resolve(iterator.return?.()).catch(() => {});
  };
  if (grpc.cancelled) return stop();
  grpc.once("cancelled", stop);
  const sink = new Sink(grpc);
  try {
    for (;;) {
      let next: IteratorResult<T> | undefined = await iterator.next();
      if (grpc.cancelled) return;
      if (next.done === true) break;
      const large = writing.isLarge(next.value) ? largeOne(sink, next.value, writing, stop) : undefined;
      const hasRoom = large !== undefined || sink.write(encoded(next.value, writing, stop));
      // A waiting stream must not keep its last message in memory.
      next = undefined;
      if (large !== undefined) await large;
      else if (!hasRoom) await sink.waitForDrain();
      if (grpc.cancelled) return;
    }
  } finally {
    grpc.off("cancelled", stop);
  }
  grpc.end();
}

async function largeOne<T>(sink: Sink, message: T, writing: Writing<T>, stop: () => void): Promise<void> {
  await sink.empty();
  try {
    if (await writing.writeLarge(message)) return;
  } catch (error) {
    stop();
    throw error;
  }
  if (!sink.write(encoded(message, writing, stop))) await sink.waitForDrain();
}

function encoded<T>(message: T, { encode }: Writing<T>, stop: () => void): Buffer {
  try {
    return encode(message);
  } catch (error) {
    stop();
    throw error;
  }
}

/** Writes to a call and counts the unsent messages. */
class Sink {
  readonly #grpc: StreamCall;
  #pending = 0;
  #left: (() => void) | undefined;

  constructor(grpc: StreamCall) {
    this.#grpc = grpc;
  }

  write(bytes: Buffer): boolean {
    this.#pending++;
    return this.#grpc.write(bytes, this.#written);
  }

  readonly #written = (): void => {
    if (--this.#pending === 0) this.#left?.();
  };

  /** Resolves when everything written was sent, or the call has ended. */
  async empty(): Promise<void> {
    while (this.#pending > 0 && !this.#grpc.cancelled) {
      await this.#until((go) => {
        this.#left = go;
      });
    }
  }

  /** Resolves when another message may be written, or the call has ended. */
  waitForDrain(): Promise<void> {
    return this.#until(() => {});
  }

  /** Closes the call of a stalled client, as if the client had left. */
  #cutOff(): void {
    const stream = streamOf(this.#grpc);
    if (stream === undefined) this.#grpc.destroy();
    else new NodeWriter(stream).breakOff("stalled");
  }

  #until(listen: (go: () => void) => void): Promise<void> {
    const grpc = this.#grpc;
    return new Promise((resolve) => {
      let before = this.#pending;
      const look = (): void => {
        // grpc-js emits "drain" only after all of up to sixteen messages were sent. One sent message counts as
        // progress.
        if (this.#pending === before) this.#cutOff();
        before = this.#pending;
      };
      const timer = setInterval(look, slowReader.timeoutMs);
      const go = (): void => {
        clearInterval(timer);
        grpc.off("drain", go);
        grpc.off("close", go);
        resolve();
      };
      listen(go);
      grpc.once("drain", go);
      grpc.once("close", go);
    });
  }
}
