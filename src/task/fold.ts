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
import { defined } from "../core/defined.js";
import { RelayCheckpoints } from "./relay-checkpoints.js";
import { addedSize, artifactSize, frameSize, messageSize, pieceSize } from "./size.js";

/**
 * A task's log folded into the task. The cost of an entry depends only on its own size. The fold owns its arrays and
 * shares their immutable messages with the entries. Readers get copies (`viewTask`).
 */
export class TaskFold {
  position = 0;
  generation = 0;
  /** Position of the entry that set the current status. */
  statusPosition = 0;
  /** Positions of the entries that accepted a message, in order; one for each client message in the history. */
  messages: number[] = [];
  /** The protocol version that created the task; empty for the service's own. */
  version = "";
  /** Relay marks in the log, if any. */
  relays: RelayCheckpoints | undefined;
  /** False if the fold begins with a snapshot without relay marks, so that those of earlier entries are unknown. */
  knowsRelays: boolean;
  readonly task: Task;
  /** Sizes of the artifacts and of everything else, see `size`. */
  #artifactsSize = 0;
  #otherSize = 0;
  /** Size of the current status message, which exists twice after it is added to the history. */
  #statusSize = 0;
  readonly #artifactSizes: number[] = [];
  /** Index of each artifact in the task's list. */
  readonly #places = new Map<string, number>();
  /** True if the current status message is already in the history. */
  #archived = false;

  /** @param begin the task as of the fold's position, or its first chunk */
  constructor(begin?: Task) {
    this.task = create(TaskSchema);
    this.knowsRelays = begin === undefined;
    if (begin === undefined) return;
    this.task.id = begin.id;
    this.task.contextId = begin.contextId;
    if (begin.metadata !== undefined) this.task.metadata = begin.metadata;
    if (begin.status !== undefined) this.task.status = begin.status;
    const statusMessage = begin.status?.message;
    if (statusMessage !== undefined) this.#statusSize = messageSize(statusMessage);
    this.#otherSize = frameSize(begin);
    this.addInitial(begin);
  }

  /** Adds further history and artifacts of the initial task, before any entry is applied. */
  addInitial({ history, artifacts }: Task): void {
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

  /**
   * Returns a copy of the fold without history, artifacts and status message, to which further entries can be applied.
   */
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

  /** Returns the current artifact with this id. */
  artifact(artifactId: string): Artifact | undefined {
    const place = this.#places.get(artifactId);
    return place === undefined ? undefined : this.task.artifacts[place];
  }

  /** Returns the number of messages accepted after a position. */
  messagesAfter(position: number): number {
    let count = 0;
    for (let at = this.messages.length - 1; at >= 0 && defined(this.messages[at]) > position; at--) count++;
    return count;
  }

  /** Number of messages accepted since the last generation, at the end of the log. */
  get messagesSince(): number {
    let count = 0;
    while (this.position - count > 1 && this.messages.at(-1 - count) === this.position - count) count++;
    return count;
  }

  /** Upper bound of the task's size in its widest wire form, JSON, in bytes; close to the actual size. */
  get size(): number {
    return this.#otherSize + this.#artifactsSize + this.#statusSize;
  }

  /** Size without artifacts. */
  get sizeWithoutArtifacts(): number {
    return this.#otherSize + this.#statusSize;
  }

  /** Returns the size of an artifact; 0 if it does not exist. */
  artifactSize(artifactId: string): number {
    const place = this.#places.get(artifactId);
    return place === undefined ? 0 : (this.#artifactSizes[place] ?? 0);
  }

  /**
   * Applies the next entry. Entries must come in order and without a gap.
   * @param size its part of the task's size, if already counted
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
      this.relays ??= new RelayCheckpoints();
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

  /** Applies a status of a stream, whose events have no positions. */
  applyStatus(event: TaskStatusUpdateEvent, size: number = addedSize({ case: "status", value: event })): void {
    this.#otherSize += size;
    this.#statusSize = size;
    this.#status(event.status);
  }

  /** Applies an artifact of a stream, or a chunk of one. */
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
    // The question comes before its answer.
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

  /** Adds the status message to the history when another entry follows it, once. */
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

/**
 * Appends a chunk to an artifact (specification 4.2.2): its parts are appended, and its other fields replace earlier
 * ones.
 */
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

/** The part of a task that a reader requests. */
export interface View {
  /** Maximum number of messages, the newest ones; undefined for all, 0 for none (specification 3.2.4). */
  readonly historyLength?: number | undefined;
  /** False omits artifacts (specification 3.1.4). */
  readonly artifacts?: boolean;
}

/** Copies the folded task, so that later entries do not change it. */
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
