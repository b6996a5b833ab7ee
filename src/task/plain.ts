import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Artifact, type Message, type Part, Role, type Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { jsonOf } from "../wire/json-value.js";

/**
 * The content of messages, artifacts and tasks as plain values: texts, JSON and files. Authors and callers need no
 * other form of it.
 */

/** A file: its bytes, or the URL of its content, which is untrusted (specification 14.1.1). */
export interface PlainFile {
  readonly bytes?: Uint8Array;
  readonly url?: string;
  /** Name, such as `report.pdf`. Untrusted: it may contain a path. */
  readonly name?: string;
  /** Media type, such as `image/png`. */
  readonly mediaType?: string;
}

/**
 * One part of a message or artifact as a plain value (specification 4.1.6): exactly one of `text`, `data` and `file`.
 * The media type of a file is in the file.
 */
export type PlainPart = {
  readonly mediaType?: string;
  readonly metadata?: JsonObject;
} & (
  | { readonly text: string; readonly data?: undefined; readonly file?: undefined }
  | { readonly data: JsonValue; readonly text?: undefined; readonly file?: undefined }
  | { readonly file: PlainFile; readonly text?: undefined; readonly data?: undefined }
);

/** A part with its content as plain values: one of `text`, `data` and `file` is set. Copies by spread lack them. */
export type ReadablePart = Part & {
  readonly text: string | undefined;
  readonly data: JsonValue | undefined;
  readonly file: PlainFile | undefined;
};

/** A message whose parts have plain values. */
export type ReadableMessage = Omit<Message, "parts"> & { parts: ReadablePart[] };

/** An artifact whose parts have plain values. */
export type ReadableArtifact = Omit<Artifact, "parts"> & { parts: ReadablePart[] };

/** A task whose messages and artifacts have parts with plain values. */
export type ReadableTask = Omit<Task, "status" | "artifacts" | "history"> & {
  status?: (Omit<NonNullable<Task["status"]>, "message"> & { message?: ReadableMessage | undefined }) | undefined;
  artifacts: ReadableArtifact[];
  history: ReadableMessage[];
};

/** A list of parts with their owner's other fields. */
interface WithParts {
  readonly parts: readonly (Part | PlainPart)[];
}

/** An answer or a finished sub-task: a task or a message. */
interface TaskOrMessage {
  readonly task: Pick<Task, "artifacts" | "status"> | undefined;
  readonly message: WithParts | undefined;
}

/**
 * Anything with content: a message, an artifact, a task, a turn, an answer, an update or a message of a conversation.
 */
export type WithContent = WithParts | Pick<Task, "artifacts" | "status"> | TaskOrMessage | undefined;

/**
 * Returns the text of anything with content. Of a message: its text parts, joined by line feeds. Of an artifact: its
 * text parts as they were streamed. Of a task: its artifacts with text, separated by line feeds; without any, the
 * agent's message of its status. Empty without text.
 */
export function textOf(of: WithContent): string {
  if (of === undefined) return "";
  if ("text" in of && typeof of.text === "string") return of.text;
  if ("parts" in of) return joinedText(of.parts, "artifactId" in of ? "" : "\n");
  if (!("artifacts" in of)) return textOf(of.message ?? of.task);
  const texts = of.artifacts.map(textOf).filter((text) => text !== "");
  return texts.length > 0 ? texts.join("\n") : textOf(statusMessage(of));
}

/** Returns the data parts of anything with content; of a task those of its artifacts, or else of its status. */
export function dataOf(of: WithContent): JsonValue[] {
  return valuesOf(of, dataIn);
}

/** Returns the files of anything with content; of a task those of its artifacts, or else of its status. */
export function filesOf(of: WithContent): PlainFile[] {
  return valuesOf(of, fileIn);
}

/** Returns all parts of anything with content; of a task those of its artifacts, or else of its status. */
export function partsOf(of: WithContent): PlainPart[] {
  return valuesOf(of, plainPart);
}

function joinedText(parts: WithParts["parts"], separator: string): string {
  let text: string | undefined;
  for (const part of parts) {
    const more = textOfPart(part);
    if (more !== undefined) text = text === undefined ? more : text + separator + more;
  }
  return text ?? "";
}

function valuesOf<T>(of: WithContent, valueIn: (part: Part | PlainPart) => T | undefined): T[] {
  if (of === undefined) return [];
  if ("parts" in of) return of.parts.map(valueIn).filter((value) => value !== undefined);
  if (!("artifacts" in of)) return valuesOf(of.message ?? of.task, valueIn);
  const values = of.artifacts.flatMap((artifact) => valuesOf(artifact, valueIn));
  return values.length > 0 ? values : valuesOf(statusMessage(of), valueIn);
}

/** Returns the agent's message of a task's status. Some servers put the client's there. */
function statusMessage({ status }: Pick<Task, "status">): Message | undefined {
  return status?.message?.role === Role.USER ? undefined : status?.message;
}

function textOfPart(part: Part | PlainPart): string | undefined {
  if (!("content" in part)) return part.text;
  return part.content.case === "text" ? part.content.value : undefined;
}

function dataIn(part: Part | PlainPart): JsonValue | undefined {
  if (!("content" in part)) return part.data;
  return part.content.case === "data" ? jsonOf(part.content.value) : undefined;
}

function fileIn(part: Part | PlainPart): PlainFile | undefined {
  if (!("content" in part)) return part.file;
  const { content, filename, mediaType } = part;
  if (content.case !== "raw" && content.case !== "url") return undefined;
  return {
    ...(content.case === "raw" ? { bytes: content.value } : { url: content.value }),
    ...(filename !== "" && { name: filename }),
    ...(mediaType !== "" && { mediaType }),
  };
}

/** Returns a part as a plain value; undefined for a kind that this version does not know. */
function plainPart(part: Part | PlainPart): PlainPart | undefined {
  if (!("content" in part)) return part;
  const { mediaType, metadata } = part;
  const more = metadata === undefined ? {} : { metadata };
  const file = fileIn(part);
  if (file !== undefined) return { file, ...more };
  const typed = mediaType === "" ? more : { ...more, mediaType };
  const text = textOfPart(part);
  if (text !== undefined) return { text, ...typed };
  const data = dataIn(part);
  return data === undefined ? undefined : { data, ...typed };
}

/** The prototype of readable parts. Its getters are not enumerable, so serialization and copies ignore them. */
const readablePart: object = {
  get text(): string | undefined {
    return textOfPart(this as unknown as Part);
  },
  get data(): JsonValue | undefined {
    return dataIn(this as unknown as Part);
  },
  get file(): PlainFile | undefined {
    return fileIn(this as unknown as Part);
  },
};

/** Creates a part without fields, to be filled by a copy. */
export function newReadablePart(): object {
  return Object.create(readablePart);
}

/** Makes the parts of a message or artifact readable, in place. */
export function readable<T extends Message | Artifact>(of: T): Omit<T, "parts"> & { parts: ReadablePart[] } {
  for (const part of of.parts) Object.setPrototypeOf(part, readablePart);
  return of as T & { parts: ReadablePart[] };
}

/** Makes the parts of a task readable, in place. */
export function readableTask(task: Task): ReadableTask {
  if (task.status?.message !== undefined) readable(task.status.message);
  task.history.forEach(readable);
  task.artifacts.forEach(readable);
  return task as ReadableTask;
}
