import { create, fromBinary } from "@bufbuild/protobuf";
import { type Artifact, ArtifactSchema, type Task, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import {
  type RelayedEntries,
  RelayedEntriesSchema,
  RelayedEntrySchema,
  SnapshotSchema,
} from "../../gen/parley/log/v1/log_pb.js";
import { binaryWriter } from "../wire/binary-writer.js";
import { storedDepth } from "./entry.js";
import { TaskFold, viewTask } from "./fold.js";
import { RelayCheckpoints } from "./relay-checkpoints.js";
import { artifactSize, messageSize, partSize, taskSize } from "./size.js";

/** Approximate size of a snapshot's chunk, in bytes; a single larger value exceeds it. */
export const SNAPSHOT_PIECE_BYTES: number = 256 * 1024;

/** Encodes the fold as a snapshot in one chunk. */
export function encodeSnapshot(fold: TaskFold): Uint8Array {
  return pieceOf(foldHeadOf(fold), fold.task);
}

/**
 * Encodes the current fold as a snapshot in chunks, each created on request; later entries are not included. The first
 * chunk is a whole task; further ones continue its history and artifacts.
 */
export function* snapshotPieces(
  fold: TaskFold,
  maxBytes: number = SNAPSHOT_PIECE_BYTES,
): Generator<Uint8Array, void, undefined> {
  if (fold.size <= maxBytes) return yield encodeSnapshot(fold);
  const place = foldHeadOf(fold);
  const { artifacts, history, ...rest } = viewTask(fold.task);
  let piece: Task = { ...rest, artifacts: [], history: [] };
  let size = taskSize(piece);
  const next = function* (more: number): Generator<Uint8Array, void, undefined> {
    if (size > 0 && size + more > maxBytes) {
      yield pieceOf(place, piece);
      place.messages = [];
      place.relays = undefined;
      piece = create(TaskSchema);
      size = 0;
    }
    size += more;
  };
  for (const message of history) {
    yield* next(messageSize(message));
    piece.history.push(message);
  }
  for (const artifact of artifacts) {
    yield* next(artifactSize({ ...artifact, parts: [] }));
    let open = { ...artifact, parts: [] as Artifact["parts"] };
    piece.artifacts.push(open);
    for (const part of artifact.parts) {
      yield* next(partSize(part));
      if (piece.artifacts.at(-1) !== open) {
        open = create(ArtifactSchema, { artifactId: artifact.artifactId });
        piece.artifacts.push(open);
      }
      open.parts.push(part);
    }
  }
  yield pieceOf(place, piece);
}

const writeSnapshot = binaryWriter(SnapshotSchema);

interface FoldHead extends Pick<TaskFold, "position" | "generation" | "statusPosition" | "messages" | "version"> {
  relays: RelayedEntries | undefined;
}

/** Returns the fold's fields besides its task. */
function foldHeadOf(fold: TaskFold): FoldHead {
  const { position, generation, statusPosition, messages, version } = fold;
  return { position, generation, statusPosition, version, messages: messages.slice(), relays: relaysOf(fold) };
}

function relaysOf({ relays, knowsRelays }: TaskFold): RelayedEntries | undefined {
  if (!knowsRelays) return undefined;
  const known = create(RelayedEntriesSchema);
  for (const { position, relay, message } of relays?.all() ?? []) {
    const entry = create(RelayedEntrySchema, { position, relay });
    if (message !== undefined) entry.message = message;
    known.entries.push(entry);
  }
  return known;
}

function pieceOf(place: FoldHead, task: Task): Uint8Array {
  const snapshot = create(SnapshotSchema);
  snapshot.position = place.position;
  snapshot.generation = place.generation;
  snapshot.statusPosition = place.statusPosition;
  snapshot.messages = place.messages;
  snapshot.version = place.version;
  if (place.relays !== undefined) snapshot.relays = place.relays;
  snapshot.task = task;
  return writeSnapshot(snapshot);
}

/** Restores a fold from a snapshot, possibly in chunks. */
export class SnapshotReader {
  /** Complete after the last chunk. */
  readonly fold: TaskFold;

  /** @param first the first or only chunk */
  constructor(first: Uint8Array) {
    const snapshot = fromBinary(SnapshotSchema, first, storedDepth);
    const { task, position, generation, statusPosition, messages, version, relays } = snapshot;
    this.fold = new TaskFold(task);
    this.fold.position = position;
    this.fold.generation = generation;
    this.fold.statusPosition = statusPosition;
    this.fold.messages = messages;
    this.fold.version = version;
    if (relays !== undefined) this.#relays(relays);
  }

  #relays({ entries }: RelayedEntries): void {
    const { fold } = this;
    fold.knowsRelays = true;
    for (const { position, relay, message } of entries) {
      if (relay === undefined) continue;
      fold.relays ??= new RelayCheckpoints();
      fold.relays.put({ position, relay, message });
    }
  }

  /** Adds the next chunk. */
  add(bytes: Uint8Array): void {
    const { task } = fromBinary(SnapshotSchema, bytes, storedDepth);
    if (task !== undefined) this.fold.addInitial(task);
  }
}

/** Restores a fold from a snapshot in one chunk. */
export function decodeSnapshot(bytes: Uint8Array): TaskFold {
  return new SnapshotReader(bytes).fold;
}
