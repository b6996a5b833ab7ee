import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type Artifact,
  ArtifactSchema,
  type Message,
  type Task,
  type TaskArtifactUpdateEvent,
  TaskSchema,
  TaskState,
  type TaskStatus,
  type TaskStatusUpdateEvent,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { defined } from "../core/members.js";
import { setOwn } from "../wire/json-value.js";
import { RESUME_EXTENSION } from "../wire/service-params.js";
import { addedSize, artifactSize, chunkSize, frameSize, memberSize, messageSize, objectSize } from "./size.js";

/** Members of an event's metadata that describe the event and do not become the task's. */
const eventOnly: ReadonlySet<string> = new Set([RESUME_EXTENSION]);

/**
 * A task's events folded into the task, of a log (`TaskFold`) or of a stream. The cost of an event depends only on its
 * own size. The fold owns its arrays and shares their immutable messages with the events.
 */
export class EventFold {
  readonly task: Task = create(TaskSchema);
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

  /** @param begin the task before the first event, or the first piece of its snapshot */
  constructor(begin?: Task) {
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

  /** Adds further history and artifacts of the initial task, before any event is applied. */
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
      const size = known === undefined ? artifactSize(artifact) : chunkSize(artifact);
      this.#setArtifactSize(place, (this.#artifactSizes[place] ?? 0) + size);
      this.#places.set(artifact.artifactId, place);
      if (known === undefined) this.task.artifacts[place] = artifact;
      else for (const part of artifact.parts) this.task.artifacts[known]?.parts.push(part);
    }
  }

  /** The task's state; UNSPECIFIED before the first event. */
  get state(): TaskState {
    return this.task.status?.state ?? TaskState.UNSPECIFIED;
  }

  /** Returns the current artifact with this id. */
  artifact(artifactId: string): Artifact | undefined {
    const place = this.#places.get(artifactId);
    return place === undefined ? undefined : this.task.artifacts[place];
  }

  /** Returns the index of an artifact in the task, or undefined if it does not exist. */
  placeOf(artifactId: string): number | undefined {
    return this.#places.get(artifactId);
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

  /** Applies a status. @param size its part of the task's size, here and below */
  applyStatus(event: TaskStatusUpdateEvent, size: number = addedSize({ case: "status", value: event })): void {
    const { metadata, status } = event;
    const messageBytes = metadata === undefined ? size : size - objectSize(metadata);
    if (metadata !== undefined) this.#mergeMetadata(metadata);
    // Metadata after a question repeats it.
    const isRepeated = status !== undefined && isSameMessage(this.task.status?.message, status.message);
    this.#otherSize += isRepeated ? messageBytes - this.#statusSize : messageBytes;
    this.#statusSize = messageBytes;
    if (isRepeated) this.task.status = status;
    else this.#status(status);
  }

  /** Applies an artifact, or a chunk of one. */
  applyArtifact(event: TaskArtifactUpdateEvent, size: number = addedSize({ case: "artifact", value: event })): void {
    const chunk = event.artifact;
    if (chunk === undefined) return;
    const place = this.#places.get(chunk.artifactId) ?? this.task.artifacts.length;
    const known = this.task.artifacts[place];
    if (event.append && known !== undefined) {
      this.#setArtifactSize(place, (this.#artifactSizes[place] ?? 0) + size);
      return extend(known, chunk);
    }
    this.#places.set(chunk.artifactId, place);
    this.#setArtifactSize(place, event.append ? artifactSize(chunk) : size);
    this.task.artifacts[place] = copyArtifact(chunk);
  }

  /** Applies the task as it was created. */
  protected applyCreated(created: Task, size: number): void {
    this.#otherSize += size;
    this.task.id = created.id;
    this.task.contextId = created.contextId;
    if (created.metadata !== undefined) this.task.metadata = created.metadata;
    this.task.history.push(...created.history);
    this.#status(created.status);
  }

  /** Applies a message of the client. */
  protected applyMessage(message: Message, size: number): void {
    this.#otherSize += size;
    // The question comes before its answer.
    this.#archiveStatusMessage();
    this.task.history.push(message);
  }

  #status(status: TaskStatus | undefined): void {
    this.#archiveStatusMessage();
    if (status !== undefined) this.task.status = status;
    this.#archived = false;
  }

  /** The metadata may be shared with copies of the task, so it is replaced. */
  #mergeMetadata(metadata: JsonObject): void {
    const merged: JsonObject = { ...this.task.metadata };
    let size = this.task.metadata === undefined ? objectSize({}) : 0;
    for (const name of Object.keys(metadata)) {
      if (eventOnly.has(name)) continue;
      const [value, before] = [defined(metadata[name]), Object.hasOwn(merged, name) ? merged[name] : undefined];
      size += memberSize(name, value) - (before === undefined ? 0 : memberSize(name, before));
      setOwn(merged, name, value);
    }
    if (Object.keys(merged).length === 0) return;
    this.task.metadata = merged;
    this.#otherSize += size;
  }

  /** Adds the status message to the history when another event follows it, once. */
  #archiveStatusMessage(): void {
    const message = this.task.status?.message;
    if (message !== undefined && !this.#archived) this.task.history.push(message);
    this.#archived = true;
  }

  #setArtifactSize(place: number, size: number): void {
    this.#artifactsSize += size - (this.#artifactSizes[place] ?? 0);
    this.#artifactSizes[place] = size;
  }
}

function isSameMessage(one: Message | undefined, other: Message | undefined): boolean {
  return one !== undefined && one.messageId !== "" && one.messageId === other?.messageId;
}

/**
 * Appends a chunk to an artifact (specification 4.2.2): its parts are appended, and its other fields replace earlier
 * ones.
 */
function extend(artifact: Artifact, chunk: Artifact): void {
  for (const part of chunk.parts) artifact.parts.push(part);
  if (chunk.name !== "") artifact.name = chunk.name;
  if (chunk.description !== "") artifact.description = chunk.description;
  if (chunk.metadata !== undefined) artifact.metadata = { ...artifact.metadata, ...chunk.metadata };
  for (const uri of chunk.extensions) if (!artifact.extensions.includes(uri)) artifact.extensions.push(uri);
}

/** Copies an artifact with its own list of parts. */
export function copyArtifact(artifact: Artifact): Artifact {
  const copy = create(ArtifactSchema);
  copy.artifactId = artifact.artifactId;
  copy.name = artifact.name;
  copy.description = artifact.description;
  copy.parts = artifact.parts.slice();
  if (artifact.metadata !== undefined) copy.metadata = artifact.metadata;
  copy.extensions = artifact.extensions.slice();
  return copy;
}
