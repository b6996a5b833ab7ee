import type { Metrics } from "../../telemetry/metrics.js";

/** The surroundings of all task logs of a process. */
export interface LogHooks {
  /** Name of this process in the entries that it writes. */
  readonly writer?: string | undefined;
  /** Counts appends. */
  readonly metrics?: Metrics | undefined;
  /** Called after each append of this process if the task has push configurations. */
  readonly pushed?: ((taskId: string) => void) | undefined;
  /** Called after each change of a task by this process: an append, or another lease. */
  readonly committed?: ((taskId: string) => void) | undefined;
  /** Called after each append of this process. Undefined without listeners. */
  changed?: ((taskId: string) => void) | undefined;
}
