import { pause as wait } from "../../core/async.js";
import { A2AError } from "../../core/error.js";
import type { ClientLimits } from "../limits.js";

/** Doubling more often than this reaches every limit. */
const MAX_DOUBLINGS = 30;

/** Times of further attempts. */
export type RetryLimits = Pick<ClientLimits, "maxAttempts" | "retryMs" | "maxRetryMs" | "maxRetryAfterMs">;

/**
 * How long to wait before the next attempt, in milliseconds: exponential backoff with full jitter, so that what failed together is not
 * tried again together; never shorter than the server asks for. Undefined where it asks for more than it gets.
 *
 * @param failures before the next attempt, 1 or more
 */
export function waitMs(failures: number, error: A2AError, limits: RetryLimits): number | undefined {
  const { retryAfterMs = 0 } = error;
  if (retryAfterMs > limits.maxRetryAfterMs) return undefined;
  const ceiling = Math.min(limits.maxRetryMs, limits.retryMs * 2 ** Math.min(failures - 1, MAX_DOUBLINGS));
  return retryAfterMs + Math.random() * ceiling;
}

/** Whether an error passes by itself: the server is away or busy, and says nothing about the request. */
export function isPassing({ reason }: A2AError): boolean {
  return reason === "UNAVAILABLE" || reason === "TOO_MANY_REQUESTS";
}

/** Waits. @throws A2AError with reason CANCELLED as soon as the caller gives up */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await wait(ms, signal);
  if (signal?.aborted === true) throw givenUp(signal);
}

/** The error of a call that its caller gave up, with the reason of the signal as `cause`: a deadline where that is one. */
export function givenUp(signal: AbortSignal | undefined): A2AError {
  const cause: unknown = signal?.reason;
  if (cause instanceof A2AError) return cause;
  const isLate = (cause as { name?: unknown } | null | undefined)?.name === "TimeoutError";
  if (isLate) return new A2AError("DEADLINE_EXCEEDED", "The call took too long.", { cause });
  return new A2AError("CANCELLED", "The call was given up by its caller.", { cause });
}

/** The result of work, or the error of a call that its caller gave up: the work continues. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = (): void => reject(givenUp(signal));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
