import type { Call } from "../core/call.js";
import type { Cancellation } from "../core/cancellation.js";
import { A2AError, toA2AError } from "../core/error.js";
import { lazy } from "../core/lazy.js";
import type { Logger } from "../core/log.js";
import type { HeaderPairs } from "../http/response.js";

/** Where something failed, for the log. */
export interface FailureContext {
  /** Tells whether anybody waits for the answer, and where the binding knows, why nobody does. */
  readonly client: Pick<Cancellation, "canceled"> & { readonly reason?: A2AError };
  readonly logger: Logger;
  readonly binding: string;
  /** Name of the method, when it came that far. */
  readonly method?: string | undefined;
  readonly call?: Call | undefined;
}

/**
 * Anything thrown while a request was answered, as the error that may leave. What is the server's fault is logged, with
 * its cause, which never leaves; what comes of a deadline or of the client's going away is no failure.
 */
export function failureOf(thrown: unknown, { client, logger, binding, method, call }: FailureContext): A2AError {
  const error = toA2AError(thrown);
  if (error.row.http < 500) return error;
  const { reason, cause } = error;
  const facts = { binding, method, requestId: call?.requestId, reason, err: cause ?? error };
  if (client.canceled) {
    logger.debug(facts, "A call ended after its client had left.");
    return reason === "INTERNAL" ? (client.reason ?? cancelled()) : error;
  }
  // The store, or the end of the server, has a line of its own, however many calls it concerns.
  if (reason === "UNAVAILABLE" || reason === "DEADLINE_EXCEEDED") logger.debug(facts, "A call was refused.");
  else logger.error(facts, "A call failed.");
  return error;
}

const cancelled = lazy(() => new A2AError("CANCELLED", "The client cancelled the call."));

/** Headers of an error reply: those of the call, those of the error, and when to try again. */
export function* errorHeaders(error: A2AError, call?: Call): HeaderPairs {
  if (call !== undefined) yield* call.answerHeaders;
  yield* headersOf(error);
}

/** Headers that go with an error, or metadata: its own, and when to try again, which its details say more exactly. */
export function headersOf({ headers, retryAfterMs }: A2AError): Headers {
  if (retryAfterMs === undefined) return headers;
  const all = new Headers(headers);
  all.set("retry-after", `${Math.ceil(retryAfterMs / 1000)}`);
  return all;
}
