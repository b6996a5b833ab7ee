import type { TaskPushNotificationConfig } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { PushDialect } from "../version/version.js";

/** Says whether the receiver wants posts to be signed in place of credentials. */
export function asksForSignature(config: TaskPushNotificationConfig, dialect: PushDialect | undefined): boolean {
  return dialect?.isSigned?.(config) === true;
}

/** Headers that are the same in all notifications of a configuration: names and values by turns. */
export function headersFor(config: TaskPushNotificationConfig, dialect: PushDialect | undefined): string[] {
  const { token, authentication } = config;
  const headers = ["content-type", dialect?.mediaType ?? "application/a2a+json"];
  const { scheme = "", credentials = "" } = authentication ?? {};
  // A scheme alone authenticates nothing.
  if (scheme !== "" && credentials !== "" && !asksForSignature(config, dialect)) {
    headers.push("authorization", `${scheme} ${credentials}`);
  }
  if (token !== "") headers.push("x-a2a-notification-token", token);
  return headers;
}
