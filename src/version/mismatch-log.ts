import type { Logger } from "../core/log.js";

/** A call that was refused, or answered by an error, for the version that it names or is made in. */
export interface Mismatch {
  readonly binding: string;
  /** What was asked for: a method, a path or a service. */
  readonly asked: string;
  /** The value of `A2A-Version`; undefined where there is none. */
  readonly version: string | undefined;
  readonly address: string;
  readonly why: string;
}

/** The time in which lines are counted, in milliseconds. */
const WINDOW_MS = 60_000;

/** The most characters of what a client chose. */
const MAX_SHOWN = 64;

/**
 * A line for each call whose version does not fit, at `warn`: such calls fail in the client alone, where nobody looks. At most `max` in a
 * minute; those beyond are counted and said with the next line.
 */
export class MismatchLog {
  readonly #logger: Logger;
  readonly #max: number;
  readonly #now: () => number;
  #began = 0;
  #lines = 0;
  #left = 0;

  constructor(logger: Logger, max: number, now: () => number = () => performance.now()) {
    this.#logger = logger;
    this.#max = max;
    this.#now = now;
  }

  note({ binding, asked, version, address, why }: Mismatch): void {
    const now = this.#now();
    if (this.#lines === 0 || now - this.#began >= WINDOW_MS) {
      this.#began = now;
      this.#lines = 0;
    }
    if (this.#lines >= this.#max) {
      this.#left++;
      return;
    }
    this.#lines++;
    const facts = { binding, asked: asked.slice(0, MAX_SHOWN), version: version?.slice(0, MAX_SHOWN), peer: address };
    const more = this.#left === 0 ? {} : { notLogged: this.#left };
    this.#left = 0;
    this.#logger.warn({ ...facts, ...more }, `A call's version does not fit: ${why}`);
  }
}
