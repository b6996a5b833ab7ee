import type { Http2Stream } from "node:http2";
import { ServerInterceptingCall, type ServerInterceptingCallInterface, type ServerInterceptor } from "@grpc/grpc-js";
import { A2AError, toA2AError } from "../../core/error.js";
import type { ByteBudget } from "../byte-budget.js";
import { statusOf } from "./error.js";

export interface IncomingLimits {
  /** A request must be here within this time, in milliseconds. */
  readonly timeoutMs: number;
  /** Where its bytes are counted until it is. */
  readonly budget: ByteBudget;
}

/**
 * Ends calls whose request is not complete in time, or for whose bytes there is no room. Methods that take a stream of
 * requests are served as long as they last; none of ours does.
 */
export function limitIncoming({ timeoutMs, budget }: IncomingLimits): ServerInterceptor {
  return (method, call) => {
    if (method.requestStream) return new ServerInterceptingCall(call);
    let bytes = 0;
    const refuse = (error: A2AError): void => {
      settle();
      call.sendStatus(statusOf(error));
      // That what the client still sends is not wanted can only be said by the stream.
      setImmediate(() => stream?.close());
    };
    const take = ({ length }: Buffer): void => {
      try {
        budget.take(length);
        bytes += length;
      } catch (error) {
        refuse(toA2AError(error));
      }
    };
    const stream = streamOf(call)?.on("data", take);
    const late = (): void =>
      refuse(new A2AError("DEADLINE_EXCEEDED", `The request did not come within ${timeoutMs} ms.`));
    const timer = setTimeout(late, timeoutMs);
    const settle = (): void => {
      clearTimeout(timer);
      stream?.off("data", take);
      budget.give(bytes);
      bytes = 0;
    };
    return new ServerInterceptingCall(call, {
      start: (next) => {
        next({
          onReceiveMetadata: (metadata, pass) => pass(metadata),
          onReceiveMessage: (message, pass) => pass(message),
          onReceiveHalfClose: (pass) => {
            settle();
            pass();
          },
          onCancel: settle,
        });
      },
    });
  };
}

/** grpc-js has no other way to a call's bytes and to closing it; where it hides the stream, the time limit is left. */
function streamOf(call: ServerInterceptingCallInterface): Http2Stream | undefined {
  return (call as { stream?: Http2Stream }).stream;
}
