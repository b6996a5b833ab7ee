import type { Cancellation } from "../core/async.js";
import type { Call } from "../core/call.js";
import { A2AError, toA2AError } from "../core/error.js";
import { lazy } from "../core/lazy.js";
import { type LogFacts, type Logger, logFacts, requestFacts } from "../core/log.js";
import type { HeaderPairs } from "../http/response.js";
import { isStoreFault } from "../service/store-fault.js";
import { noteRequestId } from "../wire/error-details.js";

/** Context of a failure, for the log. */
export interface FailureContext {
  /**
   * Tells if the client has left, and the reason if the binding knows it. Names the request if it fails before it is a
   * call.
   */
  readonly client: Pick<Cancellation, "canceled"> & {
    readonly reason?: A2AError;
    readonly requestId?: string | undefined;
    header?(name: string): string | undefined;
  };
  readonly logger: Logger;
  readonly binding: string;
  /** Name of the method, if it was read. */
  readonly method?: string | undefined;
  readonly call?: Call | undefined;
}

/**
 * Converts a value thrown while a request was answered to an error that may leave the process. Errors of the server are
 * logged with their cause, which never leaves. Deadlines and departures of clients are not failures.
 */
export function failureOf(thrown: unknown, { client, logger, binding, method, call }: FailureContext): A2AError {
  const error = toA2AError(thrown);
  if (error.row.http < 500) return error;
  const { reason, cause } = error;
  if (reason === "INTERNAL" && call !== undefined) noteRequestId(error, call.requestId);
  const names = call === undefined ? clientFacts(client) : logFacts(call);
  const facts = { binding, method, reason, err: cause ?? error, ...names };
  if (client.canceled) {
    logger.debug(facts, "A call ended after its client had left.");
    return reason === "INTERNAL" ? (client.reason ?? cancelled()) : error;
  }
  // The store's outage, or the shutdown, has a log line of its own, regardless of the number of affected calls.
  const isKnown = reason === "UNAVAILABLE" && !isStoreFault(error);
  if (isKnown || reason === "DEADLINE_EXCEEDED") logger.debug(facts, "A call was refused.");
  else logger.error(facts, "A call failed.");
  return error;
}

function clientFacts(client: FailureContext["client"]): LogFacts {
  return requestFacts({ requestId: client.requestId, header: (name) => client.header?.(name) });
}

const cancelled = lazy(() => new A2AError("CANCELLED", "The client cancelled the call."));

/** Yields the headers of an error reply: those of the call and of the error, and `retry-after`. */
export function* errorHeaders(error: A2AError, call?: Call): HeaderPairs {
  if (call !== undefined) yield* call.answerHeaders;
  yield* headersOf(error);
}

/** Returns the headers, or metadata, of an error: its own and `retry-after`, whose exact value is in the details. */
export function headersOf({ headers, retryAfterMs }: A2AError): Headers {
  if (retryAfterMs === undefined) return headers;
  const all = new Headers(headers);
  all.set("retry-after", `${Math.ceil(retryAfterMs / 1000)}`);
  return all;
}
