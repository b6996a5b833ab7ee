import { backoffMs, orAborted, pause as wait } from "../../core/async.js";
import { A2AError } from "../../core/error.js";
import { membersOf } from "../../core/members.js";
import type { ClientLimits } from "../limits.js";

/** Limits of retries. */
type RetryLimits = Pick<ClientLimits, "maxAttempts" | "retryMs" | "maxRetryMs" | "maxRetryAfterMs">;

/**
 * Returns the delay before the next attempt, in milliseconds: the backoff after the delay that the server requests.
 * Undefined if that exceeds `maxRetryAfterMs`.
 *
 * @param failures number of failures so far, 1 or more
 */
export function waitMs(failures: number, error: A2AError, limits: RetryLimits): number | undefined {
  const { retryAfterMs = 0 } = error;
  if (retryAfterMs > limits.maxRetryAfterMs) return undefined;
  return retryAfterMs + backoffMs(failures, { firstMs: limits.retryMs, maxMs: limits.maxRetryMs });
}

/** True if an error is transient: the server is unavailable or busy, and the error does not depend on the request. */
export function isPassing({ reason }: A2AError): boolean {
  return reason === "UNAVAILABLE" || reason === "TOO_MANY_REQUESTS";
}

/** Waits. @throws A2AError CANCELLED as soon as the caller aborts */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await wait(ms, signal);
  if (signal?.aborted === true) throw givenUp(signal);
}

/**
 * Returns the error of an aborted call, with the signal's reason as `cause`: DEADLINE_EXCEEDED if that is a timeout.
 */
export function givenUp(signal: { readonly reason: unknown } | undefined): A2AError {
  const cause: unknown = signal?.reason;
  if (cause instanceof A2AError) return cause;
  const isLate = membersOf(cause).name === "TimeoutError";
  if (isLate) return new A2AError("DEADLINE_EXCEEDED", "The call took too long.", { cause });
  return new A2AError("CANCELLED", "The call was cancelled by its caller.", { cause });
}

/** Waits for work. @throws the error of an aborted call as soon as its signal fires; the work continues then */
export function orGivenUp<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return orAborted(work, signal, () => givenUp(signal));
}
