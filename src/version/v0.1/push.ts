import {
  type StreamResponse,
  StreamResponseSchema,
  type TaskPushNotificationConfig,
  TaskSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { jsonReader } from "../../wire/json-reader.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { jsonWriter } from "../../wire/json-writer.js";
import type { PushDialect } from "../version.js";
import { v01Form } from "./json-form.js";
import { taskFromV01 } from "./responses.js";
import { shownTask, withoutHistory } from "./view.js";

const read = jsonReader(StreamResponseSchema);
const write = jsonWriter(TaskSchema, v01Form);

/**
 * Notifications of 0.1: the current task under the id that its client knows, without messages, which were not
 * requested.
 */
export const push: PushDialect = {
  mediaType: "application/json",
  write: (task) => write(withoutHistory(shownTask(task))),
  isSigned,
};

/**
 * Returns true if a notification is signed. The servers of 0.1 signed every notification, whichever scheme the client
 * named; the first client of 0.1 names `bearer`. Credentials of a client are sent unchanged.
 */
function isSigned({ authentication }: TaskPushNotificationConfig): boolean {
  return authentication === undefined || authentication.credentials === "" || /^jwt$/i.test(authentication.scheme);
}

/**
 * Reads a notification of 0.1, which is the bare task.
 *
 * @throws A2AError with reason INVALID_PARAMS for any other value
 */
export function readNotification(json: unknown): StreamResponse {
  return read(isJsonObject(json) ? { task: taskFromV01(json, { taskId: "", contextId: "" }) } : json);
}
