import { TransientMap } from "../../core/maps.js";
import { isOf } from "../../store/check.js";
import type { TaskHead, TaskScope, TaskStore } from "../../store/task-store.js";
import { TaskFold } from "../../task/fold.js";
import { foldStored } from "./fold-stored.js";
import { TaskLog } from "./task-log.js";

/** Who is to hear of logs. */
export interface LogCallbacks {
  /** Called with each log of a whole task that is forgotten, so that parts of it may be kept. */
  readonly forgotten?: (log: TaskLog) => void;
  /** Called after each append of this process to a task that has push configurations. */
  readonly pushed?: (taskId: string) => void;
}

/**
 * The logs in use: one object per task, for as long as it is in use. A task that is not read, run or called
 * costs no memory.
 */
export class TaskLogCache {
  readonly #store: TaskStore;
  readonly #logs = new TransientMap<TaskLog>();
  readonly #loading = new Map<string, Promise<TaskLog | undefined>>();

  readonly #forgotten: (log: TaskLog) => void;
  readonly #pushed: (taskId: string) => void;

  constructor(store: TaskStore, { forgotten = () => {}, pushed = () => {} }: LogCallbacks = {}) {
    this.#store = store;
    this.#forgotten = forgotten;
    this.#pushed = pushed;
  }

  /** The log of a task that is in use, without keeping it in use. */
  get(taskId: string): TaskLog | undefined {
    return this.#logs.get(taskId);
  }

  /** Every log in use. */
  all(): Iterable<TaskLog> {
    return this.#logs.values();
  }

  /**
   * A task's log, kept in memory until `release`; it is read when needed. Undefined when there is no such task, or none of
   * the scope: both are found out by the same read, wherever the task is.
   * @param of left out: whoever has it
   */
  async acquire(taskId: string, of?: TaskScope): Promise<TaskLog | undefined> {
    const known = this.#logs.get(taskId);
    const isSeen = known !== undefined && (of === undefined || isOf(known.head, of));
    const loaded = isSeen ? known : await this.#load(taskId, of);
    if (loaded === undefined) return undefined;
    // Another load may have ended first: there is one log for a task.
    const log = this.#logs.get(taskId) ?? loaded;
    log.retain();
    this.#logs.set(taskId, log);
    return log.isWhole ? log : this.#whole(log);
  }

  /** Reads the rest of a task that was only followed until now. */
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
   * Makes the log of a new task, kept in memory until `release`.
   * @param shownAs what clients call it, where that is another id
   */
  create(head: TaskHead, shownAs?: string): TaskLog {
    const fold = new TaskFold();
    const log = new TaskLog({ store: this.#store, head, fold, snapshotAt: 0, pushed: this.#pushed, shownAs });
    log.retain();
    this.#logs.set(head.taskId, log);
    return log;
  }

  /** Ends one use of a log; the last one to end takes it from memory. */
  release(log: TaskLog): void {
    log.release();
    this.evict(log);
  }

  /** Forgets a log that is not in use, once nothing of it is on its way to the store: the next reader then reads all of it. */
  evict(log: TaskLog): void {
    if (log.isRetained) return log.outlineIfFollowed();
    if (this.#logs.get(log.taskId) !== log) return;
    if (log.quiet) {
      this.#logs.delete(log.taskId);
      if (log.isWhole) this.#forgotten(log);
    } else void log.stored().then(() => this.evict(log));
  }

  #load(taskId: string, of: TaskScope | undefined): Promise<TaskLog | undefined> {
    // Of another scope it is another question.
    const key = of === undefined ? taskId : JSON.stringify([taskId, of.tenant, of.owner]);
    let loading = this.#loading.get(key);
    if (loading === undefined) {
      loading = this.#read(taskId, of).finally(() => this.#loading.delete(key));
      this.#loading.set(key, loading);
    }
    return loading;
  }

  async #read(taskId: string, of: TaskScope | undefined): Promise<TaskLog | undefined> {
    const folded = await foldStored(this.#store, taskId, of);
    if (folded === undefined) return undefined;
    const known = this.#logs.get(taskId);
    return known ?? new TaskLog({ store: this.#store, ...folded, pushed: this.#pushed });
  }
}
