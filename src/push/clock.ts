/**
 * A wall clock that never goes back: retry times are stored as wall-clock times, and a clock set back by hours would
 * postpone them by hours. A clock that ran ahead stays ahead until the process ends, so nothing is aged by it.
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
