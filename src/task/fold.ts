import { create } from "@bufbuild/protobuf";
import {
  type Artifact,
  ArtifactSchema,
  type Message,
  type Task,
  type TaskArtifactUpdateEvent,
  TaskSchema,
  TaskState,
  type TaskStatus,
  TaskStatusSchema,
  type TaskStatusUpdateEvent,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import { RelayMarks } from "./relay-marks.js";
import { addedSize, artifactSize, frameSize, messageSize, pieceSize } from "./size.js";

/**
 * A task's log folded into the task: each entry costs what it adds, however long the log is. The fold owns its arrays
 * and shares the immutable messages in them with the entries; what leaves it is copied first (`viewTask`).
 */
export class TaskFold {
  position = 0;
  generation = 0;
  /** Position of the entry that set the current status. */
  statusPosition = 0;
  /** Positions of the entries that accepted a message, in order; one for each message of a client in the history. */
  messages: number[] = [];
  /** The version of the protocol that the task was created in; empty for the service's own. */
  version = "";
  /** What the log tells of other agents' tasks, where it tells of any. */
  relays: RelayMarks | undefined;
  /** False where the fold begins with a snapshot that does not say what the entries before it tell of other agents' tasks. */
  knowsRelays: boolean;
  readonly task: Task;
  /** What the artifacts and the rest weigh, see `size`. */
  #artifactsSize = 0;
  #otherSize = 0;
  /** What the current status message weighs: once it is history as well it is there twice. */
  #statusSize = 0;
  readonly #artifactSizes: number[] = [];
  /** Place of each artifact in the task's list. */
  readonly #places = new Map<string, number>();
  /** Whether the current status message stands in the history already. */
  #archived = false;

  /** @param begin the task as of the position that the fold is given, or the first piece of it */
  constructor(begin?: Task) {
    this.task = create(TaskSchema);
    this.knowsRelays = begin === undefined;
    if (begin === undefined) return;
    this.task.id = begin.id;
    this.task.contextId = begin.contextId;
    if (begin.metadata !== undefined) this.task.metadata = begin.metadata;
    if (begin.status !== undefined) this.task.status = begin.status;
    const said = begin.status?.message;
    if (said !== undefined) this.#statusSize = messageSize(said);
    this.#otherSize = frameSize(begin);
    this.goOn(begin);
  }

  /** Takes more of the history and the artifacts of the task that the fold begins with; nothing was applied yet. */
  goOn({ history, artifacts }: Task): void {
    const current = this.task.status?.message?.messageId;
    for (const message of history) {
      this.#otherSize += messageSize(message);
      this.task.history.push(message);
      if (message.messageId === current) this.#archived = true;
    }
    for (const artifact of artifacts) {
      const known = this.#places.get(artifact.artifactId);
      const place = known ?? this.task.artifacts.length;
      const size = known === undefined ? artifactSize(artifact) : pieceSize(artifact);
      this.#setArtifactSize(place, (this.#artifactSizes[place] ?? 0) + size);
      this.#places.set(artifact.artifactId, place);
      if (known === undefined) this.task.artifacts[place] = artifact;
      else for (const part of artifact.parts) this.task.artifacts[known]?.parts.push(part);
    }
  }

  /** The fold at this moment without the history, the artifacts and what the status says: entries may follow it. */
  outline(): TaskFold {
    const { id, contextId, status } = this.task;
    const outline = new TaskFold(create(TaskSchema, { id, contextId }));
    outline.position = this.position;
    outline.generation = this.generation;
    outline.statusPosition = this.statusPosition;
    outline.messages = this.messages.slice();
    outline.version = this.version;
    outline.relays = this.relays;
    outline.knowsRelays = this.knowsRelays;
    if (status !== undefined) outline.task.status = create(TaskStatusSchema, { ...status, message: undefined });
    return outline;
  }

  /** The task's state; UNSPECIFIED before the first entry. */
  get state(): TaskState {
    return this.task.status?.state ?? TaskState.UNSPECIFIED;
  }

  /** Whether the task has an artifact of this id. */
  hasArtifact(artifactId: string): boolean {
    return this.#places.has(artifactId);
  }

  /** The artifact of this id, as it stands. */
  artifact(artifactId: string): Artifact | undefined {
    const place = this.#places.get(artifactId);
    return place === undefined ? undefined : this.task.artifacts[place];
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

  /** What the task weighs on the widest wire, JSON, in bytes: never less than it is, and hardly more. */
  get size(): number {
    return this.#otherSize + this.#artifactsSize + this.#statusSize;
  }

  /** What it weighs without its artifacts. */
  get sizeWithoutArtifacts(): number {
    return this.#otherSize + this.#statusSize;
  }

  /** What one artifact weighs; 0 when there is none of this id. */
  artifactSize(artifactId: string): number {
    const place = this.#places.get(artifactId);
    return place === undefined ? 0 : (this.#artifactSizes[place] ?? 0);
  }

  /**
   * Adds the next entry. Entries must come in order and without a gap.
   * @param size what it adds to the task's size, where that was counted before
   */
  apply(entry: LogEntry, size: number = entry.size || addedSize(entry.event)): void {
    if (entry.position !== this.position + 1) {
      throw new RangeError(`Entry ${entry.position} cannot follow entry ${this.position}.`);
    }
    if ((entry.event.case === "created") !== (entry.position === 1)) {
      throw new TypeError(`Entry ${entry.position} is "${entry.event.case}": a task begins with being created, once.`);
    }
    this.position = entry.position;
    this.generation = entry.generation;
    if (entry.relay !== undefined) {
      this.relays ??= new RelayMarks();
      this.relays.add(entry);
    }
    switch (entry.event.case) {
      case "created":
        this.#otherSize += size;
        this.version = entry.version;
        return this.#created(entry.event.value);
      case "message":
        this.#otherSize += size;
        return this.#message(entry.event.value);
      case "status":
        return this.applyStatus(entry.event.value, size);
      case "artifact":
        return this.applyArtifact(entry.event.value, size);
      default:
        throw new TypeError(`Entry ${entry.position} says nothing that this version understands.`);
    }
  }

  /** Adds a status of a stream, whose events have no positions. */
  applyStatus(event: TaskStatusUpdateEvent, size: number = addedSize({ case: "status", value: event })): void {
    this.#otherSize += size;
    this.#statusSize = size;
    this.#status(event.status);
  }

  /** Adds an artifact of a stream, or a piece of one. */
  applyArtifact(event: TaskArtifactUpdateEvent, size: number = addedSize({ case: "artifact", value: event })): void {
    this.#artifact(event, size);
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

  #artifact(event: TaskArtifactUpdateEvent, size: number): void {
    const piece = event.artifact;
    if (piece === undefined) return;
    const place = this.#places.get(piece.artifactId) ?? this.task.artifacts.length;
    const known = this.task.artifacts[place];
    if (event.append && known !== undefined) {
      this.#setArtifactSize(place, (this.#artifactSizes[place] ?? 0) + size);
      return extend(known, piece);
    }
    this.#places.set(piece.artifactId, place);
    this.#setArtifactSize(place, event.append ? artifactSize(piece) : size);
    this.task.artifacts[place] = copyArtifact(piece);
  }

  #setArtifactSize(place: number, size: number): void {
    this.#artifactsSize += size - (this.#artifactSizes[place] ?? 0);
    this.#artifactSizes[place] = size;
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
