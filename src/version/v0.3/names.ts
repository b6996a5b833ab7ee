import { Role, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { EnumForm } from "../forms/tables.js";

/** Methods over JSON-RPC, with their names in 1.0. */
export const methods: Readonly<Record<string, string>> = {
  "message/send": "SendMessage",
  "message/stream": "SendStreamingMessage",
  "tasks/get": "GetTask",
  "tasks/cancel": "CancelTask",
  "tasks/resubscribe": "SubscribeToTask",
  "tasks/pushNotificationConfig/set": "CreateTaskPushNotificationConfig",
  "tasks/pushNotificationConfig/get": "GetTaskPushNotificationConfig",
  "tasks/pushNotificationConfig/list": "ListTaskPushNotificationConfigs",
  "tasks/pushNotificationConfig/delete": "DeleteTaskPushNotificationConfig",
  "agent/getAuthenticatedExtendedCard": "GetExtendedAgentCard",
};

/** The params of `message/send` in an example. */
export const example: object = {
  message: { kind: "message", messageId: "1", role: "user", parts: [{ kind: "text", text: "hello" }] },
};

/** Roles in the JSON of 0.3 and earlier versions. */
export const roleNames: EnumForm = { words: { [Role.USER]: "user", [Role.AGENT]: "agent" }, otherwise: "agent" };

/** States in the JSON of 0.3. */
export const stateNames: EnumForm = {
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
