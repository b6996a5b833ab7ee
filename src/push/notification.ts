import { hash, randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import type { Task, TaskPushNotificationConfig } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type StreamResponse, StreamResponseSchema, TaskStatusUpdateEventSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import type { PushConfigKey, Restoration } from "../store/task-store.js";
import { millisOf, responseOf } from "../task/entry.js";
import type { PushDialect } from "../version/version.js";
import { jsonWriter } from "../wire/json-writer.js";
import { cachedText, cacheForms } from "../wire/serialization-cache.js";
import { PUSH_TEST, PUSH_TEST_ID, pushEventId, pushEventText } from "../wire/webhook.js";
import type { PushSigner } from "./signature/signer.js";

const write = jsonWriter(StreamResponseSchema);

const bodyKey: unique symbol = Symbol("task as it was created");

interface Kept {
  [bodyKey]?: StreamResponse;
}

/**
 * The notification body of an entry: a `StreamResponse` as JSON (specification 4.3.3), undefined for an entry that is
 * not an event. All configurations and streams share the text of an entry.
 */
export function notificationBody(entry: LogEntry): string | undefined {
  const response = entry.event.case === "created" ? createdOf(entry) : responseOf(entry);
  return response && cachedText(response, write as (message: object) => string);
}

/**
 * The body of a test event: the task's present status. In another version it is the task with this status alone.
 * @param task a copy without history and artifacts
 */
export function testBodyOf(task: Task, dialect: PushDialect | undefined): string {
  if (dialect !== undefined) return dialect.write(task);
  const { id: taskId, contextId, status } = task;
  const value = create(TaskStatusUpdateEventSchema, { taskId, contextId, ...(status && { status }) });
  return write(create(StreamResponseSchema, { payload: { case: "statusUpdate", value } }));
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

export interface HeaderParts {
  readonly signer: PushSigner | undefined;
  /** Headers of every notification: names and values alternate. */
  readonly headers: readonly string[];
  /** Further headers of notifications in the service's own version. */
  readonly nativeHeaders: readonly string[];
  /** Restorations of the store from backups, oldest first. */
  readonly restorations: readonly Restoration[];
}

export class NotificationHeaders {
  readonly #parts: HeaderParts;
  readonly #key: PushConfigKey;
  readonly #config: TaskPushNotificationConfig;
  /** Headers that all notifications of the configuration have. */
  #common: readonly string[] | undefined;

  constructor(parts: HeaderParts, key: PushConfigKey, config: TaskPushNotificationConfig) {
    this.#parts = parts;
    this.#key = key;
    this.#config = config;
  }

  /**
   * Returns the headers of an entry's notification: names and values alternate. A promise if a thread signs.
   * @param dialect undefined in the service's own version
   */
  of(entry: LogEntry, body: string, dialect: PushDialect | undefined): string[] | Promise<string[]> {
    const { generation } = entry;
    const key = publicKeyOf(this.#key, eventTaskId(entry));
    const restoration = this.#parts.restorations.length === 0 ? "" : restorationOf(entry, this.#parts.restorations);
    const id = eventIdOf(key, generation, restoration);
    return this.#headers({ key, id, generation, restoration, body }, dialect);
  }

  /**
   * Returns the headers of a test event. Each has a new id and generation 0: no receiver takes it for an event of the
   * task, or for one that makes others old.
   * @param taskId id of the task in the body
   */
  ofTest(taskId: string, body: string, dialect: PushDialect | undefined): string[] | Promise<string[]> {
    const id = PUSH_TEST_ID + randomBytes(20).toString("base64url");
    const made = this.#headers(
      { key: publicKeyOf(this.#key, taskId), id, generation: 0, restoration: "", body },
      dialect,
    );
    const mark = (headers: string[]): string[] => [...headers, PUSH_TEST.toLowerCase(), "true"];
    return made instanceof Promise ? made.then(mark) : mark(made);
  }

  #headers(
    { key: { taskId, configId }, id, generation, restoration, body }: Identified,
    dialect: PushDialect | undefined,
  ): string[] | Promise<string[]> {
    const { signer, headers: always, nativeHeaders } = this.#parts;
    this.#common ??= [...(dialect === undefined ? nativeHeaders : []), ...always, ...headersFor(this.#config, dialect)];
    const headers = [...this.#common, "parley-generation", `${generation}`];
    if (restoration !== "") headers.push("parley-restoration", restoration);
    const time = Date.now();
    if (signer === undefined) {
      headers.push("webhook-id", id, "webhook-timestamp", `${Math.floor(time / 1_000)}`);
      return headers;
    }
    const { url, token } = this.#config;
    const asBearer = asksForSignature(this.#config, dialect);
    const signed = signer.headers({ id, taskId, configId, generation, time, url, body, token, asBearer });
    return signed instanceof Promise ? signed.then((more) => withHeaders(headers, more)) : withHeaders(headers, signed);
  }
}

/** A notification with the ids that receivers see. */
interface Identified {
  readonly key: PushConfigKey;
  readonly id: string;
  readonly generation: number;
  /** Empty without one. */
  readonly restoration: string;
  readonly body: string;
}

/**
 * The ids that identify a notification to receivers. If the client knows the task by another id than the store, the
 * configuration id includes the stored one, because tasks of several clients may share a name and a receiver.
 */
function publicKeyOf(key: PushConfigKey, taskId: string = key.taskId): PushConfigKey {
  return taskId === key.taskId ? key : { taskId, configId: `${key.taskId}/${key.configId}` };
}

function withHeaders(headers: string[], more: Readonly<Record<string, string>>): string[] {
  for (const name in more) headers.push(name, more[name] as string);
  return headers;
}

/** Task id in an entry that is an event; undefined for others. */
function eventTaskId({ event }: LogEntry): string | undefined {
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
function eventIdOf({ taskId, configId }: PushConfigKey, generation: number, restoration: string): string {
  return pushEventId(hash("sha256", pushEventText(taskId, configId, generation, restoration), "base64url"));
}

/** Id of the last restoration before an entry was written; empty without one. */
function restorationOf({ time }: LogEntry, restorations: readonly Restoration[]): string {
  const written = millisOf(time);
  return restorations.findLast(({ until }) => until < written)?.id ?? "";
}

/** True if the receiver asks for signed posts instead of credentials. */
function asksForSignature(config: TaskPushNotificationConfig, dialect: PushDialect | undefined): boolean {
  return dialect?.isSigned?.(config) === true;
}

/** Headers common to all notifications of a configuration: names and values alternate. */
function headersFor(config: TaskPushNotificationConfig, dialect: PushDialect | undefined): string[] {
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
