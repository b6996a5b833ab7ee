import type { DescMessage, Message } from "@bufbuild/protobuf";
import {
  AgentCardSchema,
  ListTasksResponseSchema,
  SendMessageResponseSchema,
  StreamResponseSchema,
  TaskSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { answerReader } from "../../wire/json-reader.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { mendSecurity } from "../discovery/card-reader.js";

type OlderJson = Record<string, unknown>;

/** Repairs deviations of some libraries from the contract, by type of the answer. Each may modify its argument. */
const mends: Readonly<Record<string, (json: OlderJson) => OlderJson>> = {
  [AgentCardSchema.typeName]: changed(mendSecurity),
  [SendMessageResponseSchema.typeName]: mendChoice,
  [StreamResponseSchema.typeName]: mendChoice,
  [TaskSchema.typeName]: changed(mendTask),
  [ListTasksResponseSchema.typeName]: changed(({ tasks }) => {
    if (Array.isArray(tasks)) for (const task of tasks) if (isJsonObject(task)) mendTask(task);
  }),
};

function changed(mend: (json: OlderJson) => void): (json: OlderJson) => OlderJson {
  return (json) => {
    mend(json);
    return json;
  };
}

/** Returns a reader of JSON answers in any of the forms that libraries write. It may modify the JSON. */
export function readerOfAnswers(output: DescMessage): (json: unknown) => Message {
  const read = answerReader(output);
  const mend = mends[output.typeName];
  return mend === undefined ? read : (json) => read(isJsonObject(json) ? mend(json) : json);
}

/*
 * Answers of 1.0 servers that kept parts of the older form: LangGraph's server sends events with `kind` in place of the
 * member that names them, and files of 0.3 in their parts. An answer without `kind` costs the check of one member.
 * Answers in neither form are left unchanged.
 */

/** Members of answers by the `kind` of their content. */
const members: Readonly<Record<string, string>> = {
  task: "task",
  message: "message",
  "status-update": "statusUpdate",
  "artifact-update": "artifactUpdate",
};

const names: readonly string[] = Object.values(members);

/** Converts a choice of a send or a stream to the contract's form. May modify it. */
function mendChoice(json: OlderJson): OlderJson {
  const member = memberOfKind(json);
  if (member !== undefined) {
    mendKind(json);
    return { [member]: json };
  }
  for (const name of names) {
    const value = json[name];
    if (isJsonObject(value)) mendTask(value);
  }
  return json;
}

/** Converts a task, or anything else that is not a choice. */
function mendTask(json: OlderJson): void {
  if (memberOfKind(json) !== undefined) mendKind(json);
}

function memberOfKind({ kind }: OlderJson): string | undefined {
  return typeof kind === "string" && Object.hasOwn(members, kind) ? members[kind] : undefined;
}

function mendKind(json: OlderJson): void {
  const { status, artifact, artifacts, history } = json;
  mendMessage(json);
  if (isJsonObject(status)) {
    status.state = enumName(status.state, "TASK_STATE_");
    mendMessage(status.message);
  }
  for (const each of [artifact, ...itemsIn(artifacts)]) if (isJsonObject(each)) mendParts(each);
  for (const each of itemsIn(history)) mendMessage(each);
}

function mendMessage(json: unknown): void {
  if (!isJsonObject(json) || json.role === undefined) return;
  json.role = enumName(json.role, "ROLE_");
  mendParts(json);
}

/** Maps `input-required` to `TASK_STATE_INPUT_REQUIRED`. */
function enumName(value: unknown, prefix: string): unknown {
  const isOlder = typeof value === "string" && /^[a-z-]{1,32}$/.test(value);
  return isOlder ? prefix + value.toUpperCase().replaceAll("-", "_") : value;
}

function mendParts(holder: OlderJson): void {
  for (const part of itemsIn(holder.parts)) {
    if (!isJsonObject(part) || part.kind !== "file" || !isJsonObject(part.file)) continue;
    const { uri: url, bytes: raw, name: filename, mimeType: mediaType } = part.file;
    const content = raw === undefined ? { url } : { raw };
    Object.assign(
      part,
      content,
      filename === undefined ? {} : { filename },
      mediaType === undefined ? {} : { mediaType },
    );
  }
}

const itemsIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
