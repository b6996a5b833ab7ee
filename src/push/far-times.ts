import { background } from "../core/async.js";
import type { Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import { isOutage, logTrouble } from "../engine/log/outage.js";
import type { TaskStore } from "../store/task-store.js";
import { hostRest } from "./host.js";
import { UNREADABLE_MS } from "./outcome.js";

/** Between two looks, in milliseconds. One where nothing is too late costs a read of one row. */
const LOOK_MS = 600_000;

/** After trouble with the store it is tried again after this time, in milliseconds. */
const TROUBLE_MS = 5_000;

/** What is needed to find what is due too late. */
export interface FarTimesParts {
  readonly store: TaskStore;
  readonly limits: Pick<Limits, "maxPushRetryMs">;
  readonly logger: Logger;
  /** The clock by which deliveries are due, in milliseconds since the epoch. */
  readonly now: () => number;
  /** Told when something is due sooner than before. */
  readonly wake: () => void;
}

/**
 * Makes due at once what is due later than any retry may be. A clock that is ahead, by hours or days, leaves such times in the store, and who
 * starts with the right one would wait for the whole jump. It looks at the start, and now and then, as on a shared store the clocks
 * of others may be wrong.
 */
export class FarTimes {
  readonly #parts: FarTimesParts;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(parts: FarTimesParts) {
    this.#parts = parts;
  }

  start(): void {
    void this.#look();
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    const { store, limits, logger, wake } = this.#parts;
    const now = this.#parts.now();
    let nextMs = LOOK_MS;
    try {
      const latest = now + Math.max(limits.maxPushRetryMs, hostRest.maxMs, UNREADABLE_MS);
      const count = await store.hastenDeliveries({ latest, to: now });
      if (count > 0) {
        logger.warn(
          { count },
          "push notifications were due later than any retry may be: a clock was ahead; they are due now",
        );
        wake();
      }
    } catch (error) {
      if (this.#isOver) return;
      logTrouble(logger, error, {}, "the store failed at push notifications that are due too late; it is tried again");
      if (isOutage(error)) nextMs = TROUBLE_MS;
    }
    if (!this.#isOver) this.#timer = background(setTimeout(() => void this.#look(), nextMs));
  }
}
