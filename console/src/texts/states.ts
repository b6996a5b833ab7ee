import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";

/** Words for the states of tasks. */
export const states = {
  [TaskState.UNSPECIFIED]: "Unknown",
  [TaskState.SUBMITTED]: "Submitted",
  [TaskState.WORKING]: "Working",
  [TaskState.COMPLETED]: "Completed",
  [TaskState.FAILED]: "Failed",
  [TaskState.CANCELED]: "Canceled",
  [TaskState.INPUT_REQUIRED]: "Input required",
  [TaskState.REJECTED]: "Rejected",
  [TaskState.AUTH_REQUIRED]: "Login required",
} satisfies Record<TaskState, string>;
