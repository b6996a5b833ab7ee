import type { LogFacts, Logger } from "../core/log.js";

/** A call that failed because of the version that it names or uses. */
export interface Mismatch {
  readonly binding: string;
  /** The requested method, path or service. */
  readonly asked: string;
  /** The value of `A2A-Version`; undefined if absent. */
  readonly version: string | undefined;
  readonly address: string;
  readonly why: string;
  /** The request and its trace. */
  readonly cause: LogFacts;
}

/** Period over which lines are counted, in milliseconds. */
const WINDOW_MS = 60_000;

/** Maximum number of lines in that period. */
export const versionWarnings = { perMinute: 10 } as const;

/** Maximum number of client-chosen characters. */
const MAX_SHOWN = 64;

/**
 * Logs each call with an unsuitable version at `warn`: such calls fail visibly only in the client. At most
 * `versionWarnings.perMinute` lines are written; the next line reports the number of dropped ones.
 */
export class MismatchLog {
  readonly #logger: Logger;
  readonly #now: () => number;
  #began = 0;
  #lines = 0;
  #left = 0;

  constructor(logger: Logger, now: () => number = () => performance.now()) {
    this.#logger = logger;
    this.#now = now;
  }

  note({ binding, asked, version, address, why, cause }: Mismatch): void {
    const now = this.#now();
    if (this.#lines === 0 || now - this.#began >= WINDOW_MS) {
      this.#began = now;
      this.#lines = 0;
    }
    if (this.#lines >= versionWarnings.perMinute) {
      this.#left++;
      return;
    }
    this.#lines++;
    const facts = { binding, asked: asked.slice(0, MAX_SHOWN), version: version?.slice(0, MAX_SHOWN), peer: address };
    const more = this.#left === 0 ? {} : { notLogged: this.#left };
    this.#left = 0;
    this.#logger.warn({ ...facts, ...cause, ...more }, `A call's version does not fit: ${why}`);
  }
}
