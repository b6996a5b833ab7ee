import type { DescMethod, Message as ProtoMessage } from "@bufbuild/protobuf";
import {
  type CancelTaskRequest,
  type GetTaskPushNotificationConfigRequest,
  type GetTaskRequest,
  type Message,
  MessageSchema,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type TaskPushNotificationConfig,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError, type Reason } from "../../core/error.js";
import { newId } from "../../core/ids.js";
import { answerReader } from "../../wire/json-reader.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { jsonWriter } from "../../wire/json-writer.js";
import type { OlderCalls, OlderMethod } from "../callable.js";
import type { CardJson as Json } from "../card-json.js";
import { ALL_HISTORY, JsonExchange, withHistoryOf } from "../json-exchange.js";
import { eventFromV01, type Place, pushFromV01, taskFromV01, WRAPPED } from "./answers.js";

const writeMessage = jsonWriter(MessageSchema);
const writeRequest = jsonWriter(SendMessageRequestSchema);

/** One call: its params, and how its results are read as ProtoJSON of 1.0. */
interface Begun {
  readonly params: Json;
  readonly up: (result: Json) => Json;
}

/** A method of 0.1 (legacy reference, 3.2) for one of the service. */
interface Row {
  readonly name: string;
  readonly begin: (request: never) => Begun;
}

const rows: Readonly<Record<string, Row>> = {
  sendMessage: {
    name: "tasks/send",
    begin: (request: SendMessageRequest) => {
      const { params, place } = sent(request);
      return { params, up: (task) => ({ task: taskFromV01({ ...task, id: place.taskId }, place) }) };
    },
  },
  sendStreamingMessage: {
    name: "tasks/sendSubscribe",
    begin: (request: SendMessageRequest) => {
      const { params, place } = sent(request);
      let isFirst = true;
      const up = (event: Json): Json => {
        const made = eventFromV01(event, place, isFirst);
        isFirst = false;
        return made;
      };
      return { params, up };
    },
  },
  getTask: {
    name: "tasks/get",
    begin: ({ id, historyLength = ALL_HISTORY }: GetTaskRequest) => ({
      params: { id, historyLength },
      up: (task) => taskFromV01(task, { taskId: id, contextId: "" }),
    }),
  },
  cancelTask: {
    name: "tasks/cancel",
    begin: ({ id, metadata }: CancelTaskRequest) => ({
      params: { id, ...(metadata && { metadata }) },
      up: (task) => taskFromV01(task, { taskId: id, contextId: "" }),
    }),
  },
  subscribeToTask: {
    name: "tasks/resubscribe",
    begin: ({ id }: { readonly id: string }) => ({
      params: { id },
      up: (event) => eventFromV01(event, { taskId: id, contextId: "" }, false),
    }),
  },
  createTaskPushNotificationConfig: {
    name: "tasks/pushNotification/set",
    begin: (request: TaskPushNotificationConfig) => ({
      params: { id: request.taskId, pushNotificationConfig: pushConfig(request) },
      up: (result) => pushFromV01(result, request.taskId) ?? {},
    }),
  },
  getTaskPushNotificationConfig: {
    name: "tasks/pushNotification/get",
    begin: ({ taskId, id }: GetTaskPushNotificationConfigRequest) => ({
      params: { id: taskId },
      up: (result) => pushFromV01(result, taskId) ?? noConfig(id),
    }),
  },
  listTaskPushNotificationConfigs: {
    name: "tasks/pushNotification/get",
    begin: ({ taskId }: { readonly taskId: string }) => ({
      params: { id: taskId },
      up: (result) => ({ configs: [pushFromV01(result, taskId)].filter((config) => config !== undefined) }),
    }),
  },
};

function noConfig(id: string): never {
  throw new A2AError("TASK_NOT_FOUND", "The task has no such push notification config.", { metadata: { id } });
}

/** The client makes the ids of tasks and sessions. */
function sent(request: SendMessageRequest): { params: Json; place: Place } {
  const { message, configuration } = request;
  const place = { taskId: message?.taskId || newId(), contextId: message?.contextId || newId() };
  const push = configuration?.taskPushNotificationConfig;
  const { metadata } = JSON.parse(writeRequest(request)) as Json;
  const params = {
    id: place.taskId,
    sessionId: place.contextId,
    message: message === undefined ? undefined : messageToV01(message),
    historyLength: configuration?.historyLength ?? ALL_HISTORY,
    ...(push !== undefined && { pushNotification: pushConfig(push) }),
    ...(isJsonObject(metadata) && { metadata }),
  };
  return { params, place };
}

function messageToV01(message: Message): Json {
  const { role, parts, metadata } = JSON.parse(writeMessage(message)) as Json;
  return {
    role: role === "ROLE_AGENT" ? "agent" : "user",
    parts: (Array.isArray(parts) ? parts : []).filter(isJsonObject).map(partToV01),
    ...(isJsonObject(metadata) && { metadata }),
  };
}

function partToV01({ text, raw, url, data, filename, mediaType, metadata }: Json): Json {
  const more = metadata === undefined ? {} : { metadata };
  if (text !== undefined) return { type: "text", text, ...more };
  if (raw === undefined && url === undefined) {
    if (typeof data === "object" && data !== null) return { type: "data", data, ...more };
    return {
      type: "data",
      data: { value: data },
      metadata: { ...(isJsonObject(metadata) && metadata), [WRAPPED]: true },
    };
  }
  const content = raw === undefined ? { uri: url } : { bytes: raw };
  const file = {
    ...(filename !== undefined && { name: filename }),
    ...(mediaType !== undefined && { mimeType: mediaType }),
  };
  return { type: "file", file: { ...file, ...content }, ...more };
}

function pushConfig({ url, token, authentication }: TaskPushNotificationConfig): Json {
  const { scheme, credentials = "" } = authentication ?? {};
  return {
    url,
    ...(token !== "" && { token }),
    ...(scheme !== undefined && { authentication: { schemes: [scheme], ...(credentials !== "" && { credentials }) } }),
  };
}

function methodOf(desc: DescMethod): OlderMethod | undefined {
  const row = rows[desc.localName];
  if (row === undefined) return undefined;
  const read = answerReader(desc.output);
  return {
    name: row.name,
    verb: "POST",
    begin: (request: ProtoMessage) => {
      const { params, up } = row.begin(request as never);
      return new JsonExchange({ json: JSON.stringify(params) }, (result) => {
        if (!isJsonObject(result)) throw new A2AError("INVALID_AGENT_RESPONSE", "The result is no JSON object.");
        return withHistoryOf(request, read(up(result)));
      });
    },
  };
}

/** Codes that mean something else since (legacy reference, 3.6). */
const reasons: ReadonlyMap<unknown, Reason> = new Map<unknown, Reason>([
  [-32006, "UNSUPPORTED_OPERATION"],
  [-32007, "UNAUTHENTICATED"],
  [-32008, "PERMISSION_DENIED"],
  [-32009, "UNSUPPORTED_OPERATION"],
  [-32010, "TOO_MANY_REQUESTS"],
  [-32011, "UNAVAILABLE"],
]);

/** How A2A 0.1 is called. */
export const calls: OlderCalls = { jsonRpc: methodOf, reasons };
