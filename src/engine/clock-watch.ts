import type { Logger } from "../core/log.js";

/** How far the time of day may move against the time that has passed, between two looks, before it counts as a jump, in milliseconds. */
const JUMP_MS = 5_000;

/** For how long nothing is judged by its age after a jump, in milliseconds: a clock that was set wrong is mostly set right by then. */
const SETTLE_MS = 600_000;

/**
 * Watches the time of day for jumps. What cannot be undone, such as the removal of old tasks, waits for a while after one: a
 * clock that is wrong for a minute would make everything old.
 */
export class ClockWatch {
  readonly #logger: Logger;
  /** Between the time of day and the time that has passed, at the last look. */
  #offset = Date.now() - performance.now();
  #jumped = Number.NEGATIVE_INFINITY;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Whether ages can be relied on. To be asked regularly, as jumps are found between two looks. */
  get isSteady(): boolean {
    const passed = performance.now();
    const offset = Date.now() - passed;
    const ms = Math.round(offset - this.#offset);
    this.#offset = offset;
    if (Math.abs(ms) > JUMP_MS) {
      this.#jumped = passed;
      this.#logger.warn(
        { ms },
        "the clock has jumped: nothing is removed or given up for its age in the next ten minutes",
      );
    }
    return passed - this.#jumped >= SETTLE_MS;
  }
}
