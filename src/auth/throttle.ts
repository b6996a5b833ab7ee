import type { Limits } from "../core/limits.js";
import { makeRoom } from "../core/make-room.js";
import { sourceOf } from "../core/source.js";

interface Failures {
  /** Attempts that are left, as they were at the time. */
  left: number;
  at: number;
}

/**
 * Slows down who guesses: each address (of IPv6: each network of 64 bits) has some failed attempts, and gets one more each
 * `failedAttemptMs`. The number of addresses is bounded; the ones that failed longest ago are forgotten first.
 */
export class Throttle {
  readonly #limits: Limits;
  readonly #failures = new Map<string, Failures>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** When the address may try again, in milliseconds; undefined where it may now. */
  retryAfterMs(address: string): number | undefined {
    if (this.#failures.size === 0 || address === "") return undefined;
    const left = this.#left(sourceOf(address));
    return left >= 1 ? undefined : Math.ceil((1 - left) * this.#limits.failedAttemptMs);
  }

  /** Counts a failed attempt. Where the address is not known, nobody can be slowed down. */
  fail(address: string): void {
    if (address === "") return;
    const source = sourceOf(address);
    const left = Math.max(0, this.#left(source) - 1);
    this.#failures.delete(source);
    makeRoom(this.#failures, this.#limits.maxFailedAddresses);
    this.#failures.set(source, { left, at: performance.now() });
  }

  #left(source: string): number {
    const { maxFailedAttempts, failedAttemptMs } = this.#limits;
    const failures = this.#failures.get(source);
    if (failures === undefined) return maxFailedAttempts;
    const left = failures.left + (performance.now() - failures.at) / failedAttemptMs;
    if (left < maxFailedAttempts) return left;
    this.#failures.delete(source);
    return maxFailedAttempts;
  }
}
