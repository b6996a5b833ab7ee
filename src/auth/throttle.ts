import { type A2AError, limitReached } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import { siteOf, sourceOf } from "../core/net.js";
import { SharedRate } from "../signals/shared-rate.js";
import type { SignalMember } from "../signals/signals.js";

/** Failed attempts to authenticate beyond `maxFailedAttempts`. */
export const failedAttempts = {
  /** Time until an address has one more attempt, in milliseconds. */
  intervalMs: 1_000,
  /** Addresses whose attempts are counted; the oldest are evicted first. */
  maxAddresses: 10_000,
} as const;

/**
 * Attempts of an IPv6 network of 48 bits, as a multiple of those of one address. It contains 65,536 networks of 64
 * bits.
 */
const SITE_FACTOR = 16;

/**
 * Slows down guessing. Each address (IPv6: each network of 64 bits) has a quota of failed attempts, which grows by one
 * every `failedAttempts.intervalMs`. An IPv6 network of 48 bits has 16 times that quota, so that a site can neither
 * guess from each of its networks nor make the throttle evict other addresses. The number of addresses is bounded; the
 * ones whose last failure is oldest are evicted first.
 */
export class Throttle {
  readonly #failures: SharedRate;
  readonly #ofSites: SharedRate;

  /**
   * @param signals to count the failures of all processes that share a store
   * @param port name of the port; each port has a count of its own
   */
  constructor({ maxFailedAttempts }: Pick<Limits, "maxFailedAttempts">, signals?: SignalMember, port = "agents") {
    const { intervalMs, maxAddresses } = failedAttempts;
    const rate = { intervalMs, burst: maxFailedAttempts, maxKeys: maxAddresses };
    this.#failures = new SharedRate(rate, signals, `failed.${port}`);
    const ofSites = { ...rate, intervalMs: intervalMs / SITE_FACTOR, burst: maxFailedAttempts * SITE_FACTOR };
    this.#ofSites = new SharedRate(ofSites, signals, `failed.${port}.sites`);
  }

  /** True if no address has failed recently. */
  get isCalm(): boolean {
    return this.#failures.isEmpty;
  }

  /** Delay before the address may try again, in milliseconds; undefined if it may now. */
  retryAfterMs(address: string): number | undefined {
    if (this.isCalm || address === "") return undefined;
    const site = siteOf(address);
    const ofSite = site === undefined ? 0 : this.#ofSites.waitMs(site);
    const waitMs = Math.max(ofSite, this.#failures.waitMs(sourceOf(address)));
    return waitMs > 0 ? Math.ceil(waitMs) : undefined;
  }

  /** Counts a failed attempt. Calls without a known address are not throttled. */
  fail(address: string): void {
    if (address === "") return;
    const site = siteOf(address);
    if (site !== undefined) this.#ofSites.charge(site);
    this.#failures.charge(sourceOf(address));
  }
}

/** The error for a call of a throttled address. */
export function tooManyFailed(retryAfterMs: number): A2AError {
  return limitReached("maxFailedAttempts", "Too many attempts to authenticate have failed.", retryAfterMs);
}
