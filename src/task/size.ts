import type { JsonValue } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import type { Artifact, Message, Part, Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import { utf8LengthOf } from "../core/bytes.js";
import { defined } from "../core/members.js";

/**
 * Sizes of messages in their widest wire form, JSON in UTF-8, in bytes: upper bounds close to the actual size. They are
 * computed from an entry's texts when it is accepted, so a task's size is known without serializing it.
 */

/**
 * Bytes of the names, brackets and commas around the values of a message, an artifact, a part, a task with its status.
 */
const MESSAGE = 192;
const ARTIFACT = 128;
const PART = 80;
const TASK = 320;

/** The longest number in JSON. */
const NUMBER = 25;

// Texts that JSON does not lengthen. Matching the whole text costs a fraction of examining each character.
const plainAscii = /^[ !#-[\]-~]*$/;

// Characters escaped in event streams only, which adds at most four bytes.
const lineEnds = /[\u0085\u2028\u2029]/g;

/**
 * A long text is matched in slices of this many characters. The first run of a regular expression in V8, and a run
 * after a pause, is about thirty times slower than later ones: 20 ms for a text of 256 KiB.
 */
const SLICE = 4_096;

/**
 * Returns the size of a text as a JSON string, in bytes of UTF-8, with every escape used anywhere (SSE escapes line
 * ends, too).
 */
export function textSize(text: string): number {
  if (text.length <= SLICE) return sliceSize(text);
  let size = 2;
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + SLICE, text.length);
    // Half a surrogate pair would be counted as an escape.
    if (to < text.length && (text.charCodeAt(to) & 0xfc00) === 0xdc00) to--;
    size += sliceSize(text.slice(from, to)) - 2;
    from = to;
  }
  return size;
}

function sliceSize(text: string): number {
  if (plainAscii.test(text)) return text.length + 2;
  const json = JSON.stringify(text);
  const size = utf8LengthOf(json);
  if (size === json.length) return size;
  return size + 4 * (text.match(lineEnds)?.length ?? 0);
}

/** Returns the size of any JSON value. */
function jsonSize(value: JsonValue): number {
  switch (typeof value) {
    case "string":
      return textSize(value) + 1;
    case "number":
      return NUMBER;
    case "boolean":
      return 6;
    default:
      if (value === null) return 5;
      if (Array.isArray(value)) return value.reduce((size: number, item) => size + jsonSize(item), 3);
      return objectSize(value);
  }
}

/** Returns the size of a JSON object. */
export function objectSize(members: { readonly [name: string]: JsonValue }): number {
  let size = 3;
  for (const name of Object.keys(members)) size += memberSize(name, defined(members[name]));
  return size;
}

/** Returns the size of a member of a JSON object. */
export function memberSize(name: string, value: JsonValue): number {
  return textSize(name) + 1 + jsonSize(value);
}

function valueSize({ kind }: Value): number {
  switch (kind.case) {
    case "stringValue":
      return textSize(kind.value) + 1;
    case "structValue": {
      let size = 3;
      const { fields } = kind.value;
      for (const name of Object.keys(fields)) size += textSize(name) + 1 + valueSize(defined(fields[name]));
      return size;
    }
    case "listValue":
      return kind.value.values.reduce((size, item) => size + valueSize(item), 3);
    default:
      return NUMBER;
  }
}

function textsSize(texts: readonly string[]): number {
  let size = 0;
  for (const text of texts) size += textSize(text) + 1;
  return size;
}

/** Returns the size of a part. */
export function partSize({ content, metadata, mediaType, filename }: Part): number {
  let size = PART;
  if (mediaType !== "") size += textSize(mediaType);
  if (filename !== "") size += textSize(filename);
  if (metadata !== undefined) size += objectSize(metadata);
  switch (content.case) {
    case "text":
    case "url":
      return size + textSize(content.value);
    case "raw":
      return size + Math.ceil(content.value.length / 3) * 4;
    case "data":
      return size + valueSize(content.value);
    default:
      return size;
  }
}

function partsSize(parts: readonly Part[]): number {
  let size = 0;
  for (const part of parts) size += partSize(part);
  return size;
}

/** Returns the size of a message of a history or a status. */
export function messageSize(message: Message): number {
  const { messageId, contextId, taskId, metadata, extensions, referenceTaskIds } = message;
  let size = MESSAGE + textSize(messageId) + textSize(contextId) + textSize(taskId) + partsSize(message.parts);
  if (metadata !== undefined) size += objectSize(metadata);
  if (extensions.length > 0) size += textsSize(extensions);
  if (referenceTaskIds.length > 0) size += textsSize(referenceTaskIds);
  return size;
}

/** Returns the size of an artifact, or of a chunk of one. */
export function artifactSize(artifact: Artifact): number {
  return ARTIFACT + textSize(artifact.artifactId) + chunkSize(artifact);
}

/** Returns the bytes that a chunk adds to an existing artifact: its parts and changed fields. */
export function chunkSize(chunk: Artifact): number {
  let size = partsSize(chunk.parts);
  if (chunk.name !== "") size += textSize(chunk.name);
  if (chunk.description !== "") size += textSize(chunk.description);
  if (chunk.metadata !== undefined) size += objectSize(chunk.metadata);
  if (chunk.extensions.length > 0) size += textsSize(chunk.extensions);
  return size;
}

/** Returns the size of a whole task. */
export function taskSize(task: Task): number {
  let size = frameSize(task);
  for (const message of task.history) size += messageSize(message);
  for (const artifact of task.artifacts) size += artifactSize(artifact);
  const statusMessage = task.status?.message;
  return statusMessage === undefined ? size : size + messageSize(statusMessage);
}

/** Returns the size of a task without its history, artifacts and status message. */
export function frameSize({ id, contextId, metadata }: Task): number {
  return TASK + textSize(id) + textSize(contextId) + (metadata === undefined ? 0 : objectSize(metadata));
}

/** Returns the maximum that an event adds to its task; a status message counts in the status and in the history. */
export function addedSize(event: LogEntry["event"]): number {
  switch (event.case) {
    case "created":
      return taskSize(event.value);
    case "message":
      return messageSize(event.value);
    case "status": {
      const { status, metadata } = event.value;
      const size = status?.message === undefined ? 0 : messageSize(status.message);
      return metadata === undefined ? size : size + objectSize(metadata);
    }
    case "artifact": {
      const chunk = event.value.artifact;
      if (chunk === undefined) return 0;
      return event.value.append ? chunkSize(chunk) : artifactSize(chunk);
    }
    default:
      return 0;
  }
}
