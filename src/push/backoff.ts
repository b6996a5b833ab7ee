import type { Limits } from "../core/limits.js";

/**
 * A notification is tried again within this time after its first failure, in milliseconds, and within twice as long after each further
 * one. A host that fails rests for as long at first.
 */
export const pushRetry = { firstMs: 1_000 } as const;

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
  { maxPushRetryMs }: Pick<Limits, "maxPushRetryMs">,
  retryAfterMs = 0,
): number {
  const ceiling = Math.min(maxPushRetryMs, pushRetry.firstMs * 2 ** Math.min(attempts, MAX_DOUBLINGS));
  return Math.min(maxPushRetryMs, Math.max(Math.random() * ceiling, retryAfterMs));
}
