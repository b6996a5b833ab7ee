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

/** Paths of HTTP+JSON began with this in A2A 0.3. In 1.0 it can only be a tenant. */
const EARLIER_PREFIX = "/v1/";

/**
 * An error of a request over HTTP+JSON; where its path begins as those of an earlier version did, and it names no version that is
 * spoken here, the error says which one is. What succeeds is not looked at: a tenant may be called `v1`.
 *
 * @param asked the version that the request names
 */
export function pathExplained(
  error: A2AError,
  { path, asked }: { readonly path: string; readonly asked: string | undefined },
  versions: Versions,
): A2AError {
  const { native, text } = versions;
  const isEarlier = path.startsWith(EARLIER_PREFIX) && [400, 404, 405].includes(error.row.http);
  if (!isEarlier || versions.named("0.3") !== undefined) return error;
  if (asked !== undefined && versions.named(asked) !== undefined) return error;
  const { reason, metadata, violations, headers, cause } = error;
  const message =
    `${error.message} Paths below /v1 belong to an earlier version of A2A. ` +
    `This server speaks A2A ${text} (header A2A-Version: ${native.name}), whose paths begin without it.`;
  return new A2AError(reason, message, {
    metadata: { ...metadata, supportedVersions: text },
    violations,
    headers: Object.fromEntries(headers),
    cause,
  });
}
