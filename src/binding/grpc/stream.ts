import type { StreamCall } from "./call.js";

/** One message of a stream after the other, as bytes. */
export type Encode<T> = (message: T) => Buffer;

/**
 * Writes messages to a call, in their order, at the pace of the client: while what was written has not left (HTTP/2
 * flow control), nothing further is taken from the iterable. Ends the call with status OK after the last one.
 *
 * When the client leaves or its deadline passes, `return()` of the iterable is called at once, also while a message
 * is awaited, and the promise resolves. It rejects with what the iterable or the encoder throws; the call is then
 * open, for its status to be set.
 */
export async function writeAll<T>(grpc: StreamCall, messages: AsyncIterable<T>, encode: Encode<T>): Promise<void> {
  const iterator = messages[Symbol.asyncIterator]();
  const stop = (): void => {
    // Nobody is left to be told what goes wrong while the iterable cleans up.
    Promise.resolve(iterator.return?.()).catch(() => {});
  };
  if (grpc.cancelled) return stop();
  grpc.once("cancelled", stop);
  try {
    for (;;) {
      const next = await iterator.next();
      if (grpc.cancelled) return;
      if (next.done === true) break;
      if (!grpc.write(encoded(next.value, encode, stop))) await room(grpc);
    }
  } finally {
    grpc.off("cancelled", stop);
  }
  grpc.end();
}

function encoded<T>(message: T, encode: Encode<T>, stop: () => void): Buffer {
  try {
    return encode(message);
  } catch (error) {
    stop();
    throw error;
  }
}

/** Until there is room for another message, or the call is over. */
function room(grpc: StreamCall): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      grpc.off("drain", go);
      grpc.off("close", go);
      resolve();
    };
    grpc.once("drain", go);
    grpc.once("close", go);
  });
}
