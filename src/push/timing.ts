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

/** Waits that can all be cut short. */
export class Pauses {
  readonly #waiting = new Set<() => void>();
  #over = false;

  /** Resolves after so many milliseconds, or when `end` is called. A process that has nothing else to do ends meanwhile. */
  pause(ms: number): Promise<void> {
    if (this.#over) return Promise.resolve();
    return new Promise((resolve) => {
      const go = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(go);
        resolve();
      };
      const timer = setTimeout(go, ms);
      timer.unref?.();
      this.#waiting.add(go);
    });
  }

  /** Ends all of them, and those that would come. */
  end(): void {
    this.#over = true;
    for (const go of [...this.#waiting]) go();
  }
}

/**
 * The time of day, except that it never goes back: the next try of a delivery is stored as a time of day, and a clock that is set
 * back by hours would put it off by hours. What was ahead once stays ahead, until the process ends.
 */
export class ForwardClock {
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
