import type { Http2Stream } from "node:http2";
import { ServerInterceptingCall, type ServerInterceptingCallInterface, type ServerInterceptor } from "@grpc/grpc-js";
import { A2AError } from "../../core/error.js";
import { statusOf } from "./error.js";

/**
 * Ends calls whose request is not complete in time. Services that take a stream of requests are served as long as
 * they last; none of ours does.
 */
export function limitRequestTime(timeoutMs: number): ServerInterceptor {
  return (method, call) => {
    if (method.requestStream) return new ServerInterceptingCall(call);
    const timer = setTimeout(() => giveUp(call, timeoutMs), timeoutMs);
    const stop = (): void => clearTimeout(timer);
    return new ServerInterceptingCall(call, {
      start: (next) => {
        next({
          onReceiveMetadata: (metadata, pass) => pass(metadata),
          onReceiveMessage: (message, pass) => pass(message),
          onReceiveHalfClose: (pass) => {
            stop();
            pass();
          },
          onCancel: stop,
        });
      },
    });
  };
}

function giveUp(call: ServerInterceptingCallInterface, timeoutMs: number): void {
  call.sendStatus(statusOf(new A2AError("DEADLINE_EXCEEDED", `The request did not come within ${timeoutMs} ms.`)));
  // Nobody but the stream itself can say that what the client still sends is not wanted, and grpc-js does not show it.
  const { stream } = call as { stream?: Http2Stream };
  setImmediate(() => stream?.close());
}
