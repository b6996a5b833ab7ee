import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";

/**
 * Allowed state transitions. Every non-terminal state may change to any other but SUBMITTED, which only a new task has;
 * no state follows a terminal one (specification 3.1.1, 3.1.2, 4.1.3). A working agent may set WORKING again to report
 * progress.
 */
const terminal: ReadonlySet<TaskState> = new Set([
  TaskState.COMPLETED,
  TaskState.FAILED,
  TaskState.CANCELED,
  TaskState.REJECTED,
]);

const interrupted: ReadonlySet<TaskState> = new Set([TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED]);

const known: ReadonlySet<TaskState> = new Set([...terminal, ...interrupted, TaskState.SUBMITTED, TaskState.WORKING]);

/** True if a task in this state is finished and accepts nothing more. */
export function isTerminal(state: TaskState): boolean {
  return terminal.has(state);
}

/** True if a task in this state waits for the client (specification 3.2.2). */
export function isInterrupted(state: TaskState): boolean {
  return interrupted.has(state);
}

/** True if a blocking send returns in this state: terminal or interrupted (specification 3.2.2). */
export function endsBlockingSend(state: TaskState): boolean {
  return terminal.has(state) || interrupted.has(state);
}

/** True if a task may change from state `from` to state `to`. */
export function mayFollow(from: TaskState, to: TaskState): boolean {
  return known.has(from) && known.has(to) && !terminal.has(from) && to !== TaskState.SUBMITTED;
}
