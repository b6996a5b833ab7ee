/** Rate allowed for one key. */
export interface Rate {
  /** Average interval between two events, in milliseconds. */
  readonly intervalMs: number;
  /** Number of events allowed at once after a pause. */
  readonly burst: number;
  /** Number of keys remembered, at least 2. Beyond it, the keys charged longest ago are forgotten. */
  readonly maxKeys: number;
}

/** Maximum number of bursts by which events counted elsewhere may exceed the rate. */
const MOST_AHEAD = 32;

/** A wait below it, in milliseconds, is an error of rounding: sums of times lose the last bits of both. */
const ROUNDING_MS = 0.001;

/**
 * Limits the rate of events for each of many keys, such as addresses. A bucket holds `burst` tokens and regains one
 * each `intervalMs` (the generic cell rate algorithm, on a monotonic clock). A key costs one number and no timer.
 * Memory is bounded: keys are in two generations, and the older one is dropped when the younger one is full. Keys are
 * never deleted singly, because V8 would keep old tables (core/maps.ts).
 */
export class RateLimiter {
  readonly #intervalMs: number;
  readonly #mostMs: number;
  readonly #generation: number;
  /** Time at which the bucket of each key is full again, on the clock of `performance.now()`. */
  #young = new Map<string, number>();
  #old = new Map<string, number>();

  constructor({ intervalMs, burst, maxKeys }: Rate) {
    this.#intervalMs = intervalMs;
    this.#mostMs = Math.max(1, burst) * intervalMs;
    this.#generation = Math.max(1, Math.floor(maxKeys / 2));
  }

  /** True if no key is remembered. */
  get isEmpty(): boolean {
    return this.#young.size === 0;
  }

  /** Number of keys remembered. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Milliseconds until the next event is allowed; 0 if it is allowed now. */
  waitMs(key: string): number {
    const now = performance.now();
    const waitMs = this.#fullAt(key, now) - now - this.#mostMs + this.#intervalMs;
    return waitMs > ROUNDING_MS ? waitMs : 0;
  }

  /** Counts an event, even if it exceeds the rate. */
  charge(key: string): void {
    const now = performance.now();
    const fullAt = this.#fullAt(key, now);
    this.#set(key, Math.max(fullAt, Math.min(fullAt + this.#intervalMs, now + this.#mostMs)));
  }

  /**
   * Counts events that another limiter of the same rate has allowed. If both allowed a burst, the key waits until the
   * rate has caught up with all of them.
   */
  chargeElsewhere(key: string, events: number): void {
    const now = performance.now();
    const fullAt = this.#fullAt(key, now);
    this.#set(key, Math.max(fullAt, Math.min(fullAt + events * this.#intervalMs, now + MOST_AHEAD * this.#mostMs)));
  }

  /** Counts an event that is allowed now and returns 0. Otherwise returns the milliseconds until one is allowed. */
  take(key: string): number {
    const now = performance.now();
    const fullAt = this.#fullAt(key, now) + this.#intervalMs;
    const waitMs = fullAt - now - this.#mostMs;
    if (waitMs > ROUNDING_MS) return waitMs;
    this.#set(key, fullAt);
    return 0;
  }

  #fullAt(key: string, now: number): number {
    const known = this.#young.get(key) ?? this.#old.get(key) ?? now;
    return Math.max(known, now);
  }

  #set(key: string, fullAt: number): void {
    if (this.#young.size >= this.#generation && !this.#young.has(key)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, fullAt);
  }
}
