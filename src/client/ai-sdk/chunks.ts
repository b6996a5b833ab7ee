import type { JsonValue } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { type Artifact, type Part, type Task, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { base64Of } from "../../core/bytes.js";
import { toA2AError } from "../../core/error.js";
import { isInterrupted, isTerminal } from "../../task/state.js";
import { jsonWriter } from "../../wire/json-writer.js";
import { artifactText, messageText } from "../text.js";
import type { Update } from "../update.js";

const writeValue = jsonWriter(ValueSchema);

/** What the metadata of a message of the AI SDK says of its task. */
export interface A2AMetadata {
  readonly a2a: {
    readonly contextId: string;
    readonly taskId?: string;
    /** Name of the state, such as `TASK_STATE_COMPLETED`. */
    readonly state?: string;
  };
}

/** Chunks of the AI SDK's UI message stream, as far as agents have something for them. */
export type UIChunk =
  | { type: "start"; messageMetadata?: A2AMetadata }
  | { type: "text-start"; id: string }
  | { type: "text-delta"; id: string; delta: string }
  | { type: "text-end"; id: string }
  | { type: "file"; url: string; mediaType: string }
  | { type: "data-artifact"; id: string; data: ArtifactData }
  | { type: "data-status"; id: string; data: StatusData; transient: true }
  | { type: "error"; errorText: string }
  | { type: "abort" }
  | { type: "finish"; messageMetadata?: A2AMetadata };

/** Structured data that was added to an artifact. */
export interface ArtifactData {
  readonly name: string;
  readonly values: JsonValue[];
}

/** What the agent says of its progress. */
export interface StatusData {
  readonly state: string;
  readonly text: string;
}

/**
 * What becomes of a message as a UI message stream of the AI SDK: text of artifacts as text that grows, files as files, data as parts of
 * the type `data-artifact`, progress as transient parts of the type `data-status`. It reads the updates as fast as it is read, and
 * ends their call when it is cancelled.
 */
export function uiMessageStream(updates: AsyncIterable<Update>): ReadableStream<UIChunk> {
  const chunks = uiChunks(updates);
  return new ReadableStream<UIChunk>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await chunks.return();
      },
    },
    { highWaterMark: 0 },
  );
}

async function* uiChunks(updates: AsyncIterable<Update>): AsyncGenerator<UIChunk, void, undefined> {
  const writer = new ChunkWriter();
  try {
    for await (const update of updates) yield* writer.take(update);
    yield* writer.end();
  } catch (error) {
    yield* writer.fail(error);
  }
}

/** A text that is being written: its chunks have this id. */
interface OpenText {
  readonly id: string;
  text: string;
}

/** Turns updates into chunks. It holds the texts that it has written, so that a snapshot is told by what it has more. */
class ChunkWriter {
  #task: Task | undefined;
  #hasBegun = false;
  #blocks = 0;
  readonly #open = new Map<string, OpenText>();
  /** How many parts of an artifact have been looked at. */
  readonly #parts = new Map<string, number>();
  /** How many of them were there before the message. */
  readonly #before = new Map<string, number>();

  *take(update: Update): Generator<UIChunk> {
    const { kind, task, message, artifact, event } = update;
    this.#task = task;
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      const contextId = task?.contextId ?? message?.contextId ?? "";
      yield { type: "start", messageMetadata: task === undefined ? { a2a: { contextId } } : metadataOf(task) };
    }
    if (kind === "message") {
      for (const part of message?.parts ?? []) yield* fileOf(part);
      return yield* this.#whole(update.text);
    }
    if (task === undefined) return;
    if (kind === "artifact" && artifact !== undefined) {
      const piece = event?.payload.case === "artifactUpdate" ? event.payload.value : undefined;
      if (piece?.append !== true) this.#forget(artifact);
      if (piece?.append === true && this.#open.has(artifact.artifactId)) yield* this.#more(artifact, update.text);
      else yield* this.#anew(artifact);
      if (piece?.lastChunk === true) yield* this.#close(artifact.artifactId);
      return;
    }
    if (kind !== "status") yield* this.#snapshot(task, update);
    // With a message to a task that was there its question comes once more, which is answered now.
    if (kind !== "task" || update.text !== "") yield* this.#status(task);
  }

  *end(): Generator<UIChunk> {
    for (const id of [...this.#open.keys()]) yield* this.#close(id);
    const state = this.#task?.status?.state;
    if (state === TaskState.FAILED || state === TaskState.REJECTED) {
      const said = this.#task?.status?.message;
      yield { type: "error", errorText: (said && messageText(said)) || `The task ended as ${TaskState[state]}.` };
    }
    if (state === TaskState.CANCELED) yield { type: "abort" };
    yield this.#task === undefined ? { type: "finish" } : { type: "finish", messageMetadata: metadataOf(this.#task) };
  }

  *fail(thrown: unknown): Generator<UIChunk> {
    const error = toA2AError(thrown);
    for (const id of [...this.#open.keys()]) yield* this.#close(id);
    yield error.reason === "CANCELLED" ? { type: "abort" } : { type: "error", errorText: error.message };
  }

  /** The artifacts of a task that was read: those of a first sight are there from before only where its text says nothing of them. */
  *#snapshot(task: Task, { kind, text }: Update): Generator<UIChunk> {
    if (kind === "task" && text === "") {
      for (const artifact of task.artifacts) this.#skip(artifact);
      return;
    }
    for (const artifact of task.artifacts) {
      const open = this.#open.get(artifact.artifactId);
      const whole = textAfter(artifact, this.#before.get(artifact.artifactId));
      const isMore = open !== undefined && whole.startsWith(open.text);
      if (open !== undefined && !isMore) this.#forget(artifact);
      if (isMore) yield* this.#more(artifact, whole.slice(open.text.length));
      else yield* this.#anew(artifact);
    }
  }

  #skip({ artifactId, parts }: Artifact): void {
    this.#parts.set(artifactId, parts.length);
    this.#before.set(artifactId, parts.length);
  }

  #forget({ artifactId }: Artifact): void {
    this.#parts.delete(artifactId);
    this.#before.delete(artifactId);
  }

  *#anew(artifact: Artifact): Generator<UIChunk> {
    yield* this.#close(artifact.artifactId);
    yield* this.#more(artifact, textAfter(artifact, this.#parts.get(artifact.artifactId)));
  }

  *#more(artifact: Artifact, text: string): Generator<UIChunk> {
    yield* this.#others(artifact);
    if (text === "") return;
    let open = this.#open.get(artifact.artifactId);
    if (open === undefined) {
      open = { id: `text-${++this.#blocks}`, text: "" };
      this.#open.set(artifact.artifactId, open);
      yield { type: "text-start", id: open.id };
    }
    open.text += text;
    yield { type: "text-delta", id: open.id, delta: text };
  }

  *#close(artifactId: string): Generator<UIChunk> {
    const open = this.#open.get(artifactId);
    if (open === undefined) return;
    this.#open.delete(artifactId);
    yield { type: "text-end", id: open.id };
  }

  /** The parts that are no text, as far as they are new. */
  *#others({ artifactId, name, parts }: Artifact): Generator<UIChunk> {
    const from = this.#parts.get(artifactId) ?? 0;
    this.#parts.set(artifactId, parts.length);
    const added = parts.slice(from);
    for (const part of added) yield* fileOf(part);
    const values = added.flatMap(jsonOf);
    if (values.length > 0) yield { type: "data-artifact", id: `${artifactId}/${from}`, data: { name, values } };
  }

  *#status({ status }: Task): Generator<UIChunk> {
    const state = status?.state ?? TaskState.UNSPECIFIED;
    const text = status?.message === undefined ? "" : messageText(status.message);
    if (state === TaskState.FAILED || state === TaskState.REJECTED) return;
    if (isTerminal(state) || isInterrupted(state)) return yield* this.#whole(text);
    yield { type: "data-status", id: "status", data: { state: stateName(state), text }, transient: true };
  }

  *#whole(text: string): Generator<UIChunk> {
    if (text === "") return;
    const id = `text-${++this.#blocks}`;
    yield { type: "text-start", id };
    yield { type: "text-delta", id, delta: text };
    yield { type: "text-end", id };
  }
}

function metadataOf({ id, contextId, status }: Task): A2AMetadata {
  return { a2a: { contextId, taskId: id, state: stateName(status?.state ?? TaskState.UNSPECIFIED) } };
}

function stateName(state: TaskState): string {
  return `TASK_STATE_${TaskState[state]}`;
}

function mediaTypeOf({ mediaType }: Part): string {
  return mediaType || "application/octet-stream";
}

function textAfter(artifact: Artifact, parts = 0): string {
  return artifactText(parts === 0 ? artifact : { ...artifact, parts: artifact.parts.slice(parts) });
}

function* fileOf(part: Part): Generator<UIChunk> {
  const url = urlOf(part);
  if (url !== undefined) yield { type: "file", url, mediaType: mediaTypeOf(part) };
}

function urlOf(part: Part): string | undefined {
  if (part.content.case === "url") return part.content.value;
  if (part.content.case === "raw") return `data:${mediaTypeOf(part)};base64,${base64Of(part.content.value)}`;
  return undefined;
}

function jsonOf({ content }: Part): JsonValue[] {
  return content.case === "data" ? [JSON.parse(writeValue(content.value))] : [];
}
