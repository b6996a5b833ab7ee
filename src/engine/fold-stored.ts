import { type LoadedTask, StoreError, type TaskHead, type TaskStore } from "../store/task-store.js";
import { decodeEntry } from "../task/entry.js";
import { SnapshotReader, TaskFold } from "../task/fold.js";

/** Reading and folding a large task lets others have their turn after this time, in milliseconds. */
const SLICE_MS = 4;

/** Entries that are asked for in one go; the store bounds the bytes. */
const PAGE_ENTRIES = 1_000;

/** How often a task is read from the start because its snapshot was replaced meanwhile. */
const MAX_ATTEMPTS = 5;

/** A task as a store has it, folded. */
export interface FoldedTask {
  readonly head: TaskHead;
  readonly fold: TaskFold;
  readonly snapshotAt: number;
}

/**
 * Reads and folds one task, as of the moment that it is first looked at; undefined when there is none. A small one is
 * one read; a large one comes in pieces, and the event loop goes on between them.
 */
export async function foldStored(store: TaskStore, taskId: string): Promise<FoldedTask | undefined> {
  for (let attempt = 1; ; attempt++) {
    const loaded = await store.load({ taskId });
    if (loaded === undefined) return undefined;
    const folded = foldSmall(loaded) ?? (await foldLarge(store, loaded, attempt < MAX_ATTEMPTS));
    if (folded !== undefined) return folded;
  }
}

/** Folds what came as a whole and is quick to fold; undefined for what is not. */
export function foldSmall({ head, snapshot, entries }: LoadedTask): FoldedTask | undefined {
  const position = snapshot?.position ?? 0;
  if (position + entries.length < head.position || entries.length > PAGE_ENTRIES) return undefined;
  if (snapshot?.pieces !== undefined) return undefined;
  const fold = snapshot === undefined ? new TaskFold() : new SnapshotReader(snapshot.bytes).fold;
  for (let index = 0; index < entries.length; index++) fold.apply(decodeEntry(entries[index] as Uint8Array));
  return { head, fold, snapshotAt: position };
}

/** Undefined when the task changed in a way that makes it necessary to begin anew. */
async function foldLarge(store: TaskStore, loaded: LoadedTask, again: boolean): Promise<FoldedTask | undefined> {
  const { head, snapshot } = loaded;
  const { taskId } = head;
  const turn = new Slices();
  let fold = new TaskFold();
  if (snapshot !== undefined) {
    const reader = new SnapshotReader(snapshot.bytes);
    for (let piece = 1; piece < (snapshot.pieces ?? 1); piece++) {
      await turn.pause();
      const bytes = await store.readSnapshot({ taskId, position: snapshot.position, piece });
      if (bytes === undefined) return again ? undefined : unreadable(taskId);
      reader.add(bytes);
    }
    fold = reader.fold;
  }
  for (let entries = loaded.entries; ; ) {
    for (const bytes of entries) {
      fold.apply(decodeEntry(bytes));
      if (turn.isLong) await turn.pause();
    }
    if (fold.position >= head.position) break;
    const limit = Math.min(PAGE_ENTRIES, head.position - fold.position);
    entries = await store.read({ taskId, after: fold.position, limit });
    if (entries.length > 0) continue;
    // Retention took it away meanwhile, or its log has an end before its end.
    if ((await store.head({ taskId })) === undefined && again) return undefined;
    return unreadable(taskId);
  }
  return { head, fold, snapshotAt: snapshot?.position ?? 0 };
}

function unreadable(taskId: string): never {
  throw new StoreError("damaged", `The log of task ${taskId} has no entry where one belongs.`);
}

/** Lets the event loop go on in the middle of long work. */
export class Slices {
  #begin = performance.now();

  /** Whether the others have waited long enough. */
  get isLong(): boolean {
    return performance.now() - this.#begin > SLICE_MS;
  }

  /** Goes on in the next round of the event loop if this one is long by now. */
  async pause(): Promise<void> {
    if (!this.isLong) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#begin = performance.now();
  }
}
