import type { Message } from "@bufbuild/protobuf";
import { type Audit, auditOf, forAudit } from "../../core/audit.js";
import type { Call } from "../../core/call.js";
import { A2AError, toA2AError } from "../../core/error.js";
import { Expiry } from "../../core/expiry.js";
import { limitReached } from "../../core/limit-reached.js";
import type { Limits } from "../../core/limits.js";
import { dropTransportHeaders } from "../../core/transport-headers.js";
import { weightOf } from "../../wire/weight.js";
import { type Interceptor, type Invocation, isStream } from "../invoke.js";
import { dropAnswer } from "../outgoing-budget.js";

/** When a refused call may be tried again, in milliseconds. */
const retryAfterMs = 1_000;

/** What admission needs to know. */
export interface AdmissionParts {
  readonly limits: Limits;
  readonly draining: () => boolean;
  readonly audit?: Audit | undefined;
}

/**
 * Counts the open calls and streams and refuses those above the limits. It also turns every error into an A2AError, so
 * that an unexpected error is an "internal error" in every binding, and tells the audit log of refusals.
 */
export function admission({ limits, draining, audit }: AdmissionParts): Interceptor {
  const failed = (error: unknown, invocation: Invocation): A2AError => {
    const known = wrapError(error, invocation.call);
    if (audit !== undefined) recordRefusal(audit, known, invocation);
    return known;
  };
  const open = { calls: 0, streams: 0 };
  return (next) => async (invocation) => {
    const counter = invocation.method.methodKind === "unary" ? "calls" : "streams";
    const limit = counter === "calls" ? "maxCalls" : "maxStreams";
    if (draining()) {
      throw failed(new A2AError("UNAVAILABLE", "The server is shutting down.", { retryAfterMs }), invocation);
    }
    if (open[counter] >= limits[limit]) {
      throw failed(limitReached(limit, `The server has too many ${counter} open.`), invocation);
    }
    const { call } = invocation;
    open[counter]++;
    let streaming = false;
    try {
      const answer = await next(invocation);
      if (call.answerHeaders.size > 0) dropTransportHeaders(call.responseHeaders);
      if (!isStream(answer)) {
        if (call.written !== undefined && weightOf(answer) === undefined) dropAnswer(call);
        return answer;
      }
      streaming = true;
      const end = (): void => {
        open[counter]--;
        release(call, counter);
      };
      const stream = { call, end, failed: (error: unknown) => failed(error, invocation) };
      return guardStream(answer, stream, limits.expiredStreamGraceMs);
    } catch (error) {
      dropAnswer(call);
      throw failed(error, invocation);
    } finally {
      if (!streaming) {
        open[counter]--;
        release(call, counter);
      }
    }
  };
}

/** Counts down what the caller has open, and releases the memory of the request. */
function release({ share, held }: Call, counter: "calls" | "streams"): void {
  if (share !== undefined) share[counter]--;
  held?.release();
}

/** What is done about an open stream. */
interface OpenStream {
  readonly call: Call;
  readonly end: () => void;
  readonly failed: (error: unknown) => A2AError;
}

/**
 * A stream that is never read must still be ended with `return()`; every binding does so. What comes behind the first message
 * ends with the caller's credentials: to the operation it looks as if the client had left.
 */
function guardStream(
  answer: AsyncIterable<Message>,
  { call, end, failed }: OpenStream,
  graceMs: number,
): AsyncIterable<Message> {
  return {
    [Symbol.asyncIterator](): AsyncIterator<Message> {
      const inner = answer[Symbol.asyncIterator]();
      let open = true;
      let expiry: Expiry | undefined;
      const close = (): void => {
        if (open) end();
        open = false;
        expiry?.end();
      };
      return {
        async next() {
          try {
            const result = await inner.next();
            if (result.done) {
              if (expiry?.hasPassed) throw expired();
              close();
            } else if (expiry === undefined && call.caller.expiresAt !== undefined) {
              expiry = new Expiry(call.cancellation, call.caller.expiresAt + graceMs - Date.now());
              call.cancellation = expiry;
            }
            return result;
          } catch (error) {
            close();
            throw failed(expiry?.hasPassed ? expired() : error);
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

/** Tells of what an auditor wants to know: who was refused what, and why. */
function recordRefusal(audit: Audit, error: A2AError, { call, method, request }: Invocation): void {
  const note = auditOf(error);
  if (note === undefined) return;
  const { binding, caller, peer, requestId } = call;
  const { tenant } = request as { tenant?: string };
  audit.record({
    owner: caller.owner,
    subject: caller.subject,
    address: peer.address,
    tenant,
    method: method.name,
    binding,
    requestId,
    ...note,
  });
}

/** The task goes on, and a caller with new credentials may follow it. */
function expired(): A2AError {
  const message =
    "The credentials that the stream began with have ended; subscribe to the task again with new ones to go on.";
  const error = new A2AError("UNAUTHENTICATED", message);
  return forAudit(error, { event: "authentication.expired", reason: "expired" });
}

/** The client gets the request id with a failure, which leads to the entries of the log. */
function wrapError(error: unknown, call: Call): A2AError {
  dropTransportHeaders(call.responseHeaders);
  call.responseHeaders.set("x-request-id", call.requestId);
  return toA2AError(error);
}
