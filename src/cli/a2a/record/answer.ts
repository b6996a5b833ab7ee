import { createHash } from "node:crypto";
import type { JsonValue } from "@bufbuild/protobuf";
import type { Update } from "../../../task/answer.js";
import { type PlainPart, partsOf } from "../../../task/plain.js";
import { isJsonObject } from "../../../wire/json-struct.js";
import { stateName } from "../text.js";

/** A part of an answer. Files are kept by what they hold, not as a whole. */
export type RecordedPart =
  | { readonly text: string }
  | { readonly data: JsonValue }
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

/** Returns what an answer holds. @param last its last update; undefined if there was none */
export function answerIn(last: Update | undefined): RecordedAnswer {
  const task = last?.task;
  return {
    state: task === undefined ? null : stateName(task.status?.state),
    message: recorded(partsOf(task === undefined ? last?.message : task.status?.message)),
    artifacts: task?.artifacts.map((each) => ({ name: each.name, parts: recorded(partsOf(each)) })) ?? [],
    error: null,
  };
}

export const failed = (code: string): RecordedAnswer => ({ state: null, message: [], artifacts: [], error: code });

/** Texts that follow each other are one: agents divide them as they come. */
function recorded(parts: readonly PlainPart[]): readonly RecordedPart[] {
  const all: RecordedPart[] = [];
  for (const { text, data, file } of parts) {
    const last = all.at(-1);
    if (text !== undefined && last !== undefined && "text" in last) all[all.length - 1] = { text: last.text + text };
    else if (text !== undefined) all.push({ text });
    else if (data !== undefined) all.push({ data });
    else if (file !== undefined) all.push(recordedFile(file));
  }
  return all;
}

function recordedFile({ name = "", mediaType = "", url, bytes }: NonNullable<PlainPart["file"]>): RecordedPart {
  if (bytes === undefined) return { name, mediaType, ...(url !== undefined && { url }) };
  return { name, mediaType, size: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
}

/** Returns an answer as lines for a comparison. @param isShape true to leave out what texts, data and files hold */
export function linesOf({ state, message, artifacts, error }: RecordedAnswer, isShape: boolean): readonly string[] {
  if (error !== null) return [`Error: ${error}`];
  const parts = (all: readonly RecordedPart[]): string[] => all.flatMap((part) => partLines(part, isShape));
  return [
    ...(state === null ? [] : [`State: ${state}`]),
    ...(message.length === 0 ? [] : ["Message:", ...parts(message)]),
    ...artifacts.flatMap(({ name, parts: own }) => [`Artifact ${JSON.stringify(name)}:`, ...parts(own)]),
  ];
}

function partLines(part: RecordedPart, isShape: boolean): string[] {
  if ("text" in part) return isShape ? ["  (text)"] : part.text.split("\n").map((line) => `  ${line}`);
  if ("data" in part) {
    if (isShape) return ["  (data)"];
    return JSON.stringify(withoutFormId(part.data), null, 2)
      .split("\n")
      .map((line) => `  ${line}`);
  }
  const { name, mediaType, ...content } = part;
  return [`  (file) ${JSON.stringify(name)} ${mediaType}${isShape ? "" : ` ${JSON.stringify(content)}`}`];
}

/** The id of a form differs each time. */
function withoutFormId(data: JsonValue): JsonValue {
  if (!isJsonObject(data) || data.type !== "form") return data;
  const { id: _, ...rest } = data;
  return rest as JsonValue;
}
