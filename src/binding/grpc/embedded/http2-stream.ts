import type { Http2Stream } from "node:http2";

/** What grpc-js's calls look like from inside: the object of a handler has one in `call`, interceptors in `nextCall`. */
interface Inner {
  readonly call?: Inner;
  readonly nextCall?: Inner;
  readonly stream?: Http2Stream;
}

/**
 * The stream of a call. grpc-js has no other way to write a message in parts; where it hides the stream, undefined, and
 * the message has to be written as a whole.
 */
export function streamOf(grpc: object): Http2Stream | undefined {
  let inner: Inner | undefined = grpc;
  // Interceptors stand before each other; there are a handful at most.
  for (let i = 0; inner !== undefined && i < 16; i++) {
    if (typeof inner.stream?.write === "function") return inner.stream;
    inner = inner.call ?? inner.nextCall;
  }
  return undefined;
}
