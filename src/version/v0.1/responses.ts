import { isJsonObject } from "../../wire/json-struct.js";
import type { CardJson as Json } from "../card-json.js";
import { isSet, textOr } from "../card-json.js";
import { COMPAT } from "../v0.3/data-part.js";

/** The ids of a task and its session that the caller knows. Servers' responses may have others. */
export interface TaskIds {
  readonly taskId: string;
  readonly contextId: string;
}

/** Converts JSON of 0.1 to ProtoJSON of 1.0. `null` means absent. */
export function taskFromV01(task: Json, place: TaskIds): Json {
  const contextId = textOr(task.sessionId, place.contextId);
  const at = { taskId: textOr(task.id, place.taskId), contextId };
  const names = new MessageNames(at);
  return {
    id: at.taskId,
    contextId,
    history: objectsIn(task.history).map((message) => messageFromV01(message, names)),
    status: statusFromV01(task.status, at),
    artifacts: artifactsFromV01(task.artifacts),
    ...withMetadata(task),
  };
}

/**
 * Converts one event of a stream. Only this version begins a stream without the task.
 *
 * @param isFirst true for the first event that answers a message; its status is that of the task
 */
export function eventFromV01(event: Json, place: TaskIds, isFirst: boolean): Json {
  if (isSet(event.artifact)) return { artifactUpdate: artifactEvent(event, place) };
  // Some servers send the task nevertheless.
  const isTask = [event.sessionId, event.artifacts, event.history].some(isSet);
  if (isTask || isFirst) return { task: taskFromV01({ ...event, id: place.taskId }, place) };
  return { statusUpdate: { ...place, status: statusFromV01(event.status, place), ...withMetadata(event) } };
}

function artifactEvent(event: Json, place: TaskIds): Json {
  const [artifact = {}] = [event.artifact].flat().filter(isJsonObject);
  return {
    ...place,
    artifact: artifactFromV01(artifact, indexOf(artifact) ?? 0),
    append: artifact.append === true,
    lastChunk: artifact.lastChunk === true,
    ...withMetadata(event),
  };
}

/**
 * An artifact is identified by its index. Some servers leave it out in a task, or send 0 for each; the position then
 * replaces it.
 */
function artifactsFromV01(artifacts: unknown): Json[] {
  const list = objectsIn(artifacts);
  const indexes = list.map(indexOf);
  const isNumbered = new Set(indexes).size === list.length && !indexes.includes(undefined);
  return list.map((artifact, i) => artifactFromV01(artifact, isNumbered ? (indexes[i] ?? i) : i));
}

const indexOf = ({ index }: Json): number | undefined => (typeof index === "number" ? index : undefined);

function artifactFromV01(artifact: Json, index: number): Json {
  const { name, description } = artifact;
  return {
    artifactId: `artifact-${index}`,
    ...(isSet(name) && { name }),
    ...(isSet(description) && { description }),
    parts: objectsIn(artifact.parts).map(partFromV01),
    ...withMetadata(artifact),
  };
}

const states = ["submitted", "working", "input-required", "completed", "canceled", "failed"];

function statusFromV01(status: unknown, place: TaskIds): Json {
  const { state, message, timestamp } = isJsonObject(status) ? status : {};
  const known = typeof state === "string" && states.includes(state);
  const time = timeFromV01(timestamp);
  return {
    state: known ? `TASK_STATE_${state.toUpperCase().replace("-", "_")}` : "TASK_STATE_UNSPECIFIED",
    ...(isJsonObject(message) && { message: messageFromV01(message, new MessageNames(place)) }),
    ...(time !== undefined && { timestamp: time }),
  };
}

/** Converts a timestamp of 0.1, which has no zone and is in UTC. An invalid one is dropped. */
function timeFromV01(timestamp: unknown): string | undefined {
  if (typeof timestamp !== "string") return undefined;
  const text = /(?:Z|[+-]\d\d:?\d\d)$/i.test(timestamp) ? timestamp : `${timestamp}Z`;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

function messageFromV01(message: Json, names: MessageNames): Json {
  // Early examples omit the role, and only agents answer.
  const isUser = message.role === "user";
  const parts = objectsIn(message.parts ?? message.data).map(partFromV01);
  const role = isUser ? "ROLE_USER" : "ROLE_AGENT";
  return { messageId: names.next(role, parts), ...names.place, role, parts, ...withMetadata(message) };
}

/**
 * Derives ids for messages, which have none in 0.1. A message gets the same id whenever it is read, so that readers
 * recognize it.
 */
class MessageNames {
  readonly place: TaskIds;
  readonly #seen = new Map<string, number>();

  constructor(place: TaskIds) {
    this.place = place;
  }

  next(role: string, parts: unknown): string {
    const name = `m-${hashOf(this.place.taskId + role + JSON.stringify(parts))}`;
    const count = (this.#seen.get(name) ?? 0) + 1;
    this.#seen.set(name, count);
    return count === 1 ? name : `${name}-${count}`;
  }
}

/** A 53-bit hash of a text (cyrb53), sufficient for distinct ids. */
function hashOf(text: string): string {
  let [a, b] = [0xdeadbeef, 0x41c6ce57];
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 2654435761);
    b = Math.imul(b ^ unit, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return (4294967296 * (2097151 & b) + (a >>> 0)).toString(36);
}

function partFromV01(part: Json): Json {
  const { type = part.kind, text, file, data } = part;
  const metadata = withMetadata(part);
  if (type === "file" || (type === undefined && isJsonObject(file))) return { ...fileFromV01(file), ...metadata };
  if (type === "data" || (type === undefined && isSet(data))) return dataFromV01(data, metadata);
  return { text: typeof text === "string" ? text : "", ...metadata };
}

/** Converts a file. Some examples have `data` instead of `bytes`. A file with neither is only a name. */
function fileFromV01(given: unknown): Json {
  const file = isJsonObject(given) ? given : {};
  const bytes = file.bytes ?? file.data;
  return {
    ...(isSet(bytes) ? { raw: bytes } : { url: textOr(file.uri, "") }),
    ...(isSet(file.name) && { filename: file.name }),
    ...(isSet(file.mimeType) && { mediaType: file.mimeType }),
  };
}

function dataFromV01(data: unknown, { metadata }: { readonly metadata?: Json }): Json {
  if (metadata?.[COMPAT] !== true || !isJsonObject(data)) return { data: data ?? {}, ...(metadata && { metadata }) };
  const { [COMPAT]: _, ...rest } = metadata;
  return { data: data.value, ...(Object.keys(rest).length > 0 && { metadata: rest }) };
}

/** Returns the push configuration of a task, or undefined. */
export function pushFromV01(result: Json, taskId: string): Json | undefined {
  const config = result.pushNotificationConfig;
  if (!isJsonObject(config)) return undefined;
  const { url, token, authentication } = config;
  const given = isJsonObject(authentication) ? authentication : {};
  const [scheme] = [given.schemes].flat();
  const { credentials } = given;
  return {
    taskId,
    // A task has one configuration.
    id: taskId,
    url,
    ...(isSet(token) && { token }),
    ...(isSet(scheme) && { authentication: { scheme, ...(isSet(credentials) && { credentials }) } }),
  };
}

const objectsIn = (given: unknown): Json[] => (Array.isArray(given) ? given.filter(isJsonObject) : []);

const withMetadata = ({ metadata }: Json): { metadata?: Json } =>
  isJsonObject(metadata) && Object.keys(metadata).length > 0 ? { metadata } : {};
