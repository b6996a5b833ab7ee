import { backoffMs } from "../core/async.js";
import type { Limits } from "../core/limits.js";

/**
 * Maximum delay before the first retry, in milliseconds; doubled after each further failure. Also the first rest of a
 * failing host.
 */
export const pushRetry = { firstMs: 1_000 } as const;

/**
 * Delay after a failure, in milliseconds. A longer delay requested by the receiver applies, up to the same limit.
 *
 * @param attempts failures in a row before this one
 */
export function retryDelayMs(
  attempts: number,
  { maxPushRetryMs }: Pick<Limits, "maxPushRetryMs">,
  retryAfterMs = 0,
): number {
  const ms = backoffMs(attempts + 1, { firstMs: pushRetry.firstMs, maxMs: maxPushRetryMs });
  return Math.min(maxPushRetryMs, Math.max(ms, retryAfterMs));
}
