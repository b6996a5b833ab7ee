import type { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../core/error.js";
import type { Versions } from "./versions.js";

/** What methods of A2A 0.2 and 0.3 are called since 1.0: they alone have a slash in their names. */
const successors: Readonly<Record<string, keyof (typeof A2AService)["method"]>> = {
  "message/send": "sendMessage",
  "message/stream": "sendStreamingMessage",
  "tasks/get": "getTask",
  "tasks/list": "listTasks",
  "tasks/cancel": "cancelTask",
  "tasks/resubscribe": "subscribeToTask",
  "tasks/pushNotificationConfig/set": "createTaskPushNotificationConfig",
  "tasks/pushNotificationConfig/get": "getTaskPushNotificationConfig",
  "tasks/pushNotificationConfig/list": "listTaskPushNotificationConfigs",
  "tasks/pushNotificationConfig/delete": "deleteTaskPushNotificationConfig",
  "agent/getAuthenticatedExtendedCard": "getExtendedAgentCard",
  "agent/authenticatedExtendedCard": "getExtendedAgentCard",
};

/** The error for a method that is not there. A client of an earlier version is told what is spoken here. */
export function methodNotFound(asked: string, { native, text }: Versions): A2AError {
  const successor = Object.hasOwn(successors, asked) ? successors[asked] : undefined;
  if (successor === undefined) return new A2AError("METHOD_NOT_FOUND", "Method not found");
  const name = successor.replace(/^./, (letter) => letter.toUpperCase());
  const message =
    `Method not found: "${asked}" belongs to an earlier version of A2A. ` +
    `This server speaks A2A ${text} (header A2A-Version: ${native.name}), where the method is ${name}.`;
  return new A2AError("METHOD_NOT_FOUND", message, { metadata: { supportedVersions: text, method: name } });
}
