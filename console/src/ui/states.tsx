import type { ReactNode } from "react";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { states } from "../texts/states.js";
import { Badge, type Tone } from "./parts.js";

const tones: Partial<Record<TaskState, Tone>> = {
  [TaskState.SUBMITTED]: "busy",
  [TaskState.WORKING]: "busy",
  [TaskState.COMPLETED]: "good",
  [TaskState.FAILED]: "bad",
  [TaskState.REJECTED]: "bad",
  [TaskState.INPUT_REQUIRED]: "wait",
  [TaskState.AUTH_REQUIRED]: "wait",
};

/** The state of a task, by word and colour. */
export function StateBadge({ state }: { readonly state: TaskState | undefined }): ReactNode {
  const at = state ?? TaskState.UNSPECIFIED;
  return <Badge tone={tones[at]}>{states[at]}</Badge>;
}
