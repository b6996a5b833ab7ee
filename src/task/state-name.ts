import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";

/** Name of a state, such as `INPUT_REQUIRED`. */
export function stateName(state: TaskState | undefined): string {
  return TaskState[state ?? TaskState.UNSPECIFIED] ?? `UNKNOWN_${state}`;
}

/** State of a name in any case, with `-` or `_`, and with or without `TASK_STATE_`; undefined for any other text. */
export function stateNamed(text: string): TaskState | undefined {
  const name = text
    .toUpperCase()
    .replaceAll("-", "_")
    .replace(/^TASK_STATE_/, "");
  const state = TaskState[name as keyof typeof TaskState];
  return typeof state === "number" && state !== TaskState.UNSPECIFIED ? state : undefined;
}
