import { background } from "../core/async.js";
import type { Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import { isOutage, logTrouble } from "../engine/log/outage.js";
import type { TaskStore } from "../store/task-store.js";
import { hostRest } from "./host-limiter.js";
import { UNREADABLE_MS } from "./outcome.js";

/** Interval between checks, in milliseconds. A check without findings reads one row. */
const INTERVAL_MS = 600_000;

/** Delay before retrying after an error of the store, in milliseconds. */
const TROUBLE_MS = 5_000;

/** Dependencies of `ClockSkewRepair`. */
interface ClockSkewRepairParts {
  readonly store: TaskStore;
  readonly limits: Pick<Limits, "maxPushRetryMs">;
  readonly logger: Logger;
  /** The clock by which deliveries are due, in milliseconds since the epoch. */
  readonly now: () => number;
  /** Called after deliveries were rescheduled to an earlier time. */
  readonly wake: () => void;
}

/**
 * Reschedules deliveries whose due time is later than the maximum retry delay. A clock that ran ahead can leave such
 * times in the store. Checks at the start and periodically, since on a shared store the clock of another process may be
 * wrong.
 */
export class ClockSkewRepair {
  readonly #parts: ClockSkewRepairParts;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(parts: ClockSkewRepairParts) {
    this.#parts = parts;
  }

  start(): void {
    void this.#reschedule();
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  async #reschedule(): Promise<void> {
    const { store, limits, logger, wake } = this.#parts;
    const now = this.#parts.now();
    let nextMs = INTERVAL_MS;
    try {
      const latest = now + Math.max(limits.maxPushRetryMs, hostRest.maxMs, UNREADABLE_MS);
      const count = await store.rescheduleDeliveries({ latest, to: now });
      if (count > 0) {
        logger.warn(
          { count },
          "push notifications were due later than any retry may be: a clock was ahead; they are due now",
        );
        wake();
      }
    } catch (error) {
      if (this.#isOver) return;
      logTrouble(
        logger,
        error,
        {},
        "the store could not reschedule push notifications that are due too late; retrying later",
      );
      if (isOutage(error)) nextMs = TROUBLE_MS;
    }
    if (!this.#isOver) this.#timer = background(setTimeout(() => void this.#reschedule(), nextMs));
  }
}
