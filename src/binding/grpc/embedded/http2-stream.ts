import type { Http2Stream } from "node:http2";

/**
 * Internal structure of grpc-js's calls: the object of a handler has the inner call as `call`, interceptors as
 * `nextCall`.
 */
interface Inner {
  readonly call?: Inner;
  readonly nextCall?: Inner;
  readonly stream?: Http2Stream;
}

/**
 * Returns the HTTP/2 stream of a call, the only way to write a message in parts with grpc-js. Undefined if grpc-js
 * hides it; the message must then be written as a whole.
 */
export function streamOf(grpc: object): Http2Stream | undefined {
  let inner: Inner | undefined = grpc;
  // Interceptors wrap each other; a call has a handful at most.
  for (let i = 0; inner !== undefined && i < 16; i++) {
    if (typeof inner.stream?.write === "function") return inner.stream;
    inner = inner.call ?? inner.nextCall;
  }
  return undefined;
}
