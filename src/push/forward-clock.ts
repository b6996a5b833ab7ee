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
