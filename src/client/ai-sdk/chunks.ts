import { equals, type JsonValue } from "@bufbuild/protobuf";
import {
  type Artifact,
  type Message,
  type Part,
  PartSchema,
  type Task,
  TaskState,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { base64Of } from "../../core/bytes.js";
import { toA2AError } from "../../core/error.js";
import { defined } from "../../core/members.js";
import type { Update } from "../../task/answer.js";
import { dataOf, textOf } from "../../task/plain.js";
import { isInterrupted, isTerminal } from "../../task/state.js";
import { isOther, isSameMessage } from "../follow/update.js";

/** Task state in the metadata of an AI SDK message. */
export interface A2AMetadata {
  readonly a2a: {
    readonly contextId: string;
    readonly taskId?: string;
    /** Name of the state, such as `TASK_STATE_COMPLETED`. */
    readonly state?: string;
  };
}

/** Chunks of the AI SDK's UI message stream that agents use. */
export type UIChunk =
  | { type: "start"; messageMetadata?: A2AMetadata }
  | { type: "text-start"; id: string }
  | { type: "text-delta"; id: string; delta: string }
  | { type: "text-end"; id: string }
  | { type: "file"; url: string; mediaType: string }
  | { type: "data-artifact"; id: string; data: ArtifactData }
  | { type: "data-message"; id: string; data: MessageData }
  | { type: "data-status"; id: string; data: StatusData; transient: true }
  | { type: "error"; errorText: string }
  | { type: "abort" }
  | { type: "finish"; messageMetadata?: A2AMetadata };

/** Structured data of an artifact. */
export interface ArtifactData {
  readonly name: string;
  readonly values: JsonValue[];
}

/** Structured data of a message, such as a form with a question. */
export interface MessageData {
  readonly values: JsonValue[];
}

/** Progress that the agent reports. */
export interface StatusData {
  readonly state: string;
  readonly text: string;
  readonly values: JsonValue[];
}

/**
 * Converts updates to a UI message stream of the AI SDK: text, files, data parts (`data-artifact`, `data-message`) and
 * transient progress (`data-status`). It reads updates at the pace of its reader, and ends their call when it is
 * cancelled.
 */
export function uiMessageStream(updates: AsyncIterable<Update>): ReadableStream<UIChunk> {
  return agentMessageStream(updates, undefined);
}

/**
 * @param isAnswer true if the message went to an existing task, whose artifacts and question are already known;
 * undefined if unknown
 */
export function agentMessageStream(
  updates: AsyncIterable<Update>,
  isAnswer: boolean | undefined,
): ReadableStream<UIChunk> {
  const chunks = uiChunks(updates, new ChunkWriter(isAnswer));
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

async function* uiChunks(
  updates: AsyncIterable<Update>,
  writer: ChunkWriter,
): AsyncGenerator<UIChunk, void, undefined> {
  try {
    for await (const update of updates) yield* writer.take(update);
    yield* writer.end();
  } catch (error) {
    yield* writer.fail(error);
  }
}

/** An open text block: its chunks have this id. */
interface OpenText {
  readonly id: string;
  text: string;
}

/** The parts of an artifact other than text. */
interface OtherParts {
  readonly written: Part[];
  /** Number of parts of the artifact examined so far, text included. */
  seen: number;
}

/** Converts updates to chunks. It keeps the texts already written, so that a snapshot only adds new text. */
class ChunkWriter {
  #task: Task | undefined;
  #hasBegun = false;
  #blocks = 0;
  readonly #open = new Map<string, OpenText>();
  /** Parts already written other than text, by artifact. */
  readonly #others = new Map<string, OtherParts>();
  /** Number of parts of an artifact examined so far. */
  readonly #parts = new Map<string, number>();
  /** Number of its parts that existed before the message. */
  readonly #before = new Map<string, number>();
  /** The message whose parts were written last. */
  #written: Message | undefined;
  /** The progress message whose files were written last. */
  #progress: Message | undefined;
  readonly #isAnswer: boolean | undefined;

  constructor(isAnswer: boolean | undefined) {
    this.#isAnswer = isAnswer;
  }

  *take(update: Update): Generator<UIChunk> {
    const { kind, task, message, artifact, event } = update;
    this.#task = task;
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      const contextId = task?.contextId ?? message?.contextId ?? "";
      yield { type: "start", messageMetadata: task === undefined ? { a2a: { contextId } } : a2aMetadata(task) };
    }
    if (kind === "message") return message && (yield* this.#message(message));
    if (task === undefined) return;
    if (kind === "artifact" && artifact !== undefined) {
      const artifactUpdate = event?.payload.case === "artifactUpdate" ? event.payload.value : undefined;
      if (artifactUpdate?.append !== true) this.#checkOthers(artifact);
      if (update.replaced) this.#forget(artifact);
      if (this.#parts.has(artifact.artifactId)) yield* this.#more(artifact, update.text);
      else yield* this.#inNewBlock(artifact);
      if (artifactUpdate?.lastChunk === true) yield* this.#close(artifact.artifactId);
      return;
    }
    // After a message to an existing task, its question is sent once more, although it has now been answered.
    const isOld = kind === "task" && update.text === "" && this.#wasThere(task);
    if (isOld) for (const each of task.artifacts) this.#skip(each);
    else if (kind !== "status" || update.replaced) yield* this.#snapshot(task, update.replaced);
    if (!isOld) yield* this.#status(task);
  }

  *end(): Generator<UIChunk> {
    for (const id of [...this.#open.keys()]) yield* this.#close(id);
    const state = this.#task?.status?.state;
    if (state === TaskState.FAILED || state === TaskState.REJECTED) {
      const statusMessage = this.#task?.status?.message;
      yield {
        type: "error",
        errorText: textOf(statusMessage) || `The task ended as ${TaskState[state]}.`,
      };
    }
    if (state === TaskState.CANCELED) yield { type: "abort" };
    yield this.#task === undefined ? { type: "finish" } : { type: "finish", messageMetadata: a2aMetadata(this.#task) };
  }

  *fail(thrown: unknown): Generator<UIChunk> {
    const error = toA2AError(thrown);
    for (const id of [...this.#open.keys()]) yield* this.#close(id);
    yield error.reason === "CANCELLED" ? { type: "abort" } : { type: "error", errorText: error.message };
  }

  /** Tells whether a first update without text shows an existing task, rather than a new one without text so far. */
  #wasThere(task: Task): boolean {
    const state = task.status?.state ?? TaskState.UNSPECIFIED;
    return this.#isAnswer === undefined ? textOf(task) !== "" : this.#isAnswer && !isTerminal(state);
  }

  /** Forgets the written non-text parts if the artifact does not begin with them: all are then written again. */
  #checkOthers({ artifactId, parts }: Artifact): void {
    const known = this.#others.get(artifactId);
    if (known === undefined) return;
    let same = 0;
    let seen = 0;
    for (; same < known.written.length && seen < parts.length; seen++) {
      const part = defined(parts[seen]);
      if (!isOther(part)) continue;
      if (!equals(PartSchema, defined(known.written[same]), part)) break;
      same++;
    }
    if (same < known.written.length) this.#others.delete(artifactId);
    else known.seen = seen;
  }

  /** Writes the artifacts of a task that was read. */
  *#snapshot(task: Task, replaced: boolean): Generator<UIChunk> {
    for (const artifact of task.artifacts) {
      const open = this.#open.get(artifact.artifactId);
      const whole = textAfter(artifact, this.#before.get(artifact.artifactId));
      // A restarted agent may repeat the written text.
      const isMore = open !== undefined && (whole.startsWith(open.text) || (!replaced && open.text.startsWith(whole)));
      this.#checkOthers(artifact);
      if (open !== undefined && !isMore) this.#forget(artifact);
      if (isMore) yield* this.#more(artifact, whole.slice(open.text.length));
      else yield* this.#inNewBlock(artifact);
    }
  }

  #skip({ artifactId, parts }: Artifact): void {
    this.#others.set(artifactId, { written: parts.filter(isOther), seen: parts.length });
    this.#parts.set(artifactId, parts.length);
    this.#before.set(artifactId, parts.length);
  }

  #forget({ artifactId }: Artifact): void {
    this.#parts.delete(artifactId);
    this.#before.delete(artifactId);
  }

  *#inNewBlock(artifact: Artifact): Generator<UIChunk> {
    yield* this.#close(artifact.artifactId);
    yield* this.#more(artifact, textAfter(artifact, this.#parts.get(artifact.artifactId)));
  }

  *#more(artifact: Artifact, text: string): Generator<UIChunk> {
    yield* this.#added(artifact);
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

  /** Writes the new parts that are not text. */
  *#added({ artifactId, name, parts }: Artifact): Generator<UIChunk> {
    this.#parts.set(artifactId, parts.length);
    const others = this.#others.get(artifactId) ?? { written: [], seen: 0 };
    const added = parts.slice(others.seen).filter(isOther);
    const from = others.written.length;
    for (const part of added) others.written.push(part);
    others.seen = parts.length;
    this.#others.set(artifactId, others);
    for (const part of added) yield* fileOf(part);
    const values = dataOf({ parts: added });
    if (values.length > 0) yield { type: "data-artifact", id: `${artifactId}/${from}`, data: { name, values } };
  }

  *#status({ status }: Task): Generator<UIChunk> {
    const state = status?.state ?? TaskState.UNSPECIFIED;
    const statusMessage = status?.message;
    if (state === TaskState.FAILED || state === TaskState.REJECTED)
      return statusMessage && (yield* this.#rest(statusMessage));
    if (isTerminal(state) || isInterrupted(state)) return statusMessage && (yield* this.#message(statusMessage));
    const text = textOf(statusMessage);
    const values = dataOf(statusMessage);
    yield { type: "data-status", id: "status", data: { state: protoStateName(state), text, values }, transient: true };
    if (statusMessage === undefined || (this.#progress !== undefined && isSameMessage(this.#progress, statusMessage)))
      return;
    this.#progress = statusMessage;
    for (const part of statusMessage.parts) yield* fileOf(part);
  }

  /** Writes a whole message. */
  *#message(message: Message): Generator<UIChunk> {
    if (this.#isWritten(message)) return;
    yield* this.#whole(textOf(message));
    yield* this.#rest(message);
  }

  /** Writes the parts of a message other than text. */
  *#rest(message: Message): Generator<UIChunk> {
    if (this.#isWritten(message)) return;
    this.#written = message;
    for (const part of message.parts) yield* fileOf(part);
    const values = dataOf(message);
    if (values.length > 0) yield { type: "data-message", id: message.messageId, data: { values } };
  }

  /** True if the message was already written: a snapshot repeats the message of an earlier status. */
  #isWritten(message: Message): boolean {
    return this.#written !== undefined && isSameMessage(this.#written, message);
  }
  *#whole(text: string): Generator<UIChunk> {
    if (text === "") return;
    const id = `text-${++this.#blocks}`;
    yield { type: "text-start", id };
    yield { type: "text-delta", id, delta: text };
    yield { type: "text-end", id };
  }
}

function a2aMetadata({ id, contextId, status }: Task): A2AMetadata {
  return { a2a: { contextId, taskId: id, state: protoStateName(status?.state ?? TaskState.UNSPECIFIED) } };
}

function protoStateName(state: TaskState): string {
  return `TASK_STATE_${TaskState[state]}`;
}

function mediaTypeOf({ mediaType }: Part): string {
  return mediaType || "application/octet-stream";
}

function textAfter(artifact: Artifact, parts = 0): string {
  return textOf(parts === 0 ? artifact : { ...artifact, parts: artifact.parts.slice(parts) });
}

function* fileOf(part: Part): Generator<UIChunk> {
  const url = fileUrl(part);
  if (url !== undefined) yield { type: "file", url, mediaType: mediaTypeOf(part) };
}

function fileUrl(part: Part): string | undefined {
  if (part.content.case === "url") return part.content.value;
  if (part.content.case === "raw") return `data:${mediaTypeOf(part)};base64,${base64Of(part.content.value)}`;
  return undefined;
}
