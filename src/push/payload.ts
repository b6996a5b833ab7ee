import { hash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import {
  type StreamResponse,
  StreamResponseSchema,
  type TaskPushNotificationConfig,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import type { PushConfigKey } from "../store/task-store.js";
import { responseOf } from "../task/entry.js";
import type { PushDialect } from "../version/version.js";
import { jsonWriter } from "../wire/json-writer.js";
import { cachedText, cacheForms } from "../wire/serialization-cache.js";
import { pushEventId, pushEventText } from "../wire/webhook.js";

const write = jsonWriter(StreamResponseSchema);

const bodyKey: unique symbol = Symbol("task as it was created");

interface Kept {
  [bodyKey]?: StreamResponse;
}

/**
 * The notification body of an entry: a `StreamResponse` as JSON (specification 4.3.3), undefined for an entry that is
 * not an event. All configurations and streams share the text of an entry.
 */
export function bodyOf(entry: LogEntry): string | undefined {
  const response = entry.event.case === "created" ? createdOf(entry) : responseOf(entry);
  return response && cachedText(response, write as (message: object) => string);
}

function createdOf(entry: LogEntry): StreamResponse | undefined {
  if (entry.event.case !== "created") return undefined;
  const kept = entry as Kept;
  if (kept[bodyKey] !== undefined) return kept[bodyKey];
  const response = cacheForms(create(StreamResponseSchema));
  response.payload = { case: "task", value: entry.event.value };
  kept[bodyKey] = response;
  return response;
}

/** Task id in an entry that is an event; undefined for others. */
export function taskIdOf({ event }: LogEntry): string | undefined {
  switch (event.case) {
    case "created":
      return event.value.id;
    case "status":
    case "artifact":
      return event.value.taskId;
    default:
      return undefined;
  }
}

/** The id of a notification, unique, and equal in each attempt by any process. */
export function eventIdOf({ taskId, configId }: PushConfigKey, generation: number): string {
  return pushEventId(hash("sha256", pushEventText(taskId, configId, generation), "base64url"));
}

/** True if the receiver asks for signed posts instead of credentials. */
export function asksForSignature(config: TaskPushNotificationConfig, dialect: PushDialect | undefined): boolean {
  return dialect?.isSigned?.(config) === true;
}

/** Headers common to all notifications of a configuration: names and values alternate. */
export function headersFor(config: TaskPushNotificationConfig, dialect: PushDialect | undefined): string[] {
  const { token, authentication } = config;
  const headers = ["content-type", dialect?.mediaType ?? "application/a2a+json"];
  const { scheme = "", credentials = "" } = authentication ?? {};
  // A scheme without credentials does not authenticate.
  if (scheme !== "" && credentials !== "" && !asksForSignature(config, dialect)) {
    headers.push("authorization", `${scheme} ${credentials}`);
  }
  if (token !== "") headers.push("x-a2a-notification-token", token);
  return headers;
}
