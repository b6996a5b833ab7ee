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

interface ClockSkewRepairParts {
  readonly store: Pick<TaskStore, "rescheduleDeliveries">;
  readonly limits: Pick<Limits, "maxPushRetryMs">;
  readonly logger: Logger;
  /** The clock by which deliveries are due, in milliseconds since the epoch. */
  readonly now: () => number;
  /** Called after deliveries were rescheduled to an earlier time. */
  readonly wake: () => void;
}

/**
 * Reschedules deliveries whose due times a wrong clock made too late. After a setback of this process's clock, these
 * are all that wait. At the start and periodically, these are the ones due later than any retry, because the clock of
 * another process on a shared store may be wrong.
 */
export class ClockSkewRepair {
  readonly #parts: ClockSkewRepairParts;
  #timer: NodeJS.Timeout | undefined;
  /** True from a setback until the waiting deliveries are rescheduled. */
  #isSetBack = false;
  #isOver = false;

  constructor(parts: ClockSkewRepairParts) {
    this.#parts = parts;
  }

  start(): void {
    void this.#reschedule();
  }

  /** Makes all waiting deliveries due, because the clock was set back. */
  noteSetback(): void {
    if (this.#isOver) return;
    this.#isSetBack = true;
    void this.#reschedule();
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  async #reschedule(): Promise<void> {
    const { store, limits, logger, wake } = this.#parts;
    const now = this.#parts.now();
    const isSetBack = this.#isSetBack;
    this.#isSetBack = false;
    let nextMs = INTERVAL_MS;
    try {
      const longestMs = Math.max(limits.maxPushRetryMs, hostRest.maxMs, UNREADABLE_MS);
      const count = await store.rescheduleDeliveries({ latest: isSetBack ? now : now + longestMs, to: now });
      if (count > 0) {
        const why = isSetBack
          ? "the clock was set back: push notifications that waited are due now"
          : "push notifications were due later than any retry may be: a clock was ahead; they are due now";
        logger.warn({ count }, why);
        wake();
      }
    } catch (error) {
      this.#isSetBack ||= isSetBack;
      if (this.#isOver) return;
      logTrouble(
        logger,
        error,
        {},
        "the store could not reschedule push notifications that are due too late; retrying later",
      );
      if (isOutage(error)) nextMs = TROUBLE_MS;
    }
    clearTimeout(this.#timer);
    if (!this.#isOver) this.#timer = background(setTimeout(() => void this.#reschedule(), nextMs));
  }
}
