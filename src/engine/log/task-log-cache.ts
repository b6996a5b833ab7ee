import { decrement, increment, TransientMap } from "../../core/maps.js";
import { isOf } from "../../store/check.js";
import type { TaskHead, TaskScope, TaskStore } from "../../store/task-store.js";
import { TaskFold } from "../../task/fold.js";
import { foldStored } from "./fold-stored.js";
import type { LogHooks } from "./hooks.js";
import { lost } from "./outage.js";
import { TaskLog } from "./task-log.js";

/** Logs that are compared with the store at once. */
const COMPARED_AT_ONCE = 8;

interface LogCallbacks extends LogHooks {
  /** Called with each complete log that is evicted, so that parts of it can be cached. */
  readonly forgotten?: (log: TaskLog) => void;
}

/** The logs in use, one object per task. A task that is not read, run or called costs no memory. */
export class TaskLogCache {
  readonly #store: TaskStore;
  readonly #logs = new TransientMap<TaskLog>();
  readonly #loading = new Map<string, Promise<TaskLog | undefined>>();
  /** Number of calls that wait for a load of a task. */
  readonly #waiting = new TransientMap<number>();

  readonly #forgotten: (log: TaskLog) => void;
  readonly #hooks: LogHooks;

  constructor(store: TaskStore, { forgotten = () => {}, ...hooks }: LogCallbacks = {}) {
    this.#store = store;
    this.#forgotten = forgotten;
    this.#hooks = hooks;
  }

  /** Returns the log of a task if it is in use, without retaining it. */
  get(taskId: string): TaskLog | undefined {
    return this.#logs.get(taskId);
  }

  /** Sets the callback after each append of this process; undefined removes it. */
  set changed(callback: ((taskId: string) => void) | undefined) {
    this.#hooks.changed = callback;
  }

  all(): Iterable<TaskLog> {
    return this.#logs.values();
  }

  /**
   * Returns a task's log, retained until `release`, and loads it if needed. Returns undefined if the task does not
   * exist or belongs to another scope. Both cases cost the same read.
   * @param of scope to check; omitted for any
   */
  async acquire(taskId: string, of?: TaskScope): Promise<TaskLog | undefined> {
    const known = this.#logs.get(taskId);
    const isSeen = known !== undefined && (of === undefined || isOf(known.head, of));
    const log = isSeen ? this.#retained(known) : await this.#loaded(taskId, of);
    if (log === undefined) return undefined;
    return log.isWhole ? log : this.#whole(log);
  }

  #retained(log: TaskLog): TaskLog {
    log.retain();
    this.#logs.set(log.taskId, log);
    return log;
  }

  /**
   * Loads a log and retains it. Until then no log of the task is evicted, because it may have entries that the load did
   * not read and that would be missing from the loaded log.
   */
  async #loaded(taskId: string, of: TaskScope | undefined): Promise<TaskLog | undefined> {
    increment(this.#waiting, taskId);
    try {
      const loaded = await this.#load(taskId, of);
      // A task has one log.
      return loaded && this.#retained(this.#logs.get(taskId) ?? loaded);
    } finally {
      decrement(this.#waiting, taskId);
      const log = this.#logs.get(taskId);
      if (log !== undefined) this.evict(log);
    }
  }

  /** Loads the rest of a task that was only followed until now. */
  async #whole(log: TaskLog): Promise<TaskLog | undefined> {
    let isStored = false;
    try {
      isStored = await log.makeWhole(() => foldStored(this.#store, log.taskId));
    } finally {
      if (!isStored) this.release(log);
    }
    return isStored ? log : undefined;
  }

  /**
   * Creates the log of a new task, retained until `release`.
   * @param id the id that clients see
   */
  create(head: TaskHead, id: string = head.taskId): TaskLog {
    const fold = new TaskFold();
    fold.task.id = id;
    fold.generation = head.generation;
    const log = new TaskLog({ store: this.#store, head, fold, snapshotAt: 0, hooks: this.#hooks });
    log.retain();
    this.#logs.set(head.taskId, log);
    return log;
  }

  /** Releases a log; after the last release it is evicted. */
  release(log: TaskLog): void {
    log.release();
    this.evict(log);
  }

  /** Evicts a log that is not in use, after its writes are stored. The next reader then reads all of it. */
  evict(log: TaskLog): void {
    if (log.isRetained) return log.outlineIfFollowed();
    if (this.#logs.get(log.taskId) !== log || this.#waiting.has(log.taskId)) return;
    if (log.quiet) {
      this.#logs.delete(log.taskId);
      if (log.isWhole) this.#forgotten(log);
    } else void log.stored().then(() => this.evict(log));
  }

  /**
   * Compares the logs in use with the store, after its move to another server, and forgets those of which it lacks
   * entries. Their holders keep them until they end.
   * @param onLost called with each of them
   * @returns the number of logs compared
   * @throws StoreError
   */
  async compare(onLost: (log: TaskLog) => void): Promise<number> {
    const logs = [...this.all()];
    const left = logs.values();
    const compareNext = async (): Promise<void> => {
      for (const log of left) {
        log.abandonSnapshot();
        await log.stored();
        if (await log.isStillStored()) continue;
        if (this.#logs.get(log.taskId) === log) this.#logs.delete(log.taskId);
        log.lose();
        onLost(log);
      }
    };
    await Promise.all(Array.from({ length: COMPARED_AT_ONCE }, compareNext));
    return logs.length;
  }

  #load(taskId: string, of: TaskScope | undefined): Promise<TaskLog | undefined> {
    // Loads for different scopes are not shared.
    const key = of === undefined ? taskId : JSON.stringify([taskId, of.tenant, of.owner]);
    let loading = this.#loading.get(key);
    if (loading === undefined) {
      loading = this.#read(taskId, of).finally(() => this.#loading.delete(key));
      this.#loading.set(key, loading);
    }
    return loading;
  }

  async #read(taskId: string, of: TaskScope | undefined): Promise<TaskLog | undefined> {
    const moves = this.#store.history?.moves;
    const folded = await foldStored(this.#store, taskId, of);
    if (moves !== this.#store.history?.moves) throw lost(taskId);
    if (folded === undefined) return undefined;
    const known = this.#logs.get(taskId);
    return known ?? new TaskLog({ store: this.#store, ...folded, hooks: this.#hooks });
  }
}
