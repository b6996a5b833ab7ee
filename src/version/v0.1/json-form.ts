import { create } from "@bufbuild/protobuf";
import {
  GetTaskRequestSchema,
  type Message,
  MessageSchema,
  Role,
  SendMessageConfigurationSchema,
  SendMessageRequestSchema,
  TaskArtifactUpdateEventSchema,
  TaskPushNotificationConfigSchema,
  TaskSchema,
  TaskState,
  TaskStatusUpdateEventSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { newId } from "../../core/ids.js";
import { expectMessage } from "../../wire/expect-message.js";
import type { Fields, JsonForm } from "../../wire/json-form.js";
import { collectingReader } from "../../wire/json-reader.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { quote } from "../../wire/json-text.js";
import { jsonWriter } from "../../wire/json-writer.js";
import { marksOf } from "../../wire/marks.js";
import type { Violations } from "../../wire/violations.js";
import { isLast } from "../ended-events.js";
import { makeForm } from "../forms/make-form.js";
import type { EnumForm, FormTables, MemberForm, ObjectForm, Settle } from "../forms/tables.js";
import { dataForm } from "../v0.3/data-part.js";
import { authentication, dropEmptyAuthentication, fileContent, fileNames, partForm } from "../v0.3/json-form.js";
import { stateNames as laterNames, roleNames } from "../v0.3/names.js";

/** States of 0.1, which has neither `rejected` nor `auth-required`. */
const stateNames: EnumForm = {
  ...laterNames,
  words: { ...laterNames.words, [TaskState.REJECTED]: "failed", [TaskState.AUTH_REQUIRED]: "input-required" },
};

/** Structured data of 0.1, which is an object or a list. */
const data = dataForm({
  kinds: new Set(["structValue", "listValue"]),
  fits: (json) => isJsonObject(json) || Array.isArray(json),
  expectation: "must be an object or a list",
});

const part = partForm(["type", "kind"], [...fileNames, ...fileContent], data);

/**
 * Messages of 0.1 have no id of their own, and the ids of task and context are outside the message. The role is
 * optional.
 */
const settleMessage: Settle = (fields, _json, at) => {
  const message = expectMessage(MessageSchema, fields);
  if (message.messageId === "") message.messageId = newId();
  if (message.role === Role.UNSPECIFIED) message.role = at.isTolerant ? Role.AGENT : Role.USER;
};

/** Artifacts without an index are numbered in their order. */
const settleTask: Settle = (fields) => {
  const { artifacts } = expectMessage(TaskSchema, fields);
  for (const [i, artifact] of artifacts.entries())
    if (artifact.artifactId === "") artifact.artifactId = artifactIdAt(i);
};

const settleArtifactEvent: Settle = (fields) => {
  const { artifact } = expectMessage(TaskArtifactUpdateEventSchema, fields);
  if (artifact?.artifactId === "") artifact.artifactId = artifactIdAt(0);
};

/** Returns the id of an artifact that its server only numbers. */
function artifactIdAt(index: number): string {
  return String(index);
}

function readIndex(json: unknown, at: Violations): string | undefined {
  return typeof json === "number" && Number.isSafeInteger(json) ? artifactIdAt(json) : at.add("must be a whole number");
}

/** The ids of task and session, and the options, are in the params next to the message. */
const settleSend: Settle = (fields, json, at) => {
  const request = expectMessage(SendMessageRequestSchema, fields);
  const { message } = request;
  const [id, sessionId] = [stringMember(json, "id", at), stringMember(json, "sessionId", at)];
  if (id === "") at.add("is required", "id");
  if (message !== undefined) {
    message.taskId = id;
    message.contextId = sessionId;
  }
  request.configuration ??= create(SendMessageConfigurationSchema);
  request.configuration.historyLength ??= 0;
};

function stringMember(json: Readonly<Record<string, unknown>>, name: string, at: Violations): string {
  const text = json[name] ?? "";
  if (typeof text === "string") return text;
  at.add("must be a string", name);
  // The result is not empty, so that it is not reported as missing as well.
  return " ";
}

/** Messages of a task are returned only on request. */
const settleGet: Settle = (fields) => {
  const request = expectMessage(GetTaskRequestSchema, fields);
  request.historyLength ??= 0;
};

const inside: ObjectForm = {
  members: [{ field: "url", isRequired: true }, "token", "authentication"],
  settle: dropEmptyAuthentication,
};

const authenticationType = "lf.a2a.v1.AuthenticationInfo";
const configForm = makeForm({
  name: "0.1 push configuration",
  types: { [TaskPushNotificationConfigSchema.typeName]: inside, [authenticationType]: authentication },
});
const writeConfig = jsonWriter(TaskPushNotificationConfigSchema, configForm);
const readConfig = collectingReader(TaskPushNotificationConfigSchema, configForm);

/** The single configuration of a task. One without a URL is written as null. */
const pushConfig: ObjectForm = {
  members: [
    { field: "taskId", name: "id", isAlways: true, isRequired: true },
    {
      name: "pushNotificationConfig",
      write: (config: Fields) =>
        config.url === "" ? "null" : writeConfig(expectMessage(TaskPushNotificationConfigSchema, config)),
      read: (config: Fields, json: unknown, at: Violations) => {
        const read = readConfig(json, at);
        if (read === undefined) return;
        const { url, token, authentication: info } = read;
        Object.assign(config, { url, token, authentication: info });
      },
    },
  ],
  settle: (_config, json, at) => {
    if (json.pushNotificationConfig === undefined && !at.isTolerant) at.add("is required", "pushNotificationConfig");
  },
};

const id: MemberForm = { field: "id", isAlways: true, isRequired: true };

const types: FormTables["types"] = {
  "lf.a2a.v1.Message": {
    // The first page of the documents calls the parts `data`.
    members: ["role", { field: "parts", also: ["data"] }, "metadata"],
    settle: settleMessage,
  },
  "lf.a2a.v1.Part": part,
  "lf.a2a.v1.Artifact": {
    members: [
      "name",
      "description",
      "parts",
      {
        field: "artifactId",
        name: "index",
        write: (_id, artifact) => String(marksOf(artifact)?.index ?? 0),
        read: readIndex,
      },
      "metadata",
    ],
  },
  "lf.a2a.v1.Task": {
    members: ["id", { field: "contextId", name: "sessionId" }, "status", "artifacts", "history", "metadata"],
    settle: settleTask,
  },
  "lf.a2a.v1.TaskStatusUpdateEvent": {
    members: [
      { field: "taskId", name: "id" },
      "status",
      { name: "final", write: (event: Fields) => String(isLast(expectMessage(TaskStatusUpdateEventSchema, event))) },
      "metadata",
    ],
  },
  "lf.a2a.v1.TaskArtifactUpdateEvent": {
    members: [
      { field: "taskId", name: "id" },
      {
        field: "artifact",
        inside: [
          { field: "append", isAlways: true },
          { field: "lastChunk", isAlways: true },
        ],
      },
      "metadata",
    ],
    settle: settleArtifactEvent,
  },
  "lf.a2a.v1.SendMessageRequest": {
    members: [
      { name: "id", write: (request: Fields) => quote(requestMessage(request)?.taskId ?? "") },
      { name: "sessionId", write: (request: Fields) => textOrNothing(requestMessage(request)?.contextId) },
      { field: "message", isRequired: true },
      {
        flat: "configuration",
        members: [
          "acceptedOutputModes",
          "historyLength",
          { field: "taskPushNotificationConfig", name: "pushNotification", as: inside },
        ],
      },
      "metadata",
    ],
    settle: settleSend,
  },
  "lf.a2a.v1.GetTaskRequest": { members: [id, "historyLength"], settle: settleGet },
  "lf.a2a.v1.CancelTaskRequest": { members: [id, "metadata"] },
  "lf.a2a.v1.SubscribeToTaskRequest": { members: [id] },
  "lf.a2a.v1.TaskPushNotificationConfig": pushConfig,
  "lf.a2a.v1.GetTaskPushNotificationConfigRequest": { members: [{ field: "taskId", name: "id", isRequired: true }] },
  [authenticationType]: authentication,
  "lf.a2a.v1.SendMessageResponse": { bare: "payload", caseOf: () => "task" },
  "lf.a2a.v1.StreamResponse": {
    bare: "payload",
    caseOf: (json) => (isJsonObject(json) && json.artifact != null ? "artifactUpdate" : "statusUpdate"),
  },
};

function requestMessage(request: Fields): Message | undefined {
  return request.message as Message | undefined;
}

function textOrNothing(text: string | undefined): string | undefined {
  return text === undefined || text === "" ? undefined : quote(text);
}

/**
 * The JSON of 0.1, read and written from messages of 1.0. The index of an artifact comes from its mark, or is 0, the
 * default of 0.1.
 */
export const v01Form: JsonForm = makeForm({
  name: "0.1",
  types,
  enums: { "lf.a2a.v1.Role": roleNames, "lf.a2a.v1.TaskState": stateNames },
});
