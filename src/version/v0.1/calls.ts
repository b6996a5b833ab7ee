import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import {
  type CancelTaskRequest,
  CancelTaskRequestSchema,
  type GetTaskPushNotificationConfigRequest,
  type GetTaskRequest,
  GetTaskRequestSchema,
  Role,
  SendMessageConfigurationSchema,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type TaskPushNotificationConfig,
  TaskPushNotificationConfigSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError, invalid, type Reason } from "../../core/error.js";
import { newId } from "../../core/ids.js";
import { answerReader } from "../../wire/json-reader.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { quote } from "../../wire/json-text.js";
import { jsonWriter } from "../../wire/json-writer.js";
import type { CardJson as Json } from "../card-json.js";
import { ALL_HISTORY, JsonExchange, withHistoryOf } from "../json-exchange.js";
import type { OlderCalls, OlderMethod } from "../older-calls.js";
import { v01Form } from "./json-form.js";
import { eventFromV01, pushFromV01, type TaskIds, taskFromV01 } from "./responses.js";

const writeSend = jsonWriter(SendMessageRequestSchema, v01Form);
const writeGet = jsonWriter(GetTaskRequestSchema, v01Form);
const writeCancel = jsonWriter(CancelTaskRequestSchema, v01Form);
const writeConfig = jsonWriter(TaskPushNotificationConfigSchema, v01Form);

/** One call: its params in JSON, and the conversion of its results to ProtoJSON of 1.0. */
interface Begun {
  readonly params: string;
  readonly up: (result: Json) => Json;
}

/** A method of 0.1 for a method of the service. */
interface OlderCall {
  readonly name: string;
  readonly begin: (request: never) => Begun;
}

const rows: Readonly<Record<string, OlderCall>> = {
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
    begin: (request: GetTaskRequest) => ({
      params: writeGet({ ...request, historyLength: request.historyLength ?? ALL_HISTORY }),
      up: (task) => taskFromV01(task, { taskId: request.id, contextId: "" }),
    }),
  },
  cancelTask: {
    name: "tasks/cancel",
    begin: (request: CancelTaskRequest) => ({
      params: writeCancel(request),
      up: (task) => taskFromV01(task, { taskId: request.id, contextId: "" }),
    }),
  },
  subscribeToTask: {
    name: "tasks/resubscribe",
    begin: ({ id }: { readonly id: string }) => ({
      params: ofTask(id),
      up: (event) => eventFromV01(event, { taskId: id, contextId: "" }, false),
    }),
  },
  createTaskPushNotificationConfig: {
    name: "tasks/pushNotification/set",
    begin: (request: TaskPushNotificationConfig) => ({
      params: configOf(request),
      up: (result) => pushFromV01(result, request.taskId) ?? {},
    }),
  },
  getTaskPushNotificationConfig: {
    name: "tasks/pushNotification/get",
    begin: ({ taskId, id }: GetTaskPushNotificationConfigRequest) => ({
      params: ofTask(taskId),
      up: (result) => pushFromV01(result, taskId) ?? noConfig(id),
    }),
  },
  listTaskPushNotificationConfigs: {
    name: "tasks/pushNotification/get",
    begin: ({ taskId }: { readonly taskId: string }) => ({
      params: ofTask(taskId),
      up: (result) => ({ configs: [pushFromV01(result, taskId)].filter((config) => config !== undefined) }),
    }),
  },
};

const ofTask = (id: string): string => `{"id":${quote(id)}}`;

/** In 0.1 a configuration without a URL removes the task's configuration, which the caller did not request. */
function configOf(request: TaskPushNotificationConfig): string {
  if (request.url === "") throw invalid([{ field: "url", description: "is required" }]);
  return writeConfig(request);
}

function noConfig(id: string): never {
  throw new A2AError("TASK_NOT_FOUND", "The task has no such push notification config.", { metadata: { id } });
}

/**
 * The client creates the ids of tasks and sessions, but a task that it names may have a session. A request without a
 * history length requests the whole history.
 */
function sent(request: SendMessageRequest): { params: string; place: TaskIds } {
  const { message, configuration } = request;
  // The ids do not have the form of a server's own ids, which callers of later versions could not use as a name.
  const { taskId = "", contextId = "" } = message ?? {};
  const place = { taskId: taskId || `task-${newId()}`, contextId: contextId || (taskId ? "" : newId()) };
  const { historyLength = ALL_HISTORY, taskPushNotificationConfig, acceptedOutputModes = [] } = configuration ?? {};
  // 0.1 has two roles.
  const role = message?.role === Role.AGENT ? Role.AGENT : Role.USER;
  const params = writeSend({
    ...request,
    message: message && { ...message, ...place, role },
    configuration: create(SendMessageConfigurationSchema, {
      acceptedOutputModes,
      historyLength,
      taskPushNotificationConfig,
    }),
  });
  return { params, place };
}

function olderMethod(desc: DescMethod): OlderMethod | undefined {
  const row = rows[desc.localName];
  if (row === undefined) return undefined;
  const read = answerReader(desc.output);
  return {
    name: row.name,
    verb: "POST",
    begin: (request: Message) => {
      const { params, up } = row.begin(request as never);
      return new JsonExchange({ json: params }, (result) => {
        if (!isJsonObject(result)) throw new A2AError("INVALID_AGENT_RESPONSE", "The result is not a JSON object.");
        return withHistoryOf(request, read(up(result)));
      });
    },
  };
}

/** Error codes of 0.1 that have another meaning in later versions. */
const reasons: ReadonlyMap<unknown, Reason> = new Map<unknown, Reason>([
  [-32006, "UNSUPPORTED_OPERATION"],
  [-32007, "UNAUTHENTICATED"],
  [-32008, "PERMISSION_DENIED"],
  [-32009, "UNSUPPORTED_OPERATION"],
  [-32010, "TOO_MANY_REQUESTS"],
  [-32011, "UNAVAILABLE"],
]);

/** The calls of A2A 0.1. */
export const calls: OlderCalls = { jsonRpc: olderMethod, hasTasklessStreams: true, reasons };
