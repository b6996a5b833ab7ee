import { create } from "@bufbuild/protobuf";
import { type Artifact, ArtifactSchema, type Task, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import {
  type RelayedEntries,
  RelayedEntriesSchema,
  RelayedEntrySchema,
  type Snapshot,
  SnapshotSchema,
  type StepRecord,
  StepRecordSchema,
  type Talk as StoredTalk,
  TalkMarkSchema,
  TalkSchema,
} from "../../gen/parley/log/v1/log_pb.js";
import { binaryReader } from "../wire/binary-reader.js";
import { binaryWriter } from "../wire/binary-writer.js";
import { STORED_LEVELS } from "../wire/nesting.js";
import { TaskFold, viewTask } from "./fold.js";
import { RelayCheckpoints } from "./relay-checkpoints.js";
import { artifactSize, messageSize, partSize, taskSize } from "./size.js";
import { StepRecords } from "./step-records.js";
import { Talk } from "./talk.js";

/** Approximate size of a snapshot's piece, in bytes; a single larger value exceeds it. */
export const SNAPSHOT_PIECE_BYTES: number = 256 * 1024;

/** Encodes the fold as a snapshot in one piece. */
export function encodeSnapshot(fold: TaskFold): Uint8Array {
  return pieceOf(foldHeadOf(fold), fold.task);
}

/**
 * Encodes the current fold as a snapshot in pieces, each created on request; later entries are not included. The first
 * piece is a whole task; further ones continue its history and artifacts.
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
      place.steps = [];
      place.changes = undefined;
      place.talk = undefined;
      place.initialMetadata = undefined;
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
const readSnapshot = binaryReader(SnapshotSchema, STORED_LEVELS);

/** Numbers and texts of a fold, in every piece. */
type FoldPosition = Pick<
  TaskFold,
  "position" | "generation" | "earlierGenerations" | "generationPosition" | "statusPosition" | "version"
>;

/** The fields of a fold besides its task. Lists are in the first piece only. */
interface FoldHead extends FoldPosition, Pick<TaskFold, "messages" | "changes" | "initialMetadata"> {
  relays: RelayedEntries | undefined;
  steps: StepRecord[];
  readonly stepBytes: number;
  talk: StoredTalk | undefined;
}

/** Returns the fold's fields besides its task. */
function foldHeadOf(fold: TaskFold): FoldHead {
  const { position, generation, earlierGenerations, generationPosition, statusPosition, version } = fold;
  const { changes, initialMetadata } = fold;
  const numbers = { position, generation, earlierGenerations, generationPosition, statusPosition };
  const place = { ...numbers, version, changes, initialMetadata };
  const steps = fold.steps?.all().map((record) => create(StepRecordSchema, record)) ?? [];
  const stepBytes = fold.steps?.bytes ?? 0;
  return { ...place, messages: fold.messages.slice(), relays: relaysOf(fold), steps, stepBytes, talk: talkIn(fold) };
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

function talkIn({ talk, task }: TaskFold): StoredTalk | undefined {
  if (talk === undefined) return undefined;
  const marks = talk.marks.map((mark) => create(TalkMarkSchema, mark));
  for (const [place, { position, time }] of talk.artifacts.entries()) {
    const artifactId = task.artifacts[place]?.artifactId ?? "";
    marks.push(create(TalkMarkSchema, { artifactId, position, ...(time && { time }) }));
  }
  return create(TalkSchema, { marks, ended: talk.ended });
}

/** Restores the marks of a talk. */
function restoreTalk({ marks, ended }: StoredTalk): Talk {
  const talk = new Talk();
  talk.ended = ended;
  for (const { artifactId, position, time, after, state, index } of marks) {
    if (artifactId === "") talk.marks.push({ position, time, after, state, index });
    else talk.artifacts.push({ position, time });
  }
  return talk;
}

function pieceOf({ initialMetadata: firstMetadata, ...place }: FoldHead, task: Task): Uint8Array {
  return writeSnapshot(create(SnapshotSchema, { ...place, firstMetadata, task }));
}

/** Restores a fold from a snapshot, possibly in pieces. */
export class SnapshotReader {
  /** Complete after the last piece. */
  readonly fold: TaskFold;

  /** @param first the first or only piece */
  constructor(first: Uint8Array) {
    const snapshot = readSnapshot(first);
    const { task, position, generation, statusPosition, messages, version, relays, steps, changes, talk } = snapshot;
    this.fold = new TaskFold(task);
    this.fold.position = position;
    this.fold.generation = generation;
    this.fold.earlierGenerations = snapshot.earlierGenerations;
    this.fold.generationPosition = generationPositionOf(snapshot);
    this.fold.statusPosition = statusPosition;
    this.fold.messages = messages;
    this.fold.version = version;
    this.fold.changes = changes;
    this.fold.initialMetadata = snapshot.firstMetadata;
    if (talk !== undefined) this.fold.talk = restoreTalk(talk);
    if (relays !== undefined) this.#relays(relays);
    if (steps.length > 0) this.fold.steps = new StepRecords(snapshot.stepBytes);
    for (const record of steps) this.fold.steps?.add(record.position, record);
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

  /** Adds the next piece. */
  add(bytes: Uint8Array): void {
    const { task } = readSnapshot(bytes);
    if (task !== undefined) this.fold.addInitial(task);
  }
}

/** Snapshots of older versions lack the position, but in their logs all entries except messages are generations. */
function generationPositionOf({ position, generationPosition, messages }: Snapshot): number {
  if (generationPosition > 0) return generationPosition;
  let count = 0;
  while (position - count > 1 && messages.at(-1 - count) === position - count) count++;
  return position - count;
}

/** Restores a fold from a snapshot in one piece. */
export function decodeSnapshot(bytes: Uint8Array): TaskFold {
  return new SnapshotReader(bytes).fold;
}
