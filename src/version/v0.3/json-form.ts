import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { Role, TaskStatusUpdateEventSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { membersOf } from "../../core/members.js";
import { expectMessage } from "../../wire/expect-message.js";
import type { Fields, JsonForm, JsonObject } from "../../wire/json-form.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { quote } from "../../wire/json-text.js";
import type { Violations } from "../../wire/violations.js";
import { isLast } from "../ended-events.js";
import { makeForm } from "../forms/make-form.js";
import type {
  BareForm,
  FieldForm,
  FormTables,
  GroupForm,
  MemberForm,
  ObjectForm,
  Settle,
  Variant,
  VariantsForm,
} from "../forms/tables.js";
import { type DataForm, objectData, unwrapData } from "./data-part.js";
import { roleNames, stateNames } from "./names.js";

/** `blocking`, the opposite of `returnImmediately`. A call without it waits. */
export const blocking: FieldForm = {
  field: "returnImmediately",
  name: "blocking",
  isAlways: true,
  write: (value) => (value ? "false" : "true"),
  read: (json, at) => (typeof json === "boolean" ? !json : at.add("must be true or false")),
};

/**
 * A scheme, written as a list with one item. If the list has several items, the first one counts. Some clients send a
 * string instead of the list.
 */
export const authentication: ObjectForm = {
  members: [
    {
      field: "scheme",
      name: "schemes",
      isRequired: true,
      write: (scheme: unknown) => (scheme === "" ? "[]" : `[${quote(`${scheme}`)}]`),
      read: readSchemes,
    },
    "credentials",
  ],
};

function readSchemes(json: unknown, at: Violations): string | undefined {
  const schemes = typeof json === "string" ? [json] : json;
  const isList = Array.isArray(schemes) && schemes.every((scheme) => typeof scheme === "string");
  return isList ? (schemes[0] ?? "") : at.add("must be a list of strings");
}

/** An empty scheme means no authentication. */
export const dropEmptyAuthentication: Settle = (message) => {
  const { authentication: info } = message as { authentication?: { scheme: string } };
  if (info?.scheme === "") message.authentication = undefined;
};

/** Fields of a PushNotificationConfig, which does not contain its task. */
const pushConfigMembers: readonly MemberForm[] = ["id", { field: "url", isRequired: true }, "token", "authentication"];

/** A configuration inside a message's request. */
export const inlinePushConfig: ObjectForm = { members: pushConfigMembers, settle: dropEmptyAuthentication };

/** Rejects a file without content. */
const needsContent =
  (...names: readonly [string, string]): Settle =>
  (message, json, at) => {
    const content = membersOf(message.content);
    const isTried = names.some((name) => json[name] !== undefined && json[name] !== null);
    if (content.case === undefined && !isTried && !at.isTolerant) at.add(`needs ${names.join(" or ")}`);
  };

/** A part with a text. */
export const textVariant: Variant = { cases: ["text"], members: [{ field: "text", isRequired: true }, "metadata"] };

/** Returns the variant of a part with a file, by content or by URL. @param content names of the two members */
export function fileVariant(content: readonly [string, string], members: readonly MemberForm[]): Variant {
  const file: GroupForm = { group: "file", isRequired: true, members, settle: needsContent(...content) };
  return { cases: ["raw", "url"], members: [file, "metadata"] };
}

/** Members of a file's content, which examples call `data`, and of its URL. */
export const fileContent: readonly MemberForm[] = [
  { field: "raw", name: "bytes", also: ["data"] },
  { field: "url", name: "uri" },
];

export const fileNames: readonly MemberForm[] = [
  { field: "filename", name: "name" },
  { field: "mediaType", name: "mimeType" },
];

/** A file in the form of 1.0, which is read but not written. */
const NEWER_FILE = "newer file";

const newerFile: Variant = { cases: [], members: ["raw", "url", "filename", "mediaType", "metadata"] };

/** Default kind of a part: clients of 1.0 that call older methods omit it, as in 1.0. */
function wordIn({ text, file, data, raw, url }: JsonObject): string | undefined {
  if (text !== undefined) return "text";
  if (file !== undefined) return "file";
  if (data !== undefined) return "data";
  return raw === undefined && url === undefined ? undefined : NEWER_FILE;
}

/**
 * Parts name their kind in a member; examples of adjacent versions use each other's member name. A part without either
 * has the kind of its content.
 */
export function partForm(
  [by, other]: readonly [string, string],
  file: readonly MemberForm[],
  { members }: DataForm,
): VariantsForm {
  return {
    oneof: "content",
    by,
    wordOf: (json) => (json[by] ?? json[other] ?? wordIn(json)) as string | undefined,
    expectation: "must be one of text, file, data",
    variants: {
      [NEWER_FILE]: newerFile,
      text: textVariant,
      file: fileVariant(["bytes", "uri"], file),
      data: { cases: ["data"], members, settle: unwrapData },
    },
  };
}

const part = partForm(["kind", "type"], [...fileContent, ...fileNames], objectData);

/** Sets the agent's role, which some agents omit in their answers. */
export const settleRole: Settle = (message, _json, at) => {
  if (at.isTolerant && message.role === Role.UNSPECIFIED) message.role = Role.AGENT;
};

/** Reads the id of the message next to the message, as in a widely copied example. */
export const settleMessageId: Settle = (message, { messageId }) => {
  const { message: sent } = message as { message?: { messageId: string } };
  if (sent?.messageId === "" && typeof messageId === "string") sent.messageId = messageId;
};

/** Written for a missing status. */
const UNKNOWN = '{"state":"unknown"}';

const kinds: Readonly<Record<string, string>> = {
  task: "task",
  message: "message",
  "status-update": "statusUpdate",
  "artifact-update": "artifactUpdate",
};

/** Kind of a response, which some writers omit. */
function caseOf(json: unknown): string | undefined {
  if (!isJsonObject(json)) return undefined;
  const { kind } = json;
  if (typeof kind === "string") return Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (json.artifact !== undefined) return "artifactUpdate";
  if (json.messageId !== undefined || json.parts !== undefined) return "message";
  if (json.status === undefined) return undefined;
  return json.taskId === undefined ? "task" : "statusUpdate";
}

const payload = (expectation: string): BareForm => ({ bare: "payload", caseOf, expectation });

export const isFinal = (event: Fields): boolean => isLast(expectMessage(TaskStatusUpdateEventSchema, event));

const taskId: FieldForm = { field: "taskId", name: "id", isRequired: true };
const configId = { field: "id", name: "pushNotificationConfigId" } satisfies FieldForm;

const objects: Readonly<Record<string, readonly MemberForm[]>> = {
  Task: [
    { constant: "kind", value: "task" },
    "id",
    { field: "contextId", isAlways: true },
    { field: "status", absent: UNKNOWN },
    "artifacts",
    "history",
    "metadata",
  ],
  TaskStatusUpdateEvent: [
    { constant: "kind", value: "status-update" },
    "taskId",
    "contextId",
    { field: "status", absent: UNKNOWN },
    { name: "final", write: (event: Fields) => (isFinal(event) ? "true" : "false") },
    "metadata",
  ],
  TaskArtifactUpdateEvent: [
    { constant: "kind", value: "artifact-update" },
    "taskId",
    "contextId",
    "artifact",
    "append",
    "lastChunk",
    "metadata",
  ],
  SendMessageConfiguration: [
    { field: "acceptedOutputModes", isAlways: true },
    "historyLength",
    { field: "taskPushNotificationConfig", name: "pushNotificationConfig", as: inlinePushConfig },
    blocking,
  ],
  GetTaskRequest: ["id", "historyLength"],
  CancelTaskRequest: ["id", "metadata"],
  SubscribeToTaskRequest: ["id"],
  TaskPushNotificationConfig: [
    { field: "taskId", isAlways: true, isRequired: true },
    {
      group: "pushNotificationConfig",
      isRequired: true,
      members: pushConfigMembers,
      settle: dropEmptyAuthentication,
    },
  ],
  GetTaskPushNotificationConfigRequest: [taskId, { ...configId, isAlways: false }],
  DeleteTaskPushNotificationConfigRequest: [taskId, { ...configId, isRequired: true }],
  ListTaskPushNotificationConfigsRequest: [taskId],
};

const types: FormTables["types"] = {
  ...Object.fromEntries(Object.entries(objects).map(([name, members]) => [`lf.a2a.v1.${name}`, { members }])),
  "lf.a2a.v1.Message": {
    members: [
      { constant: "kind", value: "message" },
      "messageId",
      "role",
      "parts",
      "contextId",
      "taskId",
      "referenceTaskIds",
      "extensions",
      "metadata",
    ],
    settle: settleRole,
  },
  "lf.a2a.v1.Part": part,
  "lf.a2a.v1.SendMessageRequest": { members: ["message", "configuration", "metadata"], settle: settleMessageId },
  "lf.a2a.v1.AuthenticationInfo": authentication,
  "lf.a2a.v1.SendMessageResponse": payload("must be a task or a message"),
  "lf.a2a.v1.StreamResponse": payload("must be a task, a message, a status-update or an artifact-update"),
  "lf.a2a.v1.ListTaskPushNotificationConfigsResponse": { bare: "configs" },
  "google.protobuf.Empty": { write: () => "null", read: () => create(EmptySchema) },
};

const enums: NonNullable<FormTables["enums"]> = { "lf.a2a.v1.Role": roleNames, "lf.a2a.v1.TaskState": stateNames };

/** Types that are equal over HTTP+JSON in the schema's dialect, where results and events are wrapped. */
export const schemaTypes: FormTables["types"] = types;
export const schemaEnums: NonNullable<FormTables["enums"]> = enums;

/** The JSON of the 0.3 schema, for JSON-RPC and notifications, read and written from messages of 1.0. */
export const schemaForm: JsonForm = makeForm({ name: "0.3", types, enums });
