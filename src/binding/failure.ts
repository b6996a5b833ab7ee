import type { Call } from "../core/call.js";
import type { Departure } from "../core/departure.js";
import { type A2AError, toA2AError } from "../core/error.js";
import type { Logger } from "../core/log.js";
import type { HeaderPairs } from "../http/response.js";

/** Where something failed, for the log. */
export interface Place {
  /** The request, which tells whether anybody waits for the answer. */
  readonly request: Departure;
  readonly logger: Logger;
  readonly binding: string;
  /** Name of the method, when it came that far. */
  readonly method?: string | undefined;
  readonly call?: Call | undefined;
}

/**
 * Anything thrown while a request was answered, as the error that may leave. What is the server's fault is logged, with
 * its cause, which never leaves; what comes of a client's going away is no failure.
 */
export function failureOf(thrown: unknown, { request, logger, binding, method, call }: Place): A2AError {
  const error = toA2AError(thrown);
  if (error.row.http < 500) return error;
  const facts = {
    binding,
    method,
    requestId: call?.requestId,
    reason: error.reason,
    err: error.cause ?? error.message,
  };
  if (request.gone) logger.debug(facts, "A call ended after its client had left.");
  // The store, or the end of the server, has a line of its own, however many calls it concerns.
  else if (error.reason === "UNAVAILABLE") logger.debug(facts, "A call was refused.");
  else logger.error(facts, "A call failed.");
  return error;
}

/** Headers of an error reply: those of the call, those of the error, and when to try again. */
export function* errorHeaders(error: A2AError, call?: Call): HeaderPairs {
  if (call !== undefined) yield* call.responseHeaders;
  yield* error.metadata;
  if (error.retryAfterMs !== undefined) yield ["retry-after", `${Math.ceil(error.retryAfterMs / 1000)}`];
}
