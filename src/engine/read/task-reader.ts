import { background, Room } from "../../core/async.js";
import { A2AError } from "../../core/error.js";
import type { Logger } from "../../core/log.js";
import { isOf } from "../../store/check.js";
import {
  type ListRequest,
  type LoadedTask,
  StoreError,
  type TaskHead,
  type TaskScope,
  type TaskStore,
} from "../../store/task-store.js";
import type { TaskFold, View } from "../../task/fold.js";
import { cacheForms } from "../../wire/serialization-cache.js";
import { type FoldedTask, foldLarge, foldSmall, Slices } from "../log/fold-stored.js";
import { type TaskView, taskViewOf } from "./task-handle.js";

/** Folded tasks that are kept for the next list: each up to this size, in bytes as JSON, and all of them together. */
const KEPT_TASK_BYTES = 16 * 1024;
const KEPT_BYTES = 1024 * 1024;

/** How long a large task is kept after it was read or written, in milliseconds: it is often asked for several times at once. */
const LARGE_KEPT_MS = 1_000;

/** A task of fewer bytes as JSON comes from the store in one read. */
const ONE_READ_BYTES = 1024 * 1024;

/** Pages that are made at the same time, at most. Each holds its tasks in memory; the next ones mostly find them in the cache. */
const MAX_PAGES = 16;

/** Pages of more bytes than one read that are made at the same time, at most: the size of a page is not known before. */
const MAX_LARGE_PAGES = 4;

/** From this many on, entries of large tasks that are not in use any more are removed. */
const SWEEP_AT = 64;

/** A task as it stands. */
export type ReadTask = Pick<FoldedTask, "head" | "fold">;

/** A small task that is kept, and what was shown of it last: most pages are of the same view. */
interface KeptTask extends ReadTask {
  shown?: { readonly view: View; readonly moment: TaskView };
}

interface LargeTask {
  readonly position: number;
  readonly folded: Promise<ReadTask | undefined>;
  /** The size of the task as JSON once it is read; 0 before. */
  bytes: number;
  /** Forgets the task after a while. */
  timer?: NodeJS.Timeout;
}

/** The place of a page among the large ones that are being made. */
interface PagePlace {
  /** Waits for a place unless the page has one. */
  enter(): Promise<void>;
}

/** A page of tasks. */
export interface TaskPage {
  readonly moments: readonly TaskView[];
  /** What is shown of these tasks weighs so much. */
  readonly bytes: number;
  readonly total: number;
  /** Where the next page begins; undefined on the last one. */
  readonly next: { readonly statusTime: number; readonly taskId: string } | undefined;
}

export interface TaskReaderOptions {
  readonly store: TaskStore;
  readonly logger: Logger;
  /** A task in memory, unless it is behind a position that the store has. */
  readonly live: (taskId: string, position: number) => ReadTask | undefined;
  /** The same of one that is behind, when it is there in a moment. */
  readonly caughtUp: (taskId: string, position: number) => Promise<ReadTask | undefined>;
  /** A page of huge tasks ends early, after about this many bytes. */
  readonly maxPageBytes: number;
  /** Large tasks are kept for the next call up to this size together, in bytes as JSON; the newest one is kept whatever its size. */
  readonly maxKeptBytes: number;
}

/**
 * Reads tasks as they stand. Those of a page are read in one go; small ones are kept folded for the next page, which
 * mostly has them again. Calls that ask for a large task while it is being read share the result.
 */
export class TaskReader {
  readonly #options: TaskReaderOptions;
  /** The least recently used first. */
  readonly #kept = new Map<string, KeptTask>();
  #keptBytes = 0;
  /** Those that are being read, and those that are kept; the oldest first. */
  readonly #largeTasks = new Map<string, LargeTask>();
  #largeBytes = 0;
  /** Large tasks, for as long as they are in use: slow readers share them with those that come later. */
  readonly #heldFolds = new Map<string, WeakRef<TaskFold>>();

  readonly #pages = new Room(MAX_PAGES);
  readonly #largePages = new Room(MAX_LARGE_PAGES);

  constructor(options: TaskReaderOptions) {
    this.#options = options;
  }

  /**
   * One task; undefined when the scope has none. Of a task of another scope no more is read than of one that is not there,
   * also where it is in memory.
   * @throws StoreError; A2AError TASK_DAMAGED
   */
  async get(taskId: string, scope: TaskScope): Promise<ReadTask | undefined> {
    const live = this.#options.live(taskId, 1);
    if (live !== undefined && isOf(live.head, scope)) return live;
    try {
      return await this.#read(taskId, scope);
    } catch (error) {
      if (isTrouble(error)) throw error;
      this.#options.logger.error({ err: error, taskId }, "a task cannot be read");
      throw damaged(taskId, error);
    }
  }

  /**
   * A page of tasks. One that retention removed meanwhile, or that cannot be read or shown, is left out: the rest of
   * the page is still there, and so is the next page.
   * @throws StoreError
   */
  async list(request: ListRequest, view: View): Promise<TaskPage> {
    let isLarge = false;
    const place: PagePlace = {
      enter: async () => {
        if (isLarge) return;
        await this.#largePages.acquire(1);
        isLarge = true;
      },
    };
    const turn = this.#pages.acquire(1);
    if (turn !== undefined) await turn;
    try {
      return await this.#page(request, view, place);
    } finally {
      this.#pages.release(1);
      if (isLarge) this.#largePages.release(1);
    }
  }

  async #page(request: ListRequest, view: View, place: PagePlace): Promise<TaskPage> {
    const page = await this.#options.store.list({ ...request, limit: request.limit + 1 });
    const heads = page.heads.slice(0, request.limit);
    const moments: TaskView[] = [];
    let last: TaskHead | undefined;
    let bytes = 0;
    let shown = 0;
    const slices = new Slices();
    const ahead = new Map<string, LoadedTask | undefined>();
    for (let index = 0; index < heads.length; index++) {
      const head = heads[index] as TaskHead;
      if (bytes > ONE_READ_BYTES) await place.enter();
      const known = this.#known(head);
      const folded = known ?? (await this.#listed(heads, index, { ahead, place }));
      const size = folded?.fold.size ?? 0;
      // A page of huge tasks ends early: fewer tasks than asked for are allowed, and the next page goes on.
      if (last !== undefined && bytes + size > this.#options.maxPageBytes) break;
      bytes += size;
      last = head;
      const moment = folded && this.#shown(folded, view);
      if (moment !== undefined) moments.push(moment);
      shown += (view.artifacts === false ? folded?.fold.sizeWithoutArtifacts : size) ?? 0;
      const isQuick = known !== undefined && size <= KEPT_TASK_BYTES;
      if (!isQuick && slices.isLong) await slices.pause();
    }
    return { moments, bytes: shown, total: page.total, next: last === page.heads.at(-1) ? undefined : last };
  }

  /** The task of a head, if it is in memory as that says. */
  #known(head: TaskHead): KeptTask | undefined {
    const live = this.#options.live(head.taskId, head.position);
    if (live !== undefined) return live;
    const kept = this.#kept.get(head.taskId);
    if (kept === undefined) return undefined;
    this.#forget(kept);
    if (kept.fold.position !== head.position) return undefined;
    this.#keep(kept);
    return kept;
  }

  /** Reads a task of a page, with those behind it that are not known either. */
  async #listed(
    heads: readonly TaskHead[],
    index: number,
    { ahead, place }: { readonly ahead: Map<string, LoadedTask | undefined>; readonly place: PagePlace },
  ): Promise<ReadTask | undefined> {
    const { taskId } = heads[index] as TaskHead;
    try {
      if (!ahead.has(taskId)) await this.#readAhead(heads, index, ahead);
      const loaded = ahead.get(taskId);
      ahead.delete(taskId);
      if (loaded === undefined) return undefined;
      const folded = foldSmall(loaded) ?? (await place.enter().then(() => this.#liveOrLarge(loaded)));
      if (folded !== undefined && folded.fold.size <= KEPT_TASK_BYTES) this.#keep(folded);
      return folded;
    } catch (error) {
      if (isTrouble(error)) throw error;
      this.#options.logger.error({ err: error, taskId }, "a task cannot be read; it is left out of a list");
      return undefined;
    }
  }

  async #readAhead(
    heads: readonly TaskHead[],
    index: number,
    ahead: Map<string, LoadedTask | undefined>,
  ): Promise<void> {
    const { store, live } = this.#options;
    const taskIds: string[] = [];
    for (let at = index; at < heads.length; at++) {
      const { taskId, position } = heads[at] as TaskHead;
      const known = at > index && (ahead.has(taskId) || this.#kept.has(taskId) || live(taskId, position) !== undefined);
      if (!known) taskIds.push(taskId);
    }
    try {
      const loaded = await store.loadMany({ taskIds });
      for (const [at, each] of loaded.entries()) ahead.set(taskIds[at] as string, each);
    } catch (error) {
      // One of them is damaged: each by itself then.
      if (isTrouble(error)) throw error;
      const taskId = taskIds[0] as string;
      ahead.set(taskId, await store.load({ taskId }));
    }
  }

  #shown(folded: KeptTask, view: View): TaskView | undefined {
    try {
      // A log in use goes on; only what is kept here stays as it is.
      if (this.#kept.get(folded.head.taskId) !== folded) return taskViewOf(folded, view);
      const known = folded.shown;
      if (known !== undefined && isSameView(known.view, view)) return known.moment;
      const moment = taskViewOf(folded, view);
      cacheForms(moment.task);
      folded.shown = { view, moment };
      return moment;
    } catch (error) {
      const { taskId } = folded.head;
      this.#options.logger.error({ err: error, taskId }, "a task cannot be shown; it is left out of a list");
      return undefined;
    }
  }

  async #read(taskId: string, of: TaskScope): Promise<ReadTask | undefined> {
    const loaded = await this.#options.store.load({ taskId, of });
    if (loaded === undefined || !isOf(loaded.head, of)) return undefined;
    return foldSmall(loaded) ?? this.#liveOrLarge(loaded);
  }

  async #liveOrLarge(loaded: LoadedTask): Promise<ReadTask | undefined> {
    const { taskId, position } = loaded.head;
    return (await this.#options.caughtUp(taskId, position)) ?? this.#large(loaded);
  }

  /** Folds a large task, once for all calls that ask for it at this position. */
  #large(loaded: LoadedTask): Promise<ReadTask | undefined> {
    const { taskId, position } = loaded.head;
    const known = this.#largeTasks.get(taskId);
    if (known?.position === position) return known.folded;
    // A slow reader may still hold the result of an earlier read.
    const held = this.#heldFolds.get(taskId)?.deref();
    if (held?.position === position) return Promise.resolve({ head: loaded.head, fold: held });
    return this.#share(taskId, { position, folded: foldLarge(this.#options.store, loaded), bytes: 0 });
  }

  /** Keeps a large task that was in use until now for the next call: reading it again takes long. */
  keepLarge({ head, fold, uncertain }: ReadTask & { readonly uncertain: boolean }): void {
    if (fold.size < ONE_READ_BYTES || uncertain) return;
    void this.#share(head.taskId, { position: fold.position, folded: Promise.resolve({ head, fold }), bytes: 0 });
  }

  #share(taskId: string, large: LargeTask): Promise<ReadTask | undefined> {
    this.#forgetLarge(taskId);
    this.#largeTasks.set(taskId, large);
    const forget = (): void => {
      if (this.#largeTasks.get(taskId) === large) this.#forgetLarge(taskId);
    };
    large.folded.then((folded) => {
      if (folded === undefined) return forget();
      this.#holdWeakly(taskId, folded.fold);
      if (this.#largeTasks.get(taskId) !== large) return;
      large.bytes = folded.fold.size;
      large.timer = background(setTimeout(forget, LARGE_KEPT_MS));
      this.#largeBytes += large.bytes;
      this.#forgetOldest(taskId);
    }, forget);
    return large.folded;
  }

  /** Makes place for the newest of the kept tasks. */
  #forgetOldest(newest: string): void {
    for (const [taskId, { bytes }] of this.#largeTasks) {
      if (this.#largeBytes <= this.#options.maxKeptBytes) return;
      if (taskId !== newest && bytes > 0) this.#forgetLarge(taskId);
    }
  }

  #forgetLarge(taskId: string): void {
    const large = this.#largeTasks.get(taskId);
    if (large === undefined) return;
    this.#largeTasks.delete(taskId);
    this.#largeBytes -= large.bytes;
    // A timer holds what it forgets.
    clearTimeout(large.timer);
  }

  #holdWeakly(taskId: string, fold: TaskFold): void {
    this.#heldFolds.set(taskId, new WeakRef(fold));
    if (this.#heldFolds.size < SWEEP_AT) return;
    for (const [id, held] of this.#heldFolds) if (held.deref() === undefined) this.#heldFolds.delete(id);
  }

  #keep(folded: ReadTask): void {
    this.#kept.set(folded.head.taskId, folded);
    this.#keptBytes += folded.fold.size;
    for (const oldest of this.#kept.values()) {
      if (this.#keptBytes <= KEPT_BYTES) return;
      this.#forget(oldest);
    }
  }

  #forget(folded: ReadTask): void {
    if (this.#kept.delete(folded.head.taskId)) this.#keptBytes -= folded.fold.size;
  }
}

function isSameView(a: View, b: View): boolean {
  return a.historyLength === b.historyLength && a.artifacts === b.artifacts;
}

/** Whether an error says that the store is out of order, and not only one task. */
function isTrouble(error: unknown): boolean {
  return error instanceof StoreError && error.kind !== "damaged";
}

function damaged(taskId: string, cause: unknown): A2AError {
  return new A2AError("TASK_DAMAGED", "The task cannot be read: what is stored of it is damaged.", {
    cause,
    metadata: { taskId },
  });
}
