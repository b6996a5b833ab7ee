import type { Limits } from "../core/limits.js";

/** Doubling more often than this reaches every limit. */
const MAX_DOUBLINGS = 30;

/**
 * How long a delivery waits after a failure, in milliseconds: exponential backoff with full jitter, so that what failed together is not
 * tried again together. Where a receiver asks for more time it gets it, up to the same limit.
 *
 * @param attempts failures in a row before this one
 */
export function backoffMs(
  attempts: number,
  { pushRetryMs, maxPushRetryMs }: Pick<Limits, "pushRetryMs" | "maxPushRetryMs">,
  retryAfterMs = 0,
): number {
  const ceiling = Math.min(maxPushRetryMs, pushRetryMs * 2 ** Math.min(attempts, MAX_DOUBLINGS));
  return Math.min(maxPushRetryMs, Math.max(Math.random() * ceiling, retryAfterMs));
}
