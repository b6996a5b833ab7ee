import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type Artifact,
  ArtifactSchema,
  type Message,
  type Task,
  type TaskArtifactUpdateEvent,
  TaskSchema,
  TaskState,
  type TaskStatus,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type LogEntry, SnapshotSchema } from "../../gen/parley/log/v1/log_pb.js";
import { storedDepth } from "./entry.js";

/**
 * A task's log folded into the task: each entry costs what it adds, however long the log is. The fold owns its arrays
 * and shares the immutable messages in them with the entries; what leaves it is copied first (`viewTask`).
 */
export class TaskFold {
  position = 0;
  generation = 0;
  /** Position of the entry that set the current status. */
  statusPosition = 0;
  /** Bytes of the entries that were folded, as stored: about what the task weighs. */
  size = 0;
  /** Positions of the entries that accepted a message, in order; one for each message of a client in the history. */
  messages: number[] = [];
  readonly task: Task;
  /** Place of each artifact in the task's list. */
  readonly #places = new Map<string, number>();
  /** Whether the current status message stands in the history already. */
  #archived: boolean;

  constructor(task: Task = create(TaskSchema)) {
    this.task = task;
    for (const [place, artifact] of task.artifacts.entries()) this.#places.set(artifact.artifactId, place);
    const current = task.status?.message?.messageId;
    this.#archived = current !== undefined && task.history.some((message) => message.messageId === current);
  }

  /** The task's state; UNSPECIFIED before the first entry. */
  get state(): TaskState {
    return this.task.status?.state ?? TaskState.UNSPECIFIED;
  }

  /** Whether the task has an artifact of this id. */
  hasArtifact(artifactId: string): boolean {
    return this.#places.has(artifactId);
  }

  /** How many messages were accepted after a position. */
  messagesAfter(position: number): number {
    let count = 0;
    for (let at = this.messages.length - 1; at >= 0 && (this.messages[at] as number) > position; at--) count++;
    return count;
  }

  /** How many messages were accepted since the entry of the generation: those that the log ends with. */
  get messagesSince(): number {
    let count = 0;
    while (this.position - count > 1 && this.messages.at(-1 - count) === this.position - count) count++;
    return count;
  }

  /** Adds the next entry, with its size in bytes as stored. Entries must come in order and without a gap. */
  apply(entry: LogEntry, size = 0): void {
    if (entry.position !== this.position + 1) {
      throw new RangeError(`Entry ${entry.position} cannot follow entry ${this.position}.`);
    }
    if ((entry.event.case === "created") !== (entry.position === 1)) {
      throw new TypeError(`Entry ${entry.position} is "${entry.event.case}": a task begins with being created, once.`);
    }
    this.position = entry.position;
    this.generation = entry.generation;
    this.size += size;
    switch (entry.event.case) {
      case "created":
        return this.#created(entry.event.value);
      case "message":
        return this.#message(entry.event.value);
      case "status":
        return this.#status(entry.event.value.status);
      case "artifact":
        return this.#artifact(entry.event.value);
      default:
        throw new TypeError(`Entry ${entry.position} says nothing that this version understands.`);
    }
  }

  #created(created: Task): void {
    this.task.id = created.id;
    this.task.contextId = created.contextId;
    if (created.metadata !== undefined) this.task.metadata = created.metadata;
    this.task.history.push(...created.history);
    this.messages.push(this.position);
    this.#status(created.status);
  }

  #message(message: Message): void {
    // What the client answers to stands before its answer.
    this.#archiveStatusMessage();
    this.task.history.push(message);
    this.messages.push(this.position);
  }

  #status(status: TaskStatus | undefined): void {
    this.#archiveStatusMessage();
    if (status !== undefined) this.task.status = status;
    this.#archived = false;
    this.statusPosition = this.position;
  }

  /** A status message becomes history when something follows it, once. */
  #archiveStatusMessage(): void {
    const message = this.task.status?.message;
    if (message !== undefined && !this.#archived) this.task.history.push(message);
    this.#archived = true;
  }

  #artifact(event: TaskArtifactUpdateEvent): void {
    const piece = event.artifact;
    if (piece === undefined) return;
    const place = this.#places.get(piece.artifactId) ?? this.task.artifacts.length;
    const known = this.task.artifacts[place];
    if (event.append && known !== undefined) return extend(known, piece);
    this.#places.set(piece.artifactId, place);
    this.task.artifacts[place] = copyArtifact(piece);
  }
}

/** Adds a piece to an artifact (specification 4.2.2): parts are appended, what it says anew about the whole wins. */
function extend(artifact: Artifact, piece: Artifact): void {
  for (const part of piece.parts) artifact.parts.push(part);
  if (piece.name !== "") artifact.name = piece.name;
  if (piece.description !== "") artifact.description = piece.description;
  if (piece.metadata !== undefined) artifact.metadata = { ...artifact.metadata, ...piece.metadata };
  for (const uri of piece.extensions) if (!artifact.extensions.includes(uri)) artifact.extensions.push(uri);
}

function copyArtifact(artifact: Artifact): Artifact {
  const copy = create(ArtifactSchema);
  copy.artifactId = artifact.artifactId;
  copy.name = artifact.name;
  copy.description = artifact.description;
  copy.parts = artifact.parts.slice();
  if (artifact.metadata !== undefined) copy.metadata = artifact.metadata;
  copy.extensions = artifact.extensions.slice();
  return copy;
}

/** How much of a task a reader wants. */
export interface View {
  /** At most so many messages, the newest ones; undefined for all, 0 for none (specification 3.2.4). */
  readonly historyLength?: number | undefined;
  /** False leaves artifacts out (specification 3.1.4). */
  readonly artifacts?: boolean;
}

/** A copy of the folded task that later entries do not change. */
export function viewTask(task: Task, view: View = {}): Task {
  const copy = create(TaskSchema);
  copy.id = task.id;
  copy.contextId = task.contextId;
  if (task.status !== undefined) copy.status = task.status;
  if (task.metadata !== undefined) copy.metadata = task.metadata;
  if (view.artifacts !== false) copy.artifacts = task.artifacts.map(copyArtifact);
  const length = view.historyLength;
  if (length === undefined) copy.history = task.history.slice();
  else if (length > 0) copy.history = task.history.slice(-length);
  return copy;
}

/** The fold as the bytes of a snapshot. */
export function encodeSnapshot(fold: TaskFold): Uint8Array {
  const snapshot = create(SnapshotSchema);
  snapshot.position = fold.position;
  snapshot.generation = fold.generation;
  snapshot.statusPosition = fold.statusPosition;
  snapshot.task = fold.task;
  snapshot.messages = fold.messages;
  return toBinary(SnapshotSchema, snapshot);
}

/** A fold that goes on from a snapshot. */
export function decodeSnapshot(bytes: Uint8Array): TaskFold {
  const snapshot = fromBinary(SnapshotSchema, bytes, storedDepth);
  const fold = new TaskFold(snapshot.task);
  fold.position = snapshot.position;
  fold.generation = snapshot.generation;
  fold.statusPosition = snapshot.statusPosition;
  fold.messages = snapshot.messages;
  fold.size = bytes.length;
  return fold;
}
