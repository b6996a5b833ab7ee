/** Smallest setback that counts, in milliseconds: a smaller one delays a retry by no more than this. */
const SETBACK_MS = 1_000;

/**
 * The time of day, by which deliveries are due. It reports setbacks: times that were stored before one come too late
 * after it.
 */
export class DueClock {
  readonly #timeOfDay: () => number;
  readonly #onSetback: () => void;
  /** Time of day minus elapsed time, at the last reading. */
  #offset = Number.NEGATIVE_INFINITY;

  constructor(timeOfDay: () => number, onSetback: () => void) {
    this.#timeOfDay = timeOfDay;
    this.#onSetback = onSetback;
  }

  /** Milliseconds since the epoch. Calls `onSetback` if the time of day was set back since the last reading. */
  now(): number {
    const now = this.#timeOfDay();
    const offset = now - performance.now();
    const isSetBack = offset < this.#offset - SETBACK_MS;
    this.#offset = offset;
    if (isSetBack) this.#onSetback();
    return now;
  }
}
