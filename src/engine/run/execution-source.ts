import type { TurnSource } from "../../agent/turn.js";
import type { Limits } from "../../core/limits.js";
import type { LogCause, Logger } from "../../core/log.js";
import type { Lease, TaskStore } from "../../store/task-store.js";
import type { Metrics } from "../../telemetry/metrics.js";
import type { TaskLog } from "../log/task-log.js";
import type { StartLeases } from "./execution-lease.js";
import type { ExecutionSlot } from "./execution-slots.js";

export interface ExecutionSource extends TurnSource {
  readonly store: TaskStore;
  readonly limits: Limits;
  readonly logger: Logger;
  readonly now: () => number;
  readonly metrics: Metrics | undefined;
  /** Returns the lease of a turn that starts now. */
  readonly lease: (turn: number) => Lease;
  /**
   * Notes that an error of the store interrupted an execution. `next` is the turn that it was about to start; all earlier
   * turns are finished.
   */
  readonly interrupted: (log: TaskLog, next: number | undefined, error: unknown) => void;
  /** Called once, when the execution ends. */
  readonly ended: (execution: {
    readonly log: TaskLog;
    readonly slot: ExecutionSlot;
    readonly cause: LogCause;
  }) => void;
}

export interface ExecutionStart extends StartLeases {
  readonly slot: ExecutionSlot;
}
