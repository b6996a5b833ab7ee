import { createHash } from "node:crypto";
import type { JsonValue } from "@bufbuild/protobuf";
import { A2AError } from "../../../core/error.js";
import type { Update } from "../../../task/answer.js";
import { type PlainPart, partsOf } from "../../../task/plain.js";
import { stateName } from "../../../task/state-name.js";
import { isJsonObject } from "../../../wire/json-struct.js";
import type { Failure } from "../errors.js";

/** A part of an answer. Of files, only the hash and size are kept. */
export type RecordedPart =
  | { readonly text: string; readonly mediaType?: string }
  | { readonly data: JsonValue; readonly mediaType?: string }
  | {
      readonly name: string;
      readonly mediaType: string;
      readonly url?: string;
      readonly size?: number;
      readonly sha256?: string;
    };

/** An answer to a turn, without ids and times, which differ each time. */
export interface RecordedAnswer {
  /** State of the task, such as COMPLETED; null for a message without a task, or an error. */
  readonly state: string | null;
  /** The message: the agent's own, or that of the task's state. */
  readonly message: readonly RecordedPart[];
  readonly artifacts: readonly { readonly name: string; readonly parts: readonly RecordedPart[] }[];
  /** Code of the error that the turn failed with. */
  readonly error: string | null;
}

/** Returns the content of an answer. @param last its last update; undefined without one */
export function answerIn(last: Update | undefined): RecordedAnswer {
  const task = last?.task;
  return {
    state: task === undefined ? null : stateName(task.status?.state),
    message: recorded(partsOf(task === undefined ? last?.message : task.status?.message)),
    artifacts: task?.artifacts.map((each) => ({ name: each.name, parts: recorded(partsOf(each)) })) ?? [],
    error: null,
  };
}

/** Reads the answer of a recording; undefined for anything else. */
export function recordedAnswerIn(json: unknown): RecordedAnswer | undefined {
  if (!isJsonObject(json)) return undefined;
  const { state = null, message, artifacts, error = null } = json;
  if (![state, error].every((each) => each === null || typeof each === "string")) return undefined;
  const areArtifacts =
    Array.isArray(artifacts) &&
    artifacts.every((each) => isJsonObject(each) && typeof each.name === "string" && areParts(each.parts));
  if (!areParts(message) || !areArtifacts) return undefined;
  return { state, message, artifacts, error } as RecordedAnswer;
}

function areParts(json: unknown): boolean {
  const isPart = (part: unknown): boolean =>
    isJsonObject(part) && ("data" in part || [part.text, part.name].some((each) => typeof each === "string"));
  return Array.isArray(json) && json.every(isPart);
}

/** True for a failure that is the agent's answer to a message, not one of the way to it or of the wait. */
export function isAnswer({ exit, cause }: Failure): boolean {
  return exit === 1 && cause instanceof A2AError && cause.reason !== "CANCELLED";
}

export const failed = (code: string): RecordedAnswer => ({ state: null, message: [], artifacts: [], error: code });

/** Texts that follow each other are one: agents divide them as they come. */
function recorded(parts: readonly PlainPart[]): readonly RecordedPart[] {
  const all: RecordedPart[] = [];
  for (const { text, data, file, mediaType = "" } of parts) {
    const last = all.at(-1);
    const typed = mediaType === "" ? {} : { mediaType };
    const isMore = last !== undefined && "text" in last && (last.mediaType ?? "") === mediaType;
    if (text !== undefined && isMore) all[all.length - 1] = { text: last.text + text, ...typed };
    else if (text !== undefined) all.push({ text, ...typed });
    else if (data !== undefined) all.push({ data, ...typed });
    else if (file !== undefined) all.push(recordedFile(file));
  }
  return all;
}

function recordedFile({ name = "", mediaType = "", url, bytes }: NonNullable<PlainPart["file"]>): RecordedPart {
  if (bytes === undefined) return { name, mediaType, ...(url !== undefined && { url }) };
  return { name, mediaType, size: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
}

/** Returns an answer as lines for a comparison, with its artifacts by name. @param isShape true to leave out what texts, data and files hold */
export function linesOf({ state, message, artifacts, error }: RecordedAnswer, isShape: boolean): readonly string[] {
  if (error !== null) return [`Error: ${error}`];
  const parts = (all: readonly RecordedPart[]): string[] => all.flatMap((part) => partLines(part, isShape));
  const byName = artifacts.toSorted((one, other) => (one.name < other.name ? -1 : Number(one.name > other.name)));
  return [
    ...(state === null ? [] : [`State: ${state}`]),
    ...(message.length === 0 ? [] : ["Message:", ...parts(message)]),
    ...byName.flatMap(({ name, parts: own }) => [`Artifact ${JSON.stringify(name)}:`, ...parts(own)]),
  ];
}

function partLines(part: RecordedPart, isShape: boolean): string[] {
  if ("text" in part || "data" in part) {
    const { mediaType = "" } = part;
    const kind = `  (${"text" in part ? "text" : "data"})${mediaType && ` ${mediaType}`}`;
    if (isShape) return [kind];
    const content = "text" in part ? part.text : JSON.stringify(sorted(withoutFormId(part.data)), null, 2);
    const lines = content.split("\n").map((line) => `  ${line}`);
    return mediaType === "" ? lines : [kind, ...lines];
  }
  const { name, mediaType, ...content } = part;
  return [`  (file) ${JSON.stringify(name)} ${mediaType}${isShape ? "" : ` ${JSON.stringify(content)}`}`];
}

/** The order of members says nothing. */
function sorted(json: JsonValue): JsonValue {
  if (Array.isArray(json)) return json.map(sorted);
  if (!isJsonObject(json)) return json;
  const members = Object.entries(json).map(([name, value]) => [name, sorted(value)] as const);
  return Object.fromEntries(members.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** The id of a form differs each time. */
function withoutFormId(data: JsonValue): JsonValue {
  if (!isJsonObject(data) || data.type !== "form") return data;
  const { id: _, ...rest } = data;
  return rest as JsonValue;
}
