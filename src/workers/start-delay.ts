import { backoffMs } from "../core/async.js";

interface StartLimits {
  /** Run time below which the end of a process counts as an immediate crash, in milliseconds. */
  readonly youngMs: number;
  /** Maximum delay, in milliseconds. */
  readonly maxMs: number;
}

/** Delay before the third consecutive start, in milliseconds. It doubles with each further one. */
const FIRST_DELAY_MS = 100;

/** Delays the starts of a process that repeatedly crashes at once. The first restart has no delay. */
export class StartDelay {
  readonly #limits: StartLimits;
  #failures = 0;

  constructor(limits: StartLimits) {
    this.#limits = limits;
  }

  /** Number of consecutive starts that have crashed at once. */
  get failures(): number {
    return this.#failures;
  }

  /** Counts the end of a process. @returns the delay before the next start, in milliseconds */
  afterLife(livedMs: number): number {
    const { youngMs, maxMs } = this.#limits;
    this.#failures = livedMs < youngMs ? this.#failures + 1 : 0;
    return this.#failures < 2 ? 0 : backoffMs(this.#failures - 1, { firstMs: FIRST_DELAY_MS, maxMs, jitter: 0 });
  }
}
