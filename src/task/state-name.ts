import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";

/** Name of a state, such as `INPUT_REQUIRED`. */
export function stateName(state: TaskState | undefined): string {
  return TaskState[state ?? TaskState.UNSPECIFIED] ?? `UNKNOWN_${state}`;
}
