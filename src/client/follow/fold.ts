import type { JsonObject } from "@bufbuild/protobuf";
import {
  type Artifact,
  type Message,
  type Part,
  Role,
  type StreamResponse,
  type Task,
  type TaskArtifactUpdateEvent,
  TaskState,
  type TaskStatusUpdateEvent,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../core/error.js";
import { defined } from "../../core/members.js";
import { EventFold } from "../../task/event-fold.js";
import { viewTask } from "../../task/fold.js";
import { type ReadableArtifact, type ReadableTask, readable, readableTask, textOf } from "../../task/plain.js";
import { isTerminal } from "../../task/state.js";
import { RESUME_EXTENSION } from "../../wire/service-params.js";
import { MAX_FOLDED_BYTES } from "../calls/call-options.js";
import { type Gained, GivenTexts } from "./given-texts.js";
import { ReceivedUpdate, type UpdateFields } from "./received.js";
import { isOther, isSameMessage } from "./update.js";

/** The content that a task has gained. */
interface GainedContent extends Gained {
  /** Its data and files. */
  readonly added: readonly Part[];
}

const nothing: GainedContent = { text: "", replaced: false, added: [] };

/** Maximum characters of an id in an error. */
const MAX_ID = 100;

/**
 * A client's view of one task: stream events folded as the server folds them, and snapshots read after a lost
 * connection. The cost of an event depends only on its own size, that of a snapshot on the task's size.
 */
export class ClientFold {
  /** The client's current generation, if the server sends one. */
  generation: number | undefined;
  /** True if events were missed: the task has to be read. */
  hasGap = false;
  #fold: EventFold | undefined;
  /**
   * True after an event ended the task. A later state is an error of the server (specification 3.1.2), absent from the
   * stored task.
   */
  #isOver = false;
  readonly #maxBytes: number;
  readonly #known: Task | undefined;
  readonly #texts: GivenTexts;

  /**
   * @param maxBytes maximum size of the task, in bytes as JSON
   * @param known the task as the caller already knows it: its text is not new
   */
  constructor(maxBytes: number = MAX_FOLDED_BYTES, known?: Task) {
    this.#maxBytes = maxBytes;
    this.#known = known;
    this.#texts = new GivenTexts(maxBytes);
  }

  /** The current task, which changes with further events. Undefined before the first one. */
  get task(): ReadableTask | undefined {
    // Every part that it folds was made readable before.
    return this.#fold?.task as ReadableTask | undefined;
  }

  get state(): TaskState {
    return this.#fold?.state ?? TaskState.UNSPECIFIED;
  }

  /**
   * Applies an event of a stream.
   * @returns undefined for an event already known, or without content
   * @throws A2AError TASK_TOO_LARGE; INVALID_AGENT_RESPONSE for an event of another task
   */
  take(event: StreamResponse): ReceivedUpdate | undefined {
    const { payload } = event;
    switch (payload.case) {
      case "task":
        return this.takeTask(payload.value, event);
      case "message":
        return messageUpdate(payload.value, event);
      case "statusUpdate":
        return this.#status(payload.value, event);
      case "artifactUpdate":
        return this.#artifact(payload.value, event);
      default:
        return undefined;
    }
  }

  /**
   * Applies the first event of an answer to a message.
   * @param isKnown true if the message went to an existing task, whose earlier text does not belong to this answer
   */
  takeAnswer(event: StreamResponse, isKnown: boolean): ReceivedUpdate | undefined {
    if (event.payload.case !== "task") return this.take(event);
    const task = event.payload.value;
    const update = this.takeTask(task, event);
    if (update === undefined || !isKnown || this.#known?.id === task.id || isTerminal(this.state)) return update;
    return update.withoutContent();
  }

  /**
   * Begins a fold without the task, unless it has begun: only later events are folded. The state of the task is its
   * current one, and earlier events may follow.
   */
  standAt({ id, contextId }: Task): void {
    if (this.#fold !== undefined) return;
    this.#fold = new EventFold();
    this.#fold.task.id = id;
    this.#fold.task.contextId = contextId;
  }

  /**
   * Applies a whole task, from the start of a stream or a read: the first one, or a snapshot that replaces the folded
   * task. The update of a snapshot has only the new text.
   * @returns undefined if nothing is new
   */
  takeTask(task: Task, event?: StreamResponse): ReceivedUpdate | undefined {
    this.#checkId(task.id);
    const known = this.#fold?.task;
    // The caller named a generation, and the task has not changed since.
    const isKnown =
      known === undefined && this.generation !== undefined && generationIn(task.metadata) === this.generation;
    const next = withoutOwnMarks(task);
    if (known !== undefined) next.history = mergedHistory(known.history, next.history);
    withoutCurrent(next);
    this.generation = generationIn(task.metadata);
    this.hasGap = false;
    if (known !== undefined && isSameMessage(known, next)) return undefined;
    const before = known ?? (this.#known?.id === next.id ? this.#known : undefined);
    const gained = isKnown ? nothing : this.#gained(before, next);
    this.#fold = new EventFold(readableTask(next));
    this.#isOver = false;
    this.#checkSize();
    const kind = known === undefined ? "task" : "snapshot";
    return this.#updateOf(kind, event, gained, gained.added);
  }

  #status(update: TaskStatusUpdateEvent, event: StreamResponse): ReceivedUpdate | undefined {
    this.#checkId(update.taskId);
    if (!this.#isNext(update.metadata)) return undefined;
    const fold = this.#begun(update);
    if (this.#isOver && update.status?.state !== fold.state) return undefined;
    const [before, message] = [fold.task.status?.message, update.status?.message && readable(update.status.message)];
    // A change of the task's metadata repeats the question of the status.
    const isRepeated =
      before !== undefined &&
      message !== undefined &&
      before.messageId !== "" &&
      isSameMessage<Message>(before, message);
    fold.applyStatus(update);
    this.#isOver = isTerminal(fold.state);
    this.#checkSize();
    const said = isRepeated ? undefined : message;
    const gained = this.#texts.settled(fold.task, { text: textOf(said), replaced: false });
    return this.#updateOf("status", event, { message, ...gained }, said?.parts.filter(isOther) ?? []);
  }

  #artifact(update: TaskArtifactUpdateEvent, event: StreamResponse): ReceivedUpdate | undefined {
    this.#checkId(update.taskId);
    if (!this.#isNext(update.metadata) || update.artifact === undefined) return undefined;
    const fold = this.#begun(update);
    const { artifactId } = update.artifact;
    // Some servers send an artifact in chunks, and then once more as a whole.
    const known = fold.artifact(artifactId);
    const added = this.#texts.added(known, update.artifact, update);
    const { parts } = readable(update.artifact);
    const addedParts = newParts(update.append ? undefined : known, parts);
    fold.applyArtifact(update);
    this.#checkSize();
    const artifact = defined(fold.artifact(artifactId)) as ReadableArtifact;
    const text = added ?? textOf(artifact);
    return this.#updateOf("artifact", event, { artifact, text, replaced: added === undefined }, addedParts);
  }

  /** Returns the content that a task has gained: of the agent's messages first, each once, then of artifacts. */
  #gained(before: Task | undefined, after: Task): GainedContent {
    const heard = new Set(knownMessages(before).map(({ messageId }) => messageId));
    const added: Part[] = [];
    let text = "";
    for (const message of knownMessages(after)) {
      const isNew = message.role !== Role.USER && !heard.has(message.messageId);
      heard.add(message.messageId);
      if (!isNew) continue;
      text += textOf(message);
      for (const part of message.parts) if (isOther(part)) added.push(part);
    }
    const old = new Map(before?.artifacts.map((artifact) => [artifact.artifactId, artifact]));
    let replaced = false;
    for (const artifact of after.artifacts) {
      const known = old.get(artifact.artifactId);
      const more = this.#texts.added(known, artifact);
      replaced ||= more === undefined;
      text += more ?? textOf(artifact);
      for (const part of newParts(known, artifact.parts)) added.push(part);
    }
    return { ...this.#texts.settled(after, { text, replaced }), added };
  }

  /** True if the client does not have an event yet. */
  #isNext(metadata: JsonObject | undefined): boolean {
    const generation = generationIn(metadata);
    if (generation === undefined) return true;
    const at = this.generation;
    if (at !== undefined && generation <= at) return false;
    if (at !== undefined && generation > at + 1) this.hasGap = true;
    this.generation = generation;
    return true;
  }

  /** Returns the fold. A stream should begin with the task; if it does not, the event supplies its id. */
  #begun({ taskId, contextId }: TaskStatusUpdateEvent | TaskArtifactUpdateEvent): EventFold {
    if (this.#fold !== undefined) return this.#fold;
    const fold = new EventFold();
    fold.task.id = taskId;
    fold.task.contextId = contextId;
    this.hasGap = true;
    this.#fold = fold;
    return fold;
  }

  /** Rejects events of another task (specification 3.1.2). Some servers omit the id. */
  #checkId(id: string): void {
    const known = this.#fold?.task.id ?? "";
    if (known === "" || id === "" || id === known) return;
    const what = `The agent sent an event of task ${id.slice(0, MAX_ID)} while task ${known.slice(0, MAX_ID)} was followed.`;
    throw new A2AError("INVALID_AGENT_RESPONSE", what);
  }

  #checkSize(): void {
    if (this.#fold === undefined || this.#fold.size <= this.#maxBytes) return;
    throw new A2AError("TASK_TOO_LARGE", `The task is larger than the ${this.#maxBytes} bytes that this client folds.`);
  }

  #updateOf(
    kind: UpdateFields["kind"],
    event: StreamResponse | undefined,
    { message, artifact, text = "", replaced = false }: Partial<UpdateFields>,
    added: readonly Part[],
  ): ReceivedUpdate {
    const { task, generation } = this;
    return new ReceivedUpdate({ kind, task, message, artifact, text, replaced, event, generation }, added);
  }
}

/** Returns the update of a direct reply. */
function messageUpdate(received: Message, event: StreamResponse): ReceivedUpdate {
  const message = readable(received);
  const none = { task: undefined, artifact: undefined, replaced: false, generation: undefined };
  return new ReceivedUpdate(
    { kind: "message", message, text: textOf(message), event, ...none },
    message.parts.filter(isOther),
  );
}

/** Returns the data and files that go beyond those of an artifact; all of them if they do not begin with those. */
function newParts(known: Artifact | undefined, parts: readonly Part[]): Part[] {
  const others = parts.filter(isOther);
  const before = known?.parts.filter(isOther) ?? [];
  const isMore = before.length <= others.length && before.every((part, at) => isSameMessage(part, defined(others[at])));
  return isMore ? others.slice(before.length) : others;
}

/** Returns the generation in the metadata of a task or event (docs/extensions/resume.md). */
export function generationIn(metadata: JsonObject | undefined): number | undefined {
  const noted = metadata?.[RESUME_EXTENSION];
  if (typeof noted !== "object" || noted === null || Array.isArray(noted)) return undefined;
  const { generation } = noted;
  return typeof generation === "number" && Number.isSafeInteger(generation) && generation > 0 ? generation : undefined;
}

/** Copies a task for the client, without the generation, which belongs to the answer. */
function withoutOwnMarks(task: Task): Task {
  const copy = viewTask(task);
  if (copy.metadata?.[RESUME_EXTENSION] === undefined) return copy;
  const { [RESUME_EXTENSION]: _, ...metadata } = copy.metadata;
  if (Object.keys(metadata).length > 0) copy.metadata = metadata;
  else delete copy.metadata;
  return copy;
}

/**
 * Removes the message of the current status from the history. It belongs there only after the next status, but some
 * servers add it early.
 */
function withoutCurrent(task: Task): void {
  const current = task.status?.message?.messageId;
  if (current !== undefined && task.history.at(-1)?.messageId === current) task.history.pop();
}

/** Merges a server's history with messages that the client has and the server may have omitted. */
function mergedHistory(known: readonly Message[], received: Message[]): Message[] {
  const ids = new Set(received.map(({ messageId }) => messageId));
  if (known.every(({ messageId }) => ids.has(messageId))) return received;
  const have = new Set(known.map(({ messageId }) => messageId));
  return [...known, ...received.filter(({ messageId }) => !have.has(messageId))];
}

function knownMessages(task: Task | undefined): readonly Message[] {
  const statusMessage = task?.status?.message;
  return statusMessage === undefined ? (task?.history ?? []) : [...(task?.history ?? []), statusMessage];
}
