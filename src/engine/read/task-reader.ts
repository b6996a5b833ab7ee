import { background, Semaphore } from "../../core/async.js";
import { Slices } from "../../core/event-loop.js";
import { withinHeap } from "../../core/limits.js";
import { type LogCause, type Logger, logFacts } from "../../core/log.js";
import { defined } from "../../core/members.js";
import { isOf } from "../../store/check.js";
import type { ListRequest, LoadedTask, TaskHead, TaskScope, TaskStore } from "../../store/task-store.js";
import type { TaskFold, View } from "../../task/fold.js";
import { cacheForms } from "../../wire/serialization-cache.js";
import { type FoldedTask, foldLarge, foldSmall, SLICE_MS } from "../log/fold-stored.js";
import { damaged, isTrouble } from "../log/outage.js";
import { type TaskView, taskViewOf } from "./task-handle.js";

/** Limits of the cache of folded tasks for lists, in bytes as JSON: per task, and in total. */
const KEPT_TASK_BYTES = 16 * 1024;
const KEPT_BYTES = 1024 * 1024;

/**
 * Time that a large task is cached after a read or write, in milliseconds: it is often requested several times in a
 * row.
 */
const LARGE_KEPT_MS = 1_000;

/** A task of fewer bytes as JSON is loaded by one read. */
const ONE_READ_BYTES = 1024 * 1024;

/** Size of the tasks on one page of a list, as stored; a page ends early there. */
export const taskPage: { readonly maxBytes: number } = { maxBytes: withinHeap(16 * 1024 * 1024, 16) };

/**
 * Maximum number of pages built concurrently. Each holds its tasks in memory; the next ones mostly find them in the
 * cache.
 */
const MAX_PAGES = 16;

/** Maximum number of pages over `ONE_READ_BYTES` built concurrently: a page's size is not known in advance. */
const MAX_LARGE_PAGES = 4;

/** Number of map entries at which those of garbage-collected tasks are removed. */
const SWEEP_AT = 64;

export type ReadTask = Pick<FoldedTask, "head" | "fold">;

/** A cached small task with the view last returned: most pages use the same view. */
interface KeptTask extends ReadTask {
  shown?: { readonly view: View; readonly moment: TaskView };
}

interface LargeTask {
  readonly position: number;
  readonly folded: Promise<ReadTask | undefined>;
  /** The size of the task as JSON after it is read; 0 before. */
  bytes: number;
  /** Evicts the task after `LARGE_KEPT_MS`. */
  timer?: NodeJS.Timeout;
}

/** A page's slot among the large pages. */
interface PagePlace {
  /** The call that reads the page. */
  readonly cause: LogCause;
  /** Waits for a slot unless the page has one. */
  enter(): Promise<void>;
}

/** A page of a list, without its tasks. */
interface ReadPage {
  readonly total: number;
  /** Cursor of the next page; undefined on the last one. */
  readonly next: { readonly statusTime: number; readonly taskId: string } | undefined;
  /** Status time of the next page's first task. */
  readonly following: number | undefined;
}

export interface TaskPage extends Pick<ReadPage, "total" | "next"> {
  readonly views: readonly TaskView[];
  /** Size of the tasks as returned, in bytes as JSON. */
  readonly bytes: number;
}

interface TaskReaderOptions {
  readonly store: TaskStore;
  readonly logger: Logger;
  /** Returns a task in memory, unless it lags behind a stored position. */
  readonly live: (taskId: string, position: number) => ReadTask | undefined;
  /** Waits for a lagging task in memory if it will catch up soon. */
  readonly caughtUp: (taskId: string, position: number) => Promise<ReadTask | undefined>;
  /** A page of huge tasks ends early, after about this many bytes. */
  readonly maxPageBytes: number;
  /** Limit of the cache of large tasks, in bytes as JSON; the newest task is cached whatever its size. */
  readonly maxKeptBytes: number;
}

/**
 * Reads current tasks. The tasks of a page are loaded together; small ones are cached for the next page, which mostly
 * contains them again. Calls for a large task share one read.
 */
export class TaskReader {
  readonly #options: TaskReaderOptions;
  /** Least recently used first. */
  readonly #kept = new Map<string, KeptTask>();
  #keptBytes = 0;
  /** Pending and cached tasks, oldest first. */
  readonly #largeTasks = new Map<string, LargeTask>();
  #largeBytes = 0;
  /** Large tasks while they are referenced: slow readers share them with later ones. */
  readonly #heldFolds = new Map<string, WeakRef<TaskFold>>();

  readonly #pages = new Semaphore(MAX_PAGES);
  readonly #largePages = new Semaphore(MAX_LARGE_PAGES);

  constructor(options: TaskReaderOptions) {
    this.#options = options;
  }

  /**
   * Returns one task, or undefined if the scope has none. A task of another scope costs the same read as a missing one,
   * even if it is in memory.
   * @throws StoreError; A2AError TASK_DAMAGED
   */
  async get(taskId: string, scope: TaskScope): Promise<ReadTask | undefined> {
    const live = this.#options.live(taskId, 1);
    if (live !== undefined && isOf(live.head, scope)) return live;
    try {
      return await this.#read(taskId, scope);
    } catch (error) {
      throw isTrouble(error) ? error : damaged(taskId, error);
    }
  }

  /**
   * Returns a page of tasks. Skips tasks that retention removed meanwhile or that cannot be read or returned, so that
   * they do not block the page or the next one.
   * @param cause of the log lines about skipped tasks
   * @throws StoreError
   */
  async list(request: ListRequest, view: View, cause: LogCause = {}): Promise<TaskPage> {
    const views: TaskView[] = [];
    let bytes = 0;
    const use = (folded: ReadTask): void => {
      const moment = this.#shown(folded, view, cause);
      if (moment !== undefined) views.push(moment);
      bytes += view.artifacts === false ? folded.fold.sizeWithoutArtifacts : folded.fold.size;
    };
    const { total, next } = await this.read(request, use, cause);
    return { views, bytes, total, next };
  }

  /**
   * Reads a page of tasks, as `list` does. `use` gets each task, and must copy all that it needs later.
   * @throws StoreError
   */
  async read(request: ListRequest, use: (folded: ReadTask) => void, cause: LogCause = {}): Promise<ReadPage> {
    let isLarge = false;
    const place: PagePlace = {
      cause,
      enter: async () => {
        if (isLarge) return;
        await this.#largePages.acquire(1);
        isLarge = true;
      },
    };
    const turn = this.#pages.acquire(1);
    if (turn !== undefined) await turn;
    try {
      return await this.#page(request, use, place);
    } finally {
      this.#pages.release(1);
      if (isLarge) this.#largePages.release(1);
    }
  }

  async #page(request: ListRequest, use: (folded: ReadTask) => void, place: PagePlace): Promise<ReadPage> {
    const page = await this.#options.store.list({ ...request, limit: request.limit + 1 });
    const heads = page.heads.slice(0, request.limit);
    let bytes = 0;
    const slices = new Slices(SLICE_MS);
    const ahead = new Map<string, LoadedTask | undefined>();
    let index = 0;
    for (; index < heads.length; index++) {
      const head = defined(heads[index]);
      if (bytes > ONE_READ_BYTES) await place.enter();
      const known = this.#known(head);
      const folded = known ?? (await this.#listed(heads, index, { ahead, place }));
      const size = folded?.fold.size ?? 0;
      // A page of huge tasks ends early: it may have fewer tasks than requested, and the next page continues.
      if (index > 0 && bytes + size > this.#options.maxPageBytes) break;
      bytes += size;
      if (folded !== undefined) use(folded);
      const isQuick = known !== undefined && size <= KEPT_TASK_BYTES;
      if (!isQuick && slices.isLong) await slices.pause();
    }
    const following = page.heads[index];
    return { total: page.total, next: following && heads[index - 1], following: following?.statusTime };
  }

  /** Returns the task of a head if memory has it at that position. */
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

  /** Loads a task of a page together with the later uncached ones. */
  async #listed(
    heads: readonly TaskHead[],
    index: number,
    { ahead, place }: { readonly ahead: Map<string, LoadedTask | undefined>; readonly place: PagePlace },
  ): Promise<ReadTask | undefined> {
    const { taskId } = defined(heads[index]);
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
      const facts = { ...logFacts(place.cause), taskId };
      this.#options.logger.error({ err: error, ...facts }, "a task cannot be read; it is left out of a list");
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
      const { taskId, position } = defined(heads[at]);
      const known = at > index && (ahead.has(taskId) || this.#kept.has(taskId) || live(taskId, position) !== undefined);
      if (!known) taskIds.push(taskId);
    }
    try {
      const loaded = await store.loadMany({ taskIds });
      for (const [at, each] of loaded.entries()) ahead.set(defined(taskIds[at]), each);
    } catch (error) {
      // One of the tasks is damaged: load this one alone.
      if (isTrouble(error)) throw error;
      const taskId = defined(taskIds[0]);
      ahead.set(taskId, await store.load({ taskId }));
    }
  }

  #shown(folded: KeptTask, view: View, cause: LogCause): TaskView | undefined {
    try {
      // The fold of a log in use changes; only cached tasks are immutable.
      if (this.#kept.get(folded.head.taskId) !== folded) return taskViewOf(folded, view);
      const known = folded.shown;
      if (known !== undefined && isSameView(known.view, view)) return known.moment;
      const moment = taskViewOf(folded, view);
      cacheForms(moment.task);
      folded.shown = { view, moment };
      return moment;
    } catch (error) {
      const facts = { ...logFacts(cause), taskId: folded.head.taskId };
      this.#options.logger.error({ err: error, ...facts }, "a task cannot be shown; it is left out of a list");
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

  /** Folds a large task, once for all calls that request it at this position. */
  #large(loaded: LoadedTask): Promise<ReadTask | undefined> {
    const { taskId, position } = loaded.head;
    const known = this.#largeTasks.get(taskId);
    if (known?.position === position) return known.folded;
    // A slow reader may still hold the result of an earlier read.
    const held = this.#heldFolds.get(taskId)?.deref();
    if (held?.position === position) return Promise.resolve({ head: loaded.head, fold: held });
    return this.#share(taskId, { position, folded: foldLarge(this.#options.store, loaded), bytes: 0 });
  }

  /** Caches a large task that was in use, since reading it again is slow. */
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

  /** Evicts the oldest large tasks until the newest one fits. */
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
    // A pending timer would keep the evicted task in memory.
    clearTimeout(large.timer);
  }

  /** Empties the caches: the store may have other entries at the same positions. */
  forgetAll(): void {
    for (const folded of [...this.#kept.values()]) this.#forget(folded);
    for (const taskId of [...this.#largeTasks.keys()]) this.#forgetLarge(taskId);
    this.#heldFolds.clear();
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
