import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { isInterrupted, isTerminal } from "../task/state.js";

/** All states. Each has its own range in an index by state. */
export const STATES: readonly number[] = Object.values(TaskState).filter(
  (state): state is TaskState => typeof state === "number",
);

/** The terminal states, separated by commas, for SQL. */
export const TERMINAL: string = STATES.filter(isTerminal).join(", ");

/** The states of tasks that wait for their client, separated by commas, for SQL. */
export const INTERRUPTED: string = STATES.filter(isInterrupted).join(", ");
