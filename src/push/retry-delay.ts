import { backoffMs } from "../core/backoff.js";
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

/**
 * A wall clock that never goes back: retry times are stored as wall-clock times, and a clock set back by hours would
 * postpone them by hours. A clock that ran ahead stays ahead until the process ends.
 */
export class MonotonicClock {
  readonly #wall: () => number;
  readonly #passed: () => number;
  #last = Number.NEGATIVE_INFINITY;
  #lastPassed = 0;

  constructor(wall: () => number, passed: () => number = () => performance.now()) {
    this.#wall = wall;
    this.#passed = passed;
  }

  /** Milliseconds since the epoch. */
  now(): number {
    const passed = this.#passed();
    const now = Math.max(this.#wall(), this.#last + passed - this.#lastPassed);
    this.#last = now;
    this.#lastPassed = passed;
    return Math.round(now);
  }
}
