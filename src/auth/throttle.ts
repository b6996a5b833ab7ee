import type { A2AError } from "../core/error.js";
import { limitReached } from "../core/limit-reached.js";
import type { Limits } from "../core/limits.js";
import { RateLimiter } from "../core/rate-limiter.js";
import { sourceOf } from "../core/source.js";

/**
 * Slows down who guesses: each address (of IPv6: each network of 64 bits) has some failed attempts, and gets one more each
 * `failedAttemptMs`. The number of addresses is bounded; the ones that failed longest ago are forgotten first.
 */
export class Throttle {
  readonly #failures: RateLimiter;

  constructor({ maxFailedAttempts, failedAttemptMs, maxFailedAddresses }: Limits) {
    this.#failures = new RateLimiter({
      intervalMs: failedAttemptMs,
      burst: maxFailedAttempts,
      maxKeys: maxFailedAddresses,
    });
  }

  /** Whether no address has failed of late: then there is nothing to look at. */
  get isCalm(): boolean {
    return this.#failures.isEmpty;
  }

  /** When the address may try again, in milliseconds; undefined where it may now. */
  retryAfterMs(address: string): number | undefined {
    if (this.isCalm || address === "") return undefined;
    const waitMs = this.#failures.waitMs(sourceOf(address));
    return waitMs > 0 ? Math.ceil(waitMs) : undefined;
  }

  /** Counts a failed attempt. Where the address is not known, nobody can be slowed down. */
  fail(address: string): void {
    if (address !== "") this.#failures.charge(sourceOf(address));
  }
}

/** What a call of such an address hears. */
export function tooManyFailed(retryAfterMs: number): A2AError {
  return limitReached("maxFailedAttempts", "Too many attempts to authenticate have failed.", retryAfterMs);
}
