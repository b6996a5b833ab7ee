import type { JsonValue } from "@bufbuild/protobuf";
import { clientError } from "../../client/errors/errors.js";
import { A2AError, type Reason } from "../../core/error.js";
import type { Answer } from "../../task/answer.js";
import { type PlainPart, partsOf } from "../../task/plain.js";
import { stateName } from "../../task/state-name.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { agentCodes } from "../agent-codes.js";

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
export async function answerIn(last: Pick<Answer, "task" | "message"> | undefined): Promise<RecordedAnswer> {
  const task = last?.task;
  const artifacts = task?.artifacts.map(async (each) => ({ name: each.name, parts: await recorded(partsOf(each)) }));
  return {
    state: task === undefined ? null : stateName(task.status?.state),
    message: await recorded(partsOf(task === undefined ? last?.message : task.status?.message)),
    artifacts: await Promise.all(artifacts ?? []),
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

/** Errors of the way to an agent, or of the wait for it. */
const unanswered: ReadonlySet<Reason> = new Set<Reason>([
  "CANCELLED",
  "UNAUTHENTICATED",
  "PERMISSION_DENIED",
  "UNAVAILABLE",
  "DEADLINE_EXCEEDED",
]);

/** Returns the answer that an error is; undefined for an error of the way to the agent or of the wait. */
export function errorAnswer(thrown: unknown): RecordedAnswer | undefined {
  const isOfCall = thrown instanceof A2AError || (thrown instanceof Error && thrown.name === "ConnectError");
  if (!isOfCall) return undefined;
  const { reason } = clientError(thrown);
  if (unanswered.has(reason)) return undefined;
  return { state: null, message: [], artifacts: [], error: agentCodes[reason]?.[0] ?? "A2ACLI_ERR_INTERNAL" };
}

/** Returns the parts for a recording. Consecutive texts are joined, because agents divide them arbitrarily. */
async function recorded(parts: readonly PlainPart[]): Promise<readonly RecordedPart[]> {
  const all: RecordedPart[] = [];
  for (const { text, data, file, mediaType = "" } of parts) {
    const last = all.at(-1);
    const typed = mediaType === "" ? {} : { mediaType };
    const isMore = last !== undefined && "text" in last && (last.mediaType ?? "") === mediaType;
    if (text !== undefined && isMore) all[all.length - 1] = { text: last.text + text, ...typed };
    else if (text !== undefined) all.push({ text, ...typed });
    else if (data !== undefined) all.push({ data, ...typed });
    else if (file !== undefined) all.push(await recordedFile(file));
  }
  return all;
}

async function recordedFile({
  name = "",
  mediaType = "",
  url,
  bytes,
}: NonNullable<PlainPart["file"]>): Promise<RecordedPart> {
  if (bytes === undefined) return { name, mediaType, ...(url !== undefined && { url }) };
  return { name, mediaType, size: bytes.length, sha256: await sha256(bytes) };
}

async function sha256(bytes: Uint8Array): Promise<string> {
  // Browsers have it over https and on this machine only.
  if (crypto.subtle === undefined) throw new Error("Files cannot be hashed: open the page over https or on localhost.");
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
