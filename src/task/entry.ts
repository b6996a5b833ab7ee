import { create } from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";
import {
  type StreamResponse,
  StreamResponseSchema,
  type TaskArtifactUpdateEvent,
  type TaskState,
  type TaskStatusUpdateEvent,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import {
  type ConversationChanges,
  type LogEntry,
  LogEntrySchema,
  type Relay,
  type TurnContext,
} from "../../gen/parley/log/v1/log_pb.js";
import { binaryReader } from "../wire/binary-reader.js";
import { binaryWriter } from "../wire/binary-writer.js";
import { LARGE_BYTES, mark } from "../wire/marks.js";
import { STORED_LEVELS } from "../wire/nesting.js";
import { cacheForms } from "../wire/serialization-cache.js";

/** An event before it has a position in the log. */
export interface Draft {
  readonly event: LogEntry["event"];
  readonly turn?: TurnContext;
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** W3C `traceparent` of the span that wrote it. */
  traceParent?: string;
  /** Set for a pause: position of the message whose turn paused. */
  readonly answers?: number;
  /** Set for an event from another agent's task. */
  readonly relay?: Relay;
  /** Set for an entry of a turn that has changed its conversation's state. */
  readonly changes?: ConversationChanges;
  /** Set for the creation: the requested protocol version; undefined for the service's own. */
  readonly version?: string | undefined;
  /** Bytes that it adds to the JSON of its task (`addedSize`). */
  readonly size: number;
}

/** Entries of at least this many bytes keep their size; smaller ones are quickly measured again. */
const KEPT_SIZE = 4_096;

/**
 * True if the entry counts in the generation: every event that clients can see, that is, all but an accepted message, a
 * step and a note.
 */
export function countsAsGeneration({ case: kind }: LogEntry["event"]): boolean {
  return kind !== "message" && kind !== "step" && kind !== "note";
}

/** Returns the state that an entry sets, or undefined if it leaves the state unchanged. */
export function stateAfter(event: LogEntry["event"]): TaskState | undefined {
  if (event.case !== "created" && event.case !== "status") return undefined;
  return event.value.status?.state;
}

/** Places a draft in the log. */
export function placeDraft(draft: Draft, position: number, generation: number): LogEntry {
  const entry = create(LogEntrySchema);
  entry.position = position;
  entry.generation = generation;
  entry.time = timestampOf(draft.time);
  entry.traceParent = draft.traceParent ?? "";
  entry.event = draft.event;
  if (draft.turn !== undefined) entry.turn = draft.turn;
  if (draft.answers !== undefined) entry.answers = draft.answers;
  if (draft.relay !== undefined) entry.relay = draft.relay;
  if (draft.changes !== undefined) entry.changes = draft.changes;
  if (draft.version !== undefined) entry.version = draft.version;
  if (draft.size >= KEPT_SIZE) entry.size = draft.size;
  return entry;
}

/** Encodes an entry for the store. The bytes never change. */
export const encodeEntry: (entry: LogEntry) => Uint8Array = binaryWriter(LogEntrySchema);

/** Decodes a stored entry. */
export const decodeEntry: (bytes: Uint8Array) => LogEntry = binaryReader(LogEntrySchema, STORED_LEVELS);

/** Converts milliseconds since the epoch to a Timestamp. */
export function timestampOf(ms: number): Timestamp {
  const timestamp = create(TimestampSchema);
  const seconds = Math.floor(ms / 1000);
  timestamp.seconds = BigInt(seconds);
  timestamp.nanos = Math.round((ms - seconds * 1000) * 1_000_000);
  return timestamp;
}

/** Converts a Timestamp to milliseconds since the epoch, rounding down. */
export function millisOf(timestamp: Timestamp | undefined): number {
  if (timestamp === undefined) return 0;
  return Number(timestamp.seconds) * 1000 + Math.floor(timestamp.nanos / 1_000_000);
}

/** Properties that hold an entry's response and, if it is large, its size: a WeakMap costs several times as much. */
const responseKey: unique symbol = Symbol("response");
const sizeKey: unique symbol = Symbol("size");

interface EntryCaches {
  [responseKey]?: StreamResponse;
  [sizeKey]?: number;
}

/** Notes a large entry's size in the store, in bytes, before it is read. */
export function noteSize(entry: LogEntry & EntryCaches, bytes: number): LogEntry {
  if (bytes >= LARGE_BYTES) entry[sizeKey] = bytes;
  return entry;
}

/**
 * Returns an entry's stream response, or undefined if streams do not include it (specification 3.1.2: only status and
 * artifact events follow the task). All readers of an entry share one object.
 */
export function responseOf(entry: LogEntry): StreamResponse | undefined {
  if (entry.event.case !== "status" && entry.event.case !== "artifact") return undefined;
  const shown: LogEntry & EntryCaches = entry;
  const known = shown[responseKey];
  if (known !== undefined) return known;
  const response = cacheForms(mark(eventResponse(entry.event.value), { generation: entry.generation }));
  const bytes = shown[sizeKey];
  if (bytes !== undefined) mark(response, { weight: { bytes, source: entry } });
  shown[responseKey] = response;
  return response;
}

/** Wraps a status or artifact event in a stream response. */
export function eventResponse(event: TaskStatusUpdateEvent | TaskArtifactUpdateEvent): StreamResponse {
  const response = create(StreamResponseSchema);
  response.payload =
    event.$typeName === "lf.a2a.v1.TaskStatusUpdateEvent"
      ? { case: "statusUpdate", value: event }
      : { case: "artifactUpdate", value: event };
  return response;
}
