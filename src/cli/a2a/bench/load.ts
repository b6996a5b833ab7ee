import { pause } from "../../../core/async.js";
import type { Outcome } from "./outcome.js";

/** Pause of a caller after a call that failed, so that a dead server is not called as fast as possible, in milliseconds. */
const FAILED_MS = 10;

/** Interval at which calls of a rate begin, in milliseconds. */
const TICK_MS = 1;

interface LoadOptions {
  /** Makes one call. It does not reject. */
  readonly call: () => Promise<Outcome>;
  /** Maximum number of calls at once. */
  readonly callers: number;
  /** Calls per second; undefined if each call follows another. */
  readonly rate: number | undefined;
  readonly requests: number;
  /** Called at the end of each call. @param begin `performance.now()` of its intended begin */
  readonly onEnd: (begin: number, outcome: Outcome) => void;
}

/**
 * Calls that are made until it is stopped. With a rate, a call that has to wait for others begins when it was due: the
 * wait is part of its latency.
 */
export class Load {
  readonly #options: LoadOptions;
  readonly #startedAt = performance.now();
  readonly #ticks: NodeJS.Timeout | undefined;
  readonly #idle = new AbortController();
  #isRunning = true;
  #begun = 0;
  #open = 0;

  constructor(options: LoadOptions) {
    this.#options = options;
    if (options.rate !== undefined) this.#ticks = setInterval(this.#fill, TICK_MS);
    this.#fill();
  }

  /** Calls that are open. */
  get open(): number {
    return this.#open;
  }

  /** Calls that are due and have not begun. */
  get late(): number {
    const isPaced = this.#isRunning && this.#options.rate !== undefined;
    return isPaced ? Math.max(0, this.#due() - this.#begun) : 0;
  }

  /** Aborts when no call is open and none will begin. */
  get idle(): AbortSignal {
    return this.#idle.signal;
  }

  stop(): void {
    this.#isRunning = false;
    clearInterval(this.#ticks);
    if (this.#open === 0) this.#idle.abort();
  }

  #due(): number {
    const { rate, requests, callers } = this.#options;
    if (rate === undefined) return Math.min(requests, this.#begun + callers);
    return Math.min(requests, Math.floor(((performance.now() - this.#startedAt) * rate) / 1_000) + 1);
  }

  readonly #fill = (): void => {
    const { callers, requests, rate } = this.#options;
    for (let due = this.#due(); this.#isRunning && this.#open < callers && this.#begun < due; this.#begun++) {
      const begin = rate === undefined ? performance.now() : this.#startedAt + (this.#begun * 1_000) / rate;
      this.#open++;
      void this.#one(begin);
      if (rate === undefined) due = Math.min(requests, due + 1);
    }
    if (this.#begun >= requests) this.#isRunning = false;
    if (!this.#isRunning && this.#open === 0) this.stop();
  };

  async #one(begin: number): Promise<void> {
    const { call, onEnd } = this.#options;
    const outcome = await call();
    onEnd(begin, outcome);
    if (outcome.fault !== undefined && this.#isRunning) await pause(FAILED_MS, undefined);
    this.#open--;
    this.#fill();
  }
}
