import { Role, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { membersOf } from "../../core/members.js";
import type { Fields, JsonForm, JsonObject } from "../../wire/json-form.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { quote } from "../../wire/json-text.js";
import type { Violations } from "../../wire/violations.js";
import { makeForm } from "../forms/make-form.js";
import type { FieldForm, FormTables, GroupForm, MemberForm, Settle, Variant, VariantsForm } from "../forms/tables.js";
import { objectData, unwrapData } from "./data-part.js";
import {
  authentication,
  blocking,
  dropEmptyAuthentication,
  fileVariant,
  inlinePushConfig,
  isFinal,
  schemaEnums,
  schemaTypes,
  settleMessageId,
  settleRole,
  textVariant,
} from "./json-form.js";
import { roleNames, stateNames } from "./names.js";
import { configName, parseResource, settleConfigIds } from "./resource-names.js";

const enumNames = (values: Readonly<Record<string, unknown>>, prefix: string): Record<number, string> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (typeof value === "number" ? [[value, prefix + name]] : [])),
  );

const byWord = (words: Readonly<Record<number, string>>): Record<string, number> =>
  Object.fromEntries(Object.entries(words).map(([number, word]) => [word, Number(number)]));

/** Read, but never written. */
const neverWritten = (): undefined => undefined;

const enums: NonNullable<FormTables["enums"]> = {
  "lf.a2a.v1.Role": {
    words: { [Role.USER]: "ROLE_USER", [Role.AGENT]: "ROLE_AGENT" },
    also: { ...byWord(roleNames.words), ROLE_UNSPECIFIED: Role.UNSPECIFIED },
    otherwise: "ROLE_AGENT",
    takesNumbers: true,
  },
  "lf.a2a.v1.TaskState": {
    words: { ...enumNames(TaskState, "TASK_STATE_"), [TaskState.CANCELED]: "TASK_STATE_CANCELLED" },
    also: { ...byWord(stateNames.words), TASK_STATE_CANCELED: TaskState.CANCELED },
    otherwise: "TASK_STATE_UNSPECIFIED",
    takesNumbers: true,
  },
};

const { readData, writeData, writeMetadata } = objectData;

/**
 * The kind of data in the proto's dialect, which is nested, `{"data":{"data":{…}}}`. In the schema's dialect it is next
 * to its kind.
 */
const NESTED = "data without kind";

function wordOf(json: JsonObject): string | undefined {
  const word = json.kind ?? json.type;
  if (word !== undefined && word !== null) return word as string;
  const member = ["text", "file", "data"].find((name) => json[name] !== undefined && json[name] !== null);
  return member === "data" ? NESTED : member;
}

function dataVariant(read: NonNullable<FieldForm["read"]>, cases: readonly string[]): Variant {
  const data: FieldForm = { field: "data", isRequired: true, write: (value) => `{"data":${writeData(value)}}`, read };
  const metadata: FieldForm = { field: "metadata", isAlways: true, write: writeMetadata };
  return { cases, members: [data, metadata], settle: unwrapData };
}

const part: VariantsForm = {
  oneof: "content",
  by: "kind",
  isSilent: true,
  wordOf,
  expectation: "must be one of text, file, data",
  variants: {
    text: textVariant,
    file: fileVariant(
      ["fileWithUri", "fileWithBytes"],
      [
        { field: "url", name: "fileWithUri", also: ["uri"] },
        { field: "raw", name: "fileWithBytes", also: ["bytes", "data"] },
        { field: "mediaType", name: "mimeType" },
        { field: "filename", name: "name" },
      ],
    ),
    // Data without a kind is written, and tried first when reading.
    [NESTED]: dataVariant(readNested, ["data"]),
    data: dataVariant(readData, []),
  },
};

/** Reads nested data. An object that is not nested is the data itself. */
function readNested(json: unknown, at: Violations): unknown {
  const isNested = isJsonObject(json) && isJsonObject(json.data) && Object.keys(json).length === 1;
  if (!isNested) return readData(json, at);
  at.enter("data");
  const data = readData(json.data, at);
  at.leave();
  return data;
}

/** True if a body of HTTP+JSON is certainly in the dialect of the schema, so that its response uses it too. */
export function isSchemaDialect(body: unknown): boolean {
  const message = isJsonObject(body) ? (body.message ?? body.request) : undefined;
  if (!isJsonObject(message)) return false;
  if (message.role === "user" || message.role === "agent") return true;
  const parts = message.parts ?? message.content;
  return Array.isArray(parts) && parts.some((each) => isJsonObject(each) && typeof each.kind === "string");
}

/**
 * In the proto's dialect an absent `blocking` is indistinguishable from false, so such a configuration does not wait.
 * In the schema's dialect it waits.
 */
const settleSend: Settle = (message, json, at) => {
  settleMessageId(message, json, at);
  const { configuration } = message as { configuration?: { returnImmediately: boolean } };
  if (configuration === undefined || isSchemaDialect(json)) return;
  const given = membersOf(json.configuration);
  if (given.blocking === undefined || given.blocking === null) configuration.returnImmediately = true;
};

/** A resource name that the body may repeat although the path names the task. */
const named: MemberForm = {
  name: "name",
  read: (message: Fields, json: unknown, at: Violations) => {
    const resource = typeof json === "string" ? parseResource(json) : undefined;
    if (resource === undefined) at.add("must be a name such as tasks/{id}");
    else message.id = resource.taskId;
  },
};

const pushConfig = (write?: () => undefined): GroupForm => ({
  group: "pushNotificationConfig",
  members: ["id", "url", "token", "authentication"].map((field) => (write === undefined ? field : { field, write })),
});

const readOnly = (field: string): FieldForm => ({ field, write: neverWritten });

const types: FormTables["types"] = {
  "lf.a2a.v1.Part": part,
  "lf.a2a.v1.Message": {
    members: [
      "messageId",
      "contextId",
      "taskId",
      "role",
      { field: "parts", name: "content", also: ["parts"] },
      "metadata",
      "extensions",
      // The contract lacks this field, and readers of the contract are strict.
      readOnly("referenceTaskIds"),
    ],
    settle: settleRole,
  },
  "lf.a2a.v1.TaskStatus": { members: ["state", { field: "message", also: ["update"] }, "timestamp"] },
  "lf.a2a.v1.TaskStatusUpdateEvent": {
    members: [
      "taskId",
      "contextId",
      "status",
      { name: "final", write: (event: Fields) => (isFinal(event) ? "true" : undefined) },
      "metadata",
    ],
  },
  "lf.a2a.v1.SendMessageResponse": { members: ["task", { field: "message", also: ["msg"] }] },
  "lf.a2a.v1.StreamResponse": {
    members: ["task", { field: "message", also: ["msg"] }, "statusUpdate", "artifactUpdate"],
  },
  "lf.a2a.v1.SendMessageRequest": {
    members: [{ field: "message", also: ["request"] }, "configuration", "metadata"],
    settle: settleSend,
  },
  "lf.a2a.v1.SendMessageConfiguration": {
    members: [
      "acceptedOutputModes",
      {
        field: "taskPushNotificationConfig",
        name: "pushNotification",
        also: ["pushNotificationConfig"],
        as: inlinePushConfig,
      },
      "historyLength",
      blocking,
    ],
  },
  "lf.a2a.v1.CancelTaskRequest": { members: [named, readOnly("metadata")] },
  "lf.a2a.v1.SubscribeToTaskRequest": { members: [named] },
  "lf.a2a.v1.AuthenticationInfo": authentication,
  "lf.a2a.v1.TaskPushNotificationConfig": {
    members: [
      {
        name: "name",
        write: ({ taskId, id }: Fields) => quote(configName({ taskId: `${taskId}`, id: `${id}` })),
      },
      readOnly("taskId"),
      // The request may be the configuration, or a wrapper of it, with the names of either dialect.
      { group: "config", members: [readOnly("taskId"), pushConfig(neverWritten), ...bareConfig()] },
      pushConfig(),
      ...bareConfig(),
    ],
    settle: (message, json, at) => {
      settleConfigIds(message, json, at);
      dropEmptyAuthentication(message, json, at);
      if (message.url === "" && !at.isTolerant) at.add("is required", "pushNotificationConfig", "url");
    },
  },
  "lf.a2a.v1.ListTaskPushNotificationConfigsResponse": {
    members: ["configs", "nextPageToken"],
    prepare: (json) => (Array.isArray(json) ? { configs: json } : json),
  },
};

/** Members of a PushNotificationConfig without a wrapper. */
function bareConfig(): MemberForm[] {
  return ["id", "url", "token", "authentication"].map(readOnly);
}

/**
 * The HTTP+JSON of 0.3. It reads the proto's and the schema's dialect, member by member, and writes the proto's, which
 * clients decode strictly.
 */
export const restForm: JsonForm = makeForm({ name: "0.3 REST", types, enums, takesSnakeCase: true });

const wrapped = new Set([
  "SendMessageResponse",
  "StreamResponse",
  "ListTaskPushNotificationConfigsResponse",
  "TaskPushNotificationConfig",
]);

/** Writes the schema's dialect in the same wrappers, for clients that use it. */
export const restSchemaForm: JsonForm = makeForm({
  name: "0.3 REST, schema",
  types: {
    ...schemaTypes,
    ...Object.fromEntries(Object.entries(types).filter(([name]) => wrapped.has(name.replace("lf.a2a.v1.", "")))),
  },
  enums: schemaEnums,
});
