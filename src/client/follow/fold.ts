import type { JsonObject } from "@bufbuild/protobuf";
import {
  type Artifact,
  type Message,
  Role,
  type StreamResponse,
  type Task,
  type TaskArtifactUpdateEvent,
  TaskState,
  type TaskStatusUpdateEvent,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../core/error.js";
import { TaskFold, viewTask } from "../../task/fold.js";
import { isTerminal } from "../../task/state.js";
import { RESUME_EXTENSION } from "../../wire/service-params.js";
import { MAX_FOLDED_BYTES } from "../calls/call-options.js";
import { artifactText, isSameMessage, messageText, type Update } from "./update.js";

/** Characters of an id in an error. */
const MAX_ID = 100;

/**
 * What a client knows of one task: the events of a stream, folded as the server folds them, and what is read of it anew after a cut.
 * An event costs what it adds, however large the task is; a snapshot costs what the task has.
 */
export class ClientFold {
  /** The generation that the client stands at, where the server tells it. */
  generation: number | undefined;
  /** Events are missing that nothing brought: the task has to be read. */
  hasGap = false;
  #fold: TaskFold | undefined;
  /** An event ended the task. Another state after it is a mistake of the server (specification 3.1.2), which the task does not have when it is read. */
  #isOver = false;
  readonly #maxBytes: number;
  readonly #known: Task | undefined;

  /**
   * @param maxBytes the largest task, in bytes as JSON
   * @param known the task as the caller knows it from before: what it says is not new
   */
  constructor(maxBytes: number = MAX_FOLDED_BYTES, known?: Task) {
    this.#maxBytes = maxBytes;
    this.#known = known;
  }

  /** The task as it stands; it goes on changing. Undefined before anything came. */
  get task(): Task | undefined {
    return this.#fold?.task;
  }

  get state(): TaskState {
    return this.#fold?.state ?? TaskState.UNSPECIFIED;
  }

  /**
   * Takes what a stream brought.
   * @returns undefined for what is known already, and for what says nothing
   * @throws A2AError TASK_TOO_LARGE; INVALID_AGENT_RESPONSE for what is of another task
   */
  take(event: StreamResponse): Update | undefined {
    const { payload } = event;
    switch (payload.case) {
      case "task":
        return this.takeTask(payload.value, event);
      case "message":
        return updateOf("message", event, { message: payload.value, text: messageText(payload.value) });
      case "statusUpdate":
        return this.#status(payload.value, event);
      case "artifactUpdate":
        return this.#artifact(payload.value, event);
      default:
        return undefined;
    }
  }

  /**
   * Takes the first of what answers a message.
   * @param isKnown the message went to a task that was there: what that said before is not of this answer
   */
  takeAnswer(event: StreamResponse, isKnown: boolean): Update | undefined {
    if (event.payload.case !== "task") return this.take(event);
    const task = event.payload.value;
    const update = this.takeTask(task, event);
    if (update === undefined || !isKnown || this.#known?.id === task.id || isTerminal(this.state)) return update;
    return { ...update, text: "" };
  }

  /** Begins with what comes from here on, where nothing was folded yet. Its state is that of now, and may have events before it. */
  standAt({ id, contextId }: Task): void {
    if (this.#fold !== undefined) return;
    this.#fold = new TaskFold();
    this.#fold.task.id = id;
    this.#fold.task.contextId = contextId;
  }

  /**
   * Takes the whole task, as a stream begins with it or as it was read: the first sight of it, or a snapshot that replaces what was
   * folded. The text of a snapshot is what it has more than that.
   * @returns undefined when nothing is new
   */
  takeTask(task: Task, event?: StreamResponse): Update | undefined {
    this.#checkId(task.id);
    const known = this.#fold?.task;
    // The caller has said how far it knows the task, and it has not moved since.
    const isTold =
      known === undefined && this.generation !== undefined && generationIn(task.metadata) === this.generation;
    const next = withoutOwnMarks(task);
    if (known !== undefined) next.history = mergedHistory(known.history, next.history);
    withoutCurrent(next);
    this.generation = generationIn(task.metadata);
    this.hasGap = false;
    if (known !== undefined && isSameMessage(known, next)) return undefined;
    const text = isTold ? "" : newText(known ?? (this.#known?.id === next.id ? this.#known : undefined), next);
    this.#fold = new TaskFold(next);
    this.#isOver = false;
    this.#checkSize();
    return this.#updateOf(known === undefined ? "task" : "snapshot", event, { text });
  }

  #status(update: TaskStatusUpdateEvent, event: StreamResponse): Update | undefined {
    this.#checkId(update.taskId);
    if (!this.#isNext(update.metadata)) return undefined;
    const fold = this.#begun(update);
    if (this.#isOver && update.status?.state !== fold.state) return undefined;
    fold.applyStatus(update);
    this.#isOver = isTerminal(fold.state);
    this.#checkSize();
    const message = update.status?.message;
    return this.#updateOf("status", event, { message, text: message === undefined ? "" : messageText(message) });
  }

  #artifact(update: TaskArtifactUpdateEvent, event: StreamResponse): Update | undefined {
    this.#checkId(update.taskId);
    if (!this.#isNext(update.metadata) || update.artifact === undefined) return undefined;
    const fold = this.#begun(update);
    const { artifactId } = update.artifact;
    // Some servers send an artifact in pieces, and all of it once more in the end.
    const text = update.append ? artifactText(update.artifact) : addedText(fold.artifact(artifactId), update.artifact);
    fold.applyArtifact(update);
    this.#checkSize();
    return this.#updateOf("artifact", event, { artifact: fold.artifact(artifactId), text });
  }

  /** Whether an event is one that the client does not have yet. */
  #isNext(metadata: JsonObject | undefined): boolean {
    const generation = generationIn(metadata);
    if (generation === undefined) return true;
    const at = this.generation;
    if (at !== undefined && generation <= at) return false;
    if (at !== undefined && generation > at + 1) this.hasGap = true;
    this.generation = generation;
    return true;
  }

  /** Servers are to begin with the task; of one that does not, the event says which one it is. */
  #begun({ taskId, contextId }: TaskStatusUpdateEvent | TaskArtifactUpdateEvent): TaskFold {
    if (this.#fold !== undefined) return this.#fold;
    const fold = new TaskFold();
    fold.task.id = taskId;
    fold.task.contextId = contextId;
    this.hasGap = true;
    this.#fold = fold;
    return fold;
  }

  /** A stream is of one task (specification 3.1.2). Some servers leave the id out. */
  #checkId(id: string): void {
    const known = this.#fold?.task.id ?? "";
    if (known === "" || id === "" || id === known) return;
    const what = `The agent told of the task ${id.slice(0, MAX_ID)} where the task ${known.slice(0, MAX_ID)} is followed.`;
    throw new A2AError("INVALID_AGENT_RESPONSE", what);
  }

  #checkSize(): void {
    if (this.#fold === undefined || this.#fold.size <= this.#maxBytes) return;
    throw new A2AError("TASK_TOO_LARGE", `The task is larger than the ${this.#maxBytes} bytes that this client folds.`);
  }

  #updateOf(kind: Update["kind"], event: StreamResponse | undefined, more: Partial<Update>): Update {
    return updateOf(kind, event, { task: this.#fold?.task, generation: this.generation, ...more });
  }
}

function updateOf(kind: Update["kind"], event: StreamResponse | undefined, more: Partial<Update>): Update {
  const { task, message, artifact, text = "", generation } = more;
  return { kind, task, message, artifact, text, event, generation };
}

/** The generation that the metadata of a task or of an event names (docs/extensions/resume.md). */
export function generationIn(metadata: JsonObject | undefined): number | undefined {
  const noted = metadata?.[RESUME_EXTENSION];
  if (typeof noted !== "object" || noted === null || Array.isArray(noted)) return undefined;
  const { generation } = noted;
  return typeof generation === "number" && Number.isSafeInteger(generation) && generation > 0 ? generation : undefined;
}

/** A copy of a task that is the client's own, without the generation, which is of the answer and not of the task. */
function withoutOwnMarks(task: Task): Task {
  const copy = viewTask(task);
  if (copy.metadata?.[RESUME_EXTENSION] === undefined) return copy;
  const { [RESUME_EXTENSION]: _, ...metadata } = copy.metadata;
  if (Object.keys(metadata).length > 0) copy.metadata = metadata;
  else delete copy.metadata;
  return copy;
}

/** The message of the current status becomes history when something follows it: some servers have it there before. */
function withoutCurrent(task: Task): void {
  const current = task.status?.message?.messageId;
  if (current !== undefined && task.history.at(-1)?.messageId === current) task.history.pop();
}

/** What a server tells of the history, and what the client has besides, which the server may have cut off. */
function mergedHistory(known: readonly Message[], told: Message[]): Message[] {
  const ids = new Set(told.map(({ messageId }) => messageId));
  if (known.every(({ messageId }) => ids.has(messageId))) return told;
  const have = new Set(known.map(({ messageId }) => messageId));
  return [...known, ...told.filter(({ messageId }) => !have.has(messageId))];
}

/** What a task says that it did not say before: messages of the agent first, then artifacts. */
function newText(before: Task | undefined, after: Task): string {
  const heard = new Set(messagesOf(before).map(({ messageId }) => messageId));
  let text = "";
  for (const message of messagesOf(after)) {
    if (message.role !== Role.USER && !heard.has(message.messageId)) text += messageText(message);
  }
  const old = new Map(before?.artifacts.map((artifact) => [artifact.artifactId, artifact]));
  for (const artifact of after.artifacts) text += addedText(old.get(artifact.artifactId), artifact);
  return text;
}

function messagesOf(task: Task | undefined): readonly Message[] {
  const said = task?.status?.message;
  return said === undefined ? (task?.history ?? []) : [...(task?.history ?? []), said];
}

/** What an artifact goes on with; all of it where it is another one. */
function addedText(before: Artifact | undefined, after: Artifact): string {
  const text = artifactText(after);
  if (before === undefined) return text;
  const known = artifactText(before);
  if (text.startsWith(known)) return text.slice(known.length);
  // What was read is behind what a stream brought already.
  return known.startsWith(text) ? "" : text;
}
