import { Room } from "../../core/async.js";
import { nextRound } from "../../core/event-loop.js";
import { isOf } from "../../store/check.js";
import { type LoadedTask, StoreError, type TaskHead, type TaskScope, type TaskStore } from "../../store/task-store.js";
import { decodeEntry } from "../../task/entry.js";
import { TaskFold } from "../../task/fold.js";
import { SnapshotReader } from "../../task/snapshot.js";

/** Reading and folding a large task lets the event loop go on after this time, in milliseconds. */
const SLICE_MS = 1;

/** Entries that are asked for in one go; the store bounds the bytes. */
const PAGE_ENTRIES = 1_000;

/** How often a task is read from the start because its snapshot was replaced meanwhile. */
const MAX_ATTEMPTS = 5;

/** Large tasks of one store that are folded at the same time, at most: each takes its size in memory before anybody can weigh it. */
const MAX_FOLDING = 4;

/** The large tasks of each store that are being folded, and those that wait for it. */
const foldings = new WeakMap<TaskStore, Room>();

/** A task as a store has it, folded. */
export interface FoldedTask {
  readonly head: TaskHead;
  readonly fold: TaskFold;
  readonly snapshotAt: number;
  /** Bytes of the entries behind the snapshot, as stored. */
  readonly bytesSince: number;
}

/**
 * Reads and folds one task, as of the moment that it is first looked at; undefined when there is none, or none of the scope. A
 * small one is one read; a large one comes in pieces, and the event loop goes on between them.
 */
export async function foldStored(store: TaskStore, taskId: string, of?: TaskScope): Promise<FoldedTask | undefined> {
  const loaded = await store.load({ taskId, of });
  if (loaded === undefined || (of !== undefined && !isOf(loaded.head, of))) return undefined;
  return foldSmall(loaded) ?? foldLarge(store, loaded);
}

/** Folds what came as a whole and is quick to fold; undefined for what is not. */
export function foldSmall({ head, snapshot, entries }: LoadedTask): FoldedTask | undefined {
  const position = snapshot?.position ?? 0;
  if (position + entries.length < head.position || entries.length > PAGE_ENTRIES) return undefined;
  if (snapshot?.pieces !== undefined) return undefined;
  const fold = snapshot === undefined ? new TaskFold() : new SnapshotReader(snapshot.bytes).fold;
  let bytesSince = 0;
  for (let index = 0; index < entries.length; index++) {
    const bytes = entries[index] as Uint8Array;
    bytesSince += bytes.length;
    fold.apply(decodeEntry(bytes));
  }
  return { head, fold, snapshotAt: position, bytesSince };
}

/**
 * Folds what comes in pieces, up to a position, by default all of it; undefined when retention removes the task meanwhile. A snapshot of a
 * later position is not used. It waits while enough other large tasks are being folded.
 */
export async function foldLarge(
  store: TaskStore,
  loaded: LoadedTask,
  until: number = loaded.head.position,
): Promise<FoldedTask | undefined> {
  const room = foldings.get(store) ?? new Room(MAX_FOLDING);
  foldings.set(store, room);
  await room.acquire(1);
  try {
    return await foldAgain(store, loaded, until);
  } finally {
    room.release(1);
  }
}

/** Folds a large task, from the start again when its snapshot was replaced meanwhile. */
async function foldAgain(store: TaskStore, loaded: LoadedTask, until: number): Promise<FoldedTask | undefined> {
  const { taskId } = loaded.head;
  for (let from: LoadedTask | undefined = loaded, attempt = 1; from !== undefined; attempt++) {
    const isLater = from.snapshot !== undefined && from.snapshot.position > until;
    const folded = await foldPieces(
      store,
      isLater ? { head: from.head, snapshot: undefined, entries: [] } : from,
      until,
    );
    if (folded !== undefined) return folded;
    if (attempt >= MAX_ATTEMPTS) {
      throw new StoreError("damaged", `The log of task ${taskId} has nothing where an entry or a snapshot belongs.`);
    }
    from = await store.load({ taskId });
  }
  return undefined;
}

/** Undefined when something was not there any more, which a new snapshot or a removal explains. */
async function foldPieces(store: TaskStore, loaded: LoadedTask, until: number): Promise<FoldedTask | undefined> {
  const { head, snapshot } = loaded;
  const { taskId } = head;
  const turn = new Slices();
  let fold = new TaskFold();
  if (snapshot !== undefined) {
    const reader = new SnapshotReader(snapshot.bytes);
    for (let piece = 1; piece < (snapshot.pieces ?? 1); piece++) {
      await turn.pause();
      const bytes = await store.readSnapshot({ taskId, position: snapshot.position, piece });
      if (bytes === undefined) return undefined;
      reader.add(bytes);
    }
    fold = reader.fold;
  }
  let bytesSince = 0;
  for (let entries = loaded.entries; ; ) {
    for (const bytes of entries) {
      if (fold.position >= until) break;
      bytesSince += bytes.length;
      fold.apply(decodeEntry(bytes));
      if (turn.isLong) await turn.pause();
    }
    if (fold.position >= until) break;
    const limit = Math.min(PAGE_ENTRIES, until - fold.position);
    entries = await store.read({ taskId, after: fold.position, limit });
    if (entries.length === 0) return undefined;
  }
  return { head, fold, snapshotAt: snapshot?.position ?? 0, bytesSince };
}

/** Lets the event loop go on in the middle of long work. */
export class Slices {
  #begin = performance.now();

  /** Whether the work has held the event loop for long enough. */
  get isLong(): boolean {
    return performance.now() - this.#begin > SLICE_MS;
  }

  /** Goes on in the next round of the event loop if this one is long by now. */
  async pause(): Promise<void> {
    if (!this.isLong) return;
    await nextRound();
    this.#begin = performance.now();
  }
}
