/** How often something may happen for one key. */
export interface Rate {
  /** Milliseconds between two, in the long run. */
  readonly intervalMs: number;
  /** How many may come at once after a pause. */
  readonly burst: number;
  /** How many keys are remembered; of more, those that were charged longest ago are forgotten. At least 2. */
  readonly maxKeys: number;
}

/**
 * Limits how often something happens for each of many keys, such as addresses: a bucket of `burst`, to which one comes back each
 * `intervalMs` (the generic cell rate algorithm). A key costs one number, there are no timers, and the memory is bounded: keys are in
 * two generations, of which the older one is dropped when the younger one is full. Nothing is ever deleted from a table, which would
 * make V8 keep old ones (core/maps.ts). By a monotonic clock.
 */
export class RateLimiter {
  readonly #intervalMs: number;
  readonly #mostMs: number;
  readonly #generation: number;
  /** When the bucket of a key is full again, on the clock of `performance.now()`. */
  #young = new Map<string, number>();
  #old = new Map<string, number>();

  constructor({ intervalMs, burst, maxKeys }: Rate) {
    this.#intervalMs = intervalMs;
    this.#mostMs = Math.max(1, burst) * intervalMs;
    this.#generation = Math.max(1, Math.floor(maxKeys / 2));
  }

  /** Whether no key is remembered. */
  get isEmpty(): boolean {
    return this.#young.size === 0;
  }

  /** How many keys are remembered. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** In how many milliseconds one more may happen; 0 where it may now. */
  waitMs(key: string): number {
    const now = performance.now();
    return Math.max(0, this.#fullAt(key, now) - now - this.#mostMs + this.#intervalMs);
  }

  /** Counts one that happens, whether it may or not. */
  charge(key: string): void {
    const now = performance.now();
    this.#set(key, Math.min(this.#fullAt(key, now) + this.#intervalMs, now + this.#mostMs));
  }

  /** Counts one that may happen now, and gives 0; otherwise in how many milliseconds it may. */
  take(key: string): number {
    const now = performance.now();
    const fullAt = this.#fullAt(key, now) + this.#intervalMs;
    const waitMs = fullAt - now - this.#mostMs;
    if (waitMs > 0) return waitMs;
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
