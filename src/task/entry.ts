import { create, fromBinary } from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";
import {
  type StreamResponse,
  StreamResponseSchema,
  type TaskArtifactUpdateEvent,
  type TaskState,
  type TaskStatusUpdateEvent,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type LogEntry, LogEntrySchema, type Relay, type TurnContext } from "../../gen/parley/log/v1/log_pb.js";
import { STORED_LEVELS } from "../core/nesting.js";
import { binaryWriter } from "../wire/binary-writer.js";
import { LARGE_BYTES, mark } from "../wire/marks.js";
import { cacheForms } from "../wire/serialization-cache.js";

/** What happened, before it has its place in the log. */
export interface Draft {
  readonly event: LogEntry["event"];
  readonly turn?: TurnContext;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly traceParent?: string;
  /** With a pause: position of the message whose turn it is. */
  readonly answers?: number;
  /** With what comes from another agent's task. */
  readonly relay?: Relay;
  /** With the creation: the version of the protocol that it was asked for in; undefined for the service's own. */
  readonly version?: string | undefined;
  /** What it adds to the JSON of its task, in bytes (`addedSize`). */
  readonly size: number;
}

/** Kept with an entry from here on, in bytes: smaller ones are counted again in no time. */
const KEPT_SIZE = 4_096;

/** Whether the entry counts in the generation: every event a client can see, so all but an accepted message. */
export function countsAsGeneration(event: LogEntry["event"]): boolean {
  return event.case !== "message";
}

/** The state an entry puts its task into, or undefined when it leaves the state as it was. */
export function stateAfter(event: LogEntry["event"]): TaskState | undefined {
  if (event.case !== "created" && event.case !== "status") return undefined;
  return event.value.status?.state;
}

/** A draft at its place in the log. */
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
  if (draft.version !== undefined) entry.version = draft.version;
  if (draft.size >= KEPT_SIZE) entry.size = draft.size;
  return entry;
}

/** The bytes that are stored; they never change afterwards. */
export const encodeEntry: (entry: LogEntry) => Uint8Array = binaryWriter(LogEntrySchema);

/** How what was stored is read. */
export const storedDepth: { readonly recursionLimit: number } = { recursionLimit: STORED_LEVELS };

/** A stored entry. */
export function decodeEntry(bytes: Uint8Array): LogEntry {
  return fromBinary(LogEntrySchema, bytes, storedDepth);
}

/** Milliseconds since the epoch as a Timestamp. */
export function timestampOf(ms: number): Timestamp {
  const timestamp = create(TimestampSchema);
  const seconds = Math.floor(ms / 1000);
  timestamp.seconds = BigInt(seconds);
  timestamp.nanos = Math.round((ms - seconds * 1000) * 1_000_000);
  return timestamp;
}

/** A Timestamp in milliseconds since the epoch; what is finer than a millisecond is cut off. */
export function millisOf(timestamp: Timestamp | undefined): number {
  if (timestamp === undefined) return 0;
  return Number(timestamp.seconds) * 1000 + Math.floor(timestamp.nanos / 1_000_000);
}

/** Where an entry keeps its response, and its size if it is large: a WeakMap costs several times as much. */
const responseKey: unique symbol = Symbol("response");
const sizeKey: unique symbol = Symbol("size");

interface Shown {
  [responseKey]?: StreamResponse;
  [sizeKey]?: number;
}

/** Notes on an entry how many bytes it has in the store, where they are many. Before it is read. */
export function noteSize(entry: LogEntry, bytes: number): LogEntry {
  if (bytes >= LARGE_BYTES) (entry as Shown)[sizeKey] = bytes;
  return entry;
}

/**
 * The entry as a stream shows it, or undefined for an entry that streams do not show (specification 3.1.2: after the
 * task come status and artifact events only). All readers of an entry share one object.
 */
export function responseOf(entry: LogEntry): StreamResponse | undefined {
  if (entry.event.case !== "status" && entry.event.case !== "artifact") return undefined;
  const shown = entry as Shown;
  const known = shown[responseKey];
  if (known !== undefined) return known;
  const response = cacheForms(mark(eventResponse(entry.event.value), { generation: entry.generation }));
  const bytes = shown[sizeKey];
  if (bytes !== undefined) mark(response, { weight: { bytes, source: entry } });
  shown[responseKey] = response;
  return response;
}

/** A status or artifact event as a stream's message. */
export function eventResponse(event: TaskStatusUpdateEvent | TaskArtifactUpdateEvent): StreamResponse {
  const response = create(StreamResponseSchema);
  response.payload =
    event.$typeName === "lf.a2a.v1.TaskStatusUpdateEvent"
      ? { case: "statusUpdate", value: event }
      : { case: "artifactUpdate", value: event };
  return response;
}
