import type { LogEntry } from "../../../gen/parley/log/v1/log_pb.js";
import { Semaphore } from "../../core/async.js";
import { Slices } from "../../core/event-loop.js";
import { defined } from "../../core/members.js";
import { isOf } from "../../store/check.js";
import { type LoadedTask, StoreError, type TaskHead, type TaskScope, type TaskStore } from "../../store/task-store.js";
import { decodeEntry } from "../../task/entry.js";
import { TaskFold } from "../../task/fold.js";
import { SnapshotReader } from "../../task/snapshot.js";

/** Reading and folding large tasks yields to the event loop after this time, in milliseconds. */
export const SLICE_MS = 1;

/** Entries requested per read; the store limits the bytes. */
const PAGE_ENTRIES = 1_000;

/** Maximum number of attempts to read a task whose snapshot is replaced meanwhile. */
const MAX_ATTEMPTS = 5;

/** Maximum number of large tasks folded concurrently per store. The memory of each is unknown before it is folded. */
const MAX_FOLDING = 4;

/** Limits concurrent folds of large tasks, per store. */
const foldings = new WeakMap<TaskStore, Semaphore>();

export interface FoldedTask {
  readonly head: TaskHead;
  readonly fold: TaskFold;
  readonly snapshotAt: number;
  /** Bytes of the entries after the snapshot, as stored. */
  readonly bytesSince: number;
  /** The last entry, if it is after the snapshot. */
  readonly last: LogEntry | undefined;
}

/**
 * Reads and folds one task as of the first read. Returns undefined if it does not exist or belongs to another scope. A
 * small task takes one read. A large one is read in pieces, with event-loop turns between them.
 */
export async function foldStored(store: TaskStore, taskId: string, of?: TaskScope): Promise<FoldedTask | undefined> {
  const loaded = await store.load({ taskId, of });
  if (loaded === undefined || (of !== undefined && !isOf(loaded.head, of))) return undefined;
  const folded = foldSmall(loaded) ?? (await foldLarge(store, loaded));
  if (folded !== undefined) await completeFold(store, folded);
  return folded;
}

/** Reads the request metadata, which the snapshots of older versions lack. */
async function completeFold(store: TaskStore, { head: { taskId }, fold }: FoldedTask): Promise<void> {
  if (fold.initialMetadata !== undefined) return;
  fold.initialMetadata = (await storedEntry(store, taskId, 1))?.turn?.metadata ?? {};
}

/** Reads one entry of a task. Undefined if its log ends before it. */
export async function storedEntry(store: TaskStore, taskId: string, position: number): Promise<LogEntry | undefined> {
  const [bytes] = await store.read({ taskId, after: position - 1, limit: 1 });
  return bytes && decodeEntry(bytes);
}

/** Folds a task that was loaded completely and is quick to fold; otherwise returns undefined. */
export function foldSmall({ head, snapshot, entries }: LoadedTask): FoldedTask | undefined {
  const position = snapshot?.position ?? 0;
  if (position + entries.length < head.position || entries.length > PAGE_ENTRIES) return undefined;
  if (snapshot?.pieces !== undefined) return undefined;
  const fold = snapshot === undefined ? new TaskFold() : new SnapshotReader(snapshot.bytes).fold;
  let bytesSince = 0;
  let last: LogEntry | undefined;
  for (let index = 0; index < entries.length; index++) {
    const bytes = defined(entries[index]);
    bytesSince += bytes.length;
    last = decodeEntry(bytes);
    fold.apply(last);
  }
  return { head, fold, snapshotAt: position, bytesSince, last };
}

/**
 * Folds a task in pieces, up to a position (default: its end). Returns undefined if retention removes the task
 * meanwhile. Ignores a snapshot of a later position. Waits while `MAX_FOLDING` other large tasks are being folded.
 */
export async function foldLarge(
  store: TaskStore,
  loaded: LoadedTask,
  until: number = loaded.head.position,
): Promise<FoldedTask | undefined> {
  const semaphore = foldings.get(store) ?? new Semaphore(MAX_FOLDING);
  foldings.set(store, semaphore);
  await semaphore.acquire(1);
  try {
    return await foldAgain(store, loaded, until);
  } finally {
    semaphore.release(1);
  }
}

/** Folds a task from its first entry, up to the position of a head. Undefined if it does not exist. */
export function refoldStored(store: TaskStore, head: TaskHead): Promise<FoldedTask | undefined> {
  return foldLarge(store, { head, snapshot: undefined, entries: [] });
}

/** Folds a large task and starts over when its snapshot is replaced meanwhile. */
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
      throw new StoreError("damaged", `The log of task ${taskId} lacks an entry or a snapshot.`);
    }
    from = await store.load({ taskId });
  }
  return undefined;
}

/** Returns undefined if a piece has disappeared, because of a new snapshot or a removal. */
async function foldPieces(store: TaskStore, loaded: LoadedTask, until: number): Promise<FoldedTask | undefined> {
  const { head, snapshot } = loaded;
  const { taskId } = head;
  const turn = new Slices(SLICE_MS);
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
  let last: LogEntry | undefined;
  for (let entries = loaded.entries; ; ) {
    for (const bytes of entries) {
      if (fold.position >= until) break;
      bytesSince += bytes.length;
      last = decodeEntry(bytes);
      fold.apply(last);
      if (turn.isLong) await turn.pause();
    }
    if (fold.position >= until) break;
    const limit = Math.min(PAGE_ENTRIES, until - fold.position);
    entries = await store.read({ taskId, after: fold.position, limit });
    if (entries.length === 0) return undefined;
  }
  return { head, fold, snapshotAt: snapshot?.position ?? 0, bytesSince, last };
}
