import type { MessageShape } from "@bufbuild/protobuf";
import type { EmptySchema } from "@bufbuild/protobuf/wkt";
import { A2AError } from "../../core/error.js";
import type { ServiceMethods } from "./operation.js";

/** Push notifications are not delivered: every agent's card says so, and so do these operations (specification 3.3.4). */
export const pushOperations: Pick<
  ServiceMethods,
  | "createTaskPushNotificationConfig"
  | "getTaskPushNotificationConfig"
  | "listTaskPushNotificationConfigs"
  | "deleteTaskPushNotificationConfig"
> = {
  createTaskPushNotificationConfig: noPush,
  getTaskPushNotificationConfig: noPush,
  listTaskPushNotificationConfigs: noPush,
  deleteTaskPushNotificationConfig: async (): Promise<MessageShape<typeof EmptySchema>> => noPush(),
};

async function noPush(): Promise<never> {
  throw pushNotSupported();
}

/** The error of everything that asks for push notifications. */
export function pushNotSupported(): A2AError {
  return new A2AError("PUSH_NOTIFICATION_NOT_SUPPORTED", "The agent does not support push notifications.");
}
