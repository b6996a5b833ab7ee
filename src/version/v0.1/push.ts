import { type TaskPushNotificationConfig, TaskSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { jsonWriter } from "../../wire/json-writer.js";
import type { PushDialect } from "../version.js";
import { v01Form } from "./json-form.js";
import { shownTask, withoutHistory } from "./shown.js";

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
 * The servers of 0.1 signed every post, whatever scheme the client named; its first client names `bearer` for it. Credentials that a client
 * gives are sent as they are.
 */
function isSigned({ authentication }: TaskPushNotificationConfig): boolean {
  return authentication === undefined || authentication.credentials === "" || /^jwt$/i.test(authentication.scheme);
}
