import { NodeWriter } from "../../../http/node/writer.js";
import { slowReader } from "../../../http/response.js";
import type { StreamCall } from "./call.js";
import { streamOf } from "./http2-stream.js";

/** How the messages of a stream are written. */
export interface Writing<T> {
  /** A message as bytes. */
  readonly encode: (message: T) => Buffer;
  /** Whether a message is large. */
  readonly isLarge: (message: T) => boolean;
  /** Writes a large one piece by piece, when everything before it has left; false where that is not possible. */
  readonly writeLarge: (message: T) => Promise<boolean>;
}

/**
 * Writes messages to a call, in their order, at the pace of the client: while what was written has not left (HTTP/2
 * flow control), nothing further is taken from the iterable. Ends the call with status OK after the last one.
 *
 * When the client leaves or its deadline passes, `return()` of the iterable is called at once, also while a message
 * is awaited, and the promise resolves. It rejects with what the iterable or the writing throws; the call is then
 * open, for its status to be set.
 */
export async function writeAll<T>(grpc: StreamCall, messages: AsyncIterable<T>, writing: Writing<T>): Promise<void> {
  const iterator = messages[Symbol.asyncIterator]();
  const stop = (): void => {
    // No caller is left that could be given an error of the iterable's cleanup.
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
      // A stream that waits must not keep its last message in memory.
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

/** Writes to a call and knows what has not left. */
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

  /** Until everything that was written has left, or the call is over. */
  async empty(): Promise<void> {
    while (this.#pending > 0 && !this.#grpc.cancelled) {
      await this.#until((go) => {
        this.#left = go;
      });
    }
  }

  /** Until there is room for another message, or the call is over. */
  waitForDrain(): Promise<void> {
    return this.#until(() => {});
  }

  /** It is then treated as a client that has left. */
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
        // grpc-js has room again when all of up to sixteen messages have left; one in this time will do.
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
