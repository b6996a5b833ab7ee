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

type Json = Record<string, unknown>;

/** What libraries write otherwise than the contract has it, by the kind of the answer. Each may change what it is given. */
const mends: Readonly<Record<string, (json: Json) => Json>> = {
  [AgentCardSchema.typeName]: changed(mendSecurity),
  [SendMessageResponseSchema.typeName]: mendChoice,
  [StreamResponseSchema.typeName]: mendChoice,
  [TaskSchema.typeName]: changed(mendTask),
  [ListTasksResponseSchema.typeName]: changed(({ tasks }) => {
    if (Array.isArray(tasks)) for (const task of tasks) if (isJsonObject(task)) mendTask(task);
  }),
};

function changed(mend: (json: Json) => void): (json: Json) => Json {
  return (json) => {
    mend(json);
    return json;
  };
}

/** Reads answers of a kind from JSON, which becomes the reader's, in any of the forms that libraries write. */
export function readerOfAnswers(output: DescMessage): (json: unknown) => Message {
  const read = answerReader(output);
  const mend = mends[output.typeName];
  return mend === undefined ? read : (json) => read(isJsonObject(json) ? mend(json) : json);
}

/*
 * Answers as servers of 1.0 write them that have kept some of the form before it: LangGraph's sends events with `kind` in place of the
 * member that names them, and files of 0.3 in their parts. An answer without `kind` costs a look at one member. What has neither form
 * is left as it is.
 */

/** Members of answers by the `kind` of what is in them. */
const members: Readonly<Record<string, string>> = {
  task: "task",
  message: "message",
  "status-update": "statusUpdate",
  "artifact-update": "artifactUpdate",
};

const names: readonly string[] = Object.values(members);

/** Puts one of several kinds, of a send or of a stream, into the form of the contract. May change it. */
function mendChoice(json: Json): Json {
  const member = memberOf(json);
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

/** The same for a task, or anything else that is not one of several. */
function mendTask(json: Json): void {
  if (memberOf(json) !== undefined) mendKind(json);
}

function memberOf({ kind }: Json): string | undefined {
  return typeof kind === "string" && Object.hasOwn(members, kind) ? members[kind] : undefined;
}

function mendKind(json: Json): void {
  const { status, artifact, artifacts, history } = json;
  mendMessage(json);
  if (isJsonObject(status)) {
    status.state = named(status.state, "TASK_STATE_");
    mendMessage(status.message);
  }
  for (const each of [artifact, ...listOf(artifacts)]) if (isJsonObject(each)) mendParts(each);
  for (const each of listOf(history)) mendMessage(each);
}

function mendMessage(json: unknown): void {
  if (!isJsonObject(json) || json.role === undefined) return;
  json.role = named(json.role, "ROLE_");
  mendParts(json);
}

/** `input-required` is `TASK_STATE_INPUT_REQUIRED`. */
function named(value: unknown, prefix: string): unknown {
  const isOlder = typeof value === "string" && /^[a-z-]{1,32}$/.test(value);
  return isOlder ? prefix + value.toUpperCase().replaceAll("-", "_") : value;
}

function mendParts(holder: Json): void {
  for (const part of listOf(holder.parts)) {
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

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
