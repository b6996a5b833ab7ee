import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import { callAll } from "../core/event-loop.js";
import { isOf } from "../store/check.js";
import type { TaskStore } from "../store/task-store.js";
import { decodeEntry } from "../task/entry.js";
import type { TaskFold } from "../task/fold.js";
import { foldLarge } from "./log/fold-stored.js";
import type { HeartbeatStatus, LeaseKeeper } from "./log/lease-keeper.js";
import type { TaskLog } from "./log/task-log.js";
import type { TaskLogCache } from "./log/task-log-cache.js";

/** Entries per read from the store. */
const pageSize = 16;

/** Selects entries of a task. */
export interface EntriesRequest {
  readonly taskId: string;
  readonly tenant: string;
  readonly owner: string;
  /** Only entries after this position. */
  readonly after: number;
  /** Position of the last entry, if the caller has already found the task by tenant and owner. Saves the lookup. */
  readonly last?: number | undefined;
}

/** The engine's interface for push notifications: notifies of new entries and reads them. */
export interface EnginePushes {
  /** The name under which this process claims deliveries. The engine sends its heartbeats. */
  readonly holder: string;
  /** A process without heartbeats for this time has lost its claims, in milliseconds. */
  readonly leaseMs: number;
  /** Lease status of this process as other processes see it. */
  readonly heartbeatStatus: HeartbeatStatus;
  /** Sends a heartbeat now and updates `heartbeatStatus`. */
  heartbeat(): Promise<void>;
  /** True if ages by the engine's clock are currently reliable. */
  isSteady(): boolean;
  /** Calls back at `notify`, and after each stored append of this process to a task with push configurations. */
  onAppend(listener: (taskId: string) => void): void;
  /** Notifies the listeners that a task may have a notification due. */
  notify(taskId: string): void;
  /**
   * Yields a task's stored entries after a position, in order, page by page, up to the end of its log at the time of
   * the read. Loads no log into memory. Yields nothing for another tenant's or owner's task.
   */
  readEntries(request: EntriesRequest): AsyncIterable<readonly LogEntry[]>;
  /**
   * Returns the task as of one of its entries, or undefined if the tenant and owner no longer have it. Free if the task
   * is in memory at that position; otherwise it is folded, large tasks one at a time.
   */
  taskAt(request: TaskAtRequest): PastTask | Promise<PastTask | undefined>;
}

interface TaskAtRequest {
  readonly taskId: string;
  readonly tenant: string;
  readonly owner: string;
  readonly position: number;
}

/** A task at an earlier entry. */
export interface PastTask {
  readonly fold: TaskFold;
  /** True if the fold is shared and may change in the next event-loop turn; otherwise the caller owns it. */
  readonly isLive: boolean;
}

interface PushesSource {
  readonly store: TaskStore;
  readonly holder: string;
  readonly leaseMs: number;
  readonly leases: LeaseKeeper;
  readonly logs: TaskLogCache;
  readonly isSteady: () => boolean;
}

export class Pushes implements EnginePushes {
  readonly holder: string;
  readonly leaseMs: number;
  readonly #source: PushesSource;
  #listeners: readonly ((taskId: string) => void)[] = [];
  /** Resolves after the most recently requested fold of a large task. */
  #largeFolds: Promise<unknown> = Promise.resolve();

  constructor(source: PushesSource) {
    this.#source = source;
    this.holder = source.holder;
    this.leaseMs = source.leaseMs;
  }

  get heartbeatStatus(): HeartbeatStatus {
    return this.#source.leases.heartbeatStatus;
  }

  heartbeat(): Promise<void> {
    return this.#source.leases.heartbeat();
  }

  isSteady(): boolean {
    return this.#source.isSteady();
  }

  onAppend(listener: (taskId: string) => void): void {
    this.#listeners = [...this.#listeners, listener];
  }

  notify(taskId: string): void {
    callAll(this.#listeners, taskId);
  }

  async *readEntries(request: EntriesRequest): AsyncGenerator<readonly LogEntry[], void, undefined> {
    const { taskId } = request;
    const last = request.last ?? (await this.#lastOf(request));
    // Entries appended meanwhile may be included: the reader checks the store at the end anyway.
    for (let position = request.after; position < last; ) {
      const entries = await this.#after(taskId, position);
      const end = entries.at(-1);
      if (end === undefined) return;
      yield entries;
      position = end.position;
    }
  }

  taskAt(request: TaskAtRequest): PastTask | Promise<PastTask | undefined> {
    const log = this.#source.logs.get(request.taskId);
    const isThere = log?.isWhole === true && log.fold.position === request.position && isOf(log.head, request);
    return isThere ? { fold: log.fold, isLive: true } : this.#stored(request);
  }

  async #stored({ taskId, tenant, owner, position }: TaskAtRequest): Promise<PastTask | undefined> {
    const { store } = this.#source;
    const of = { tenant, owner };
    const loaded = await store.load({ taskId, of });
    if (loaded === undefined || !isOf(loaded.head, of) || loaded.head.position < position) return undefined;
    const { snapshot, entries, head } = loaded;
    const isWhole = snapshot?.pieces === undefined && (snapshot?.position ?? 0) + entries.length >= head.position;
    const past = async (): Promise<PastTask | undefined> => {
      const folded = await foldLarge(store, loaded, position);
      return folded && { fold: folded.fold, isLive: false };
    };
    if (isWhole) return past();
    const before = this.#largeFolds;
    const made = before.then(past);
    this.#largeFolds = made.catch(() => {});
    return made;
  }

  /** Returns the position of the task's last entry, 0 for another tenant's or owner's task. */
  async #lastOf({ taskId, tenant, owner }: EntriesRequest): Promise<number> {
    const { logs, store } = this.#source;
    const log = inMemory(logs.get(taskId));
    const inLog = log?.head;
    // In a shared store, other processes' appends are visible there first.
    const head =
      inLog !== undefined && !store.shared && log?.uncertain === false ? inLog : await store.head({ taskId });
    return head !== undefined && isOf(head, { tenant, owner }) ? head.position : 0;
  }

  async #after(taskId: string, position: number): Promise<readonly LogEntry[]> {
    const { logs, store } = this.#source;
    const log = inMemory(logs.get(taskId));
    if (log !== undefined) {
      const entries = log.tail.after(position);
      // Other processes' appends reach this log later than the store.
      const isNews = entries?.length === 0 && (store.shared || log.uncertain);
      if (entries !== undefined && !isNews) return entries;
      if (!isNews) return log.pages.after(position);
    }
    return (await store.read({ taskId, after: position, limit: pageSize })).map(decodeEntry);
  }
}

/** Returns a log that has its task; a log being created has no stored entry yet. */
function inMemory(log: TaskLog | undefined): TaskLog | undefined {
  return log === undefined || log.fold.position === 0 ? undefined : log;
}
