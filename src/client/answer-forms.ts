import { isJsonObject } from "../wire/json-struct.js";

type Json = Record<string, unknown>;

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
export function mendChoice(json: Json): Json {
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
export function mendTask(json: Json): void {
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
