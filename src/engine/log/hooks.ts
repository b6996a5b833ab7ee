import type { Metrics } from "../../telemetry/metrics.js";

/**
 * Time for which the store must answer other writes, in milliseconds, before the failure of one append is not an
 * outage.
 */
const MEANWHILE_MS = 500;

/** Notes which writes the store has answered, to distinguish an outage from the failure of one task. */
export class StoreAnswers {
  #latest = Number.NEGATIVE_INFINITY;

  /** Notes an answered write. @param began by `performance.now()` */
  note(began: number): void {
    if (began > this.#latest) this.#latest = began;
  }

  /** True if the store has answered a write that began well after this failed one. */
  isAnsweredAfter(began: number): boolean {
    return this.#latest > began + MEANWHILE_MS;
  }
}

/** Dependencies and callbacks that all task logs of a process share. */
export interface LogHooks {
  /** Name of this process in the entries that it writes. */
  readonly writer?: string | undefined;
  readonly answers?: StoreAnswers | undefined;
  readonly metrics?: Metrics | undefined;
  /** Called after each append of this process if the task has push configurations. */
  readonly pushed?: ((taskId: string) => void) | undefined;
  /** Called after each change of a task by this process: an append, or another lease. */
  readonly committed?: ((taskId: string) => void) | undefined;
  /** Called after each append of this process. Undefined without listeners. */
  changed?: ((taskId: string) => void) | undefined;
}
