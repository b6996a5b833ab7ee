import type { TaskPushNotificationConfig } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { PushDialect } from "../version/push.js";

/** Whether the receiver wants posts to be signed in place of credentials. */
export function asksForSignature(
  { authentication }: TaskPushNotificationConfig,
  dialect: PushDialect | undefined,
): boolean {
  return dialect?.signedScheme !== undefined && authentication?.scheme.toLowerCase() === dialect.signedScheme;
}

/** Headers that are the same in all notifications of a configuration: names and values by turns. */
export function headersFor(config: TaskPushNotificationConfig, dialect: PushDialect | undefined): string[] {
  const { token, authentication } = config;
  const headers = ["content-type", dialect?.mediaType ?? "application/a2a+json"];
  if (authentication !== undefined && authentication.scheme !== "" && !asksForSignature(config, dialect)) {
    const { scheme, credentials } = authentication;
    headers.push("authorization", credentials === "" ? scheme : `${scheme} ${credentials}`);
  }
  if (token !== "") headers.push("x-a2a-notification-token", token);
  return headers;
}
