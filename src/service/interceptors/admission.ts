import type { Message } from "@bufbuild/protobuf";
import type { Call } from "../../core/call.js";
import { A2AError, toA2AError } from "../../core/error.js";
import type { Limits } from "../../core/limits.js";
import { dropTransportHeaders } from "../../core/transport-headers.js";
import { weightOf } from "../../wire/weight.js";
import { type Interceptor, isStream } from "../invoke.js";
import { dropAnswer } from "../outgoing-budget.js";

/** When a refused call may be tried again, in milliseconds. */
const retryAfterMs = 1_000;

/**
 * Counts the open calls and streams and refuses those above the limits. It also turns every error into an A2AError, so
 * that an unexpected error is an "internal error" in every binding.
 */
export function admission(limits: Limits, draining: () => boolean): Interceptor {
  const open = { calls: 0, streams: 0 };
  return (next) => async (invocation) => {
    const counter = invocation.method.methodKind === "unary" ? "calls" : "streams";
    const max = counter === "calls" ? limits.maxCalls : limits.maxStreams;
    if (draining()) {
      throw wrapError(new A2AError("UNAVAILABLE", "The server is shutting down.", { retryAfterMs }), invocation.call);
    }
    if (open[counter] >= max) {
      const tooMany = `The server has too many ${counter} open.`;
      throw wrapError(new A2AError("TOO_MANY_REQUESTS", tooMany, { retryAfterMs }), invocation.call);
    }
    open[counter]++;
    let streaming = false;
    try {
      const answer = await next(invocation);
      if (invocation.call.responseHeaders.size > 0) dropTransportHeaders(invocation.call.responseHeaders);
      if (!isStream(answer)) {
        if (invocation.call.written !== undefined && weightOf(answer) === undefined) dropAnswer(invocation.call);
        return answer;
      }
      streaming = true;
      return guardStream(answer, invocation.call, () => {
        open[counter]--;
      });
    } catch (error) {
      dropAnswer(invocation.call);
      throw wrapError(error, invocation.call);
    } finally {
      if (!streaming) open[counter]--;
    }
  };
}

/** A stream that is never read must still be ended with `return()`; every binding does so. */
function guardStream(answer: AsyncIterable<Message>, call: Call, end: () => void): AsyncIterable<Message> {
  return {
    [Symbol.asyncIterator](): AsyncIterator<Message> {
      const inner = answer[Symbol.asyncIterator]();
      let open = true;
      const close = (): void => {
        if (open) end();
        open = false;
      };
      return {
        async next() {
          try {
            const result = await inner.next();
            if (result.done) close();
            return result;
          } catch (error) {
            close();
            throw wrapError(error, call);
          }
        },
        async return() {
          close();
          await inner.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

/** The client gets the request id with a failure, which leads to the entries of the log. */
function wrapError(error: unknown, call: Call): A2AError {
  dropTransportHeaders(call.responseHeaders);
  call.responseHeaders.set("x-request-id", call.requestId);
  return toA2AError(error);
}
