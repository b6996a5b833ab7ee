import { Role, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { EnumForm } from "../../wire/json-form.js";

/** Roles, of the JSON of 0.3 and of versions before it. */
export const roleWords: EnumForm = { words: { [Role.USER]: "user", [Role.AGENT]: "agent" }, otherwise: "agent" };

/** States of the JSON of 0.3. */
export const stateWords: EnumForm = {
  words: {
    [TaskState.UNSPECIFIED]: "unknown",
    [TaskState.SUBMITTED]: "submitted",
    [TaskState.WORKING]: "working",
    [TaskState.COMPLETED]: "completed",
    [TaskState.FAILED]: "failed",
    [TaskState.CANCELED]: "canceled",
    [TaskState.INPUT_REQUIRED]: "input-required",
    [TaskState.REJECTED]: "rejected",
    [TaskState.AUTH_REQUIRED]: "auth-required",
  },
  otherwise: "unknown",
};
