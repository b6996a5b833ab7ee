import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import { callAll } from "../core/call-all.js";
import { isOf } from "../store/check.js";
import type { TaskStore } from "../store/task-store.js";
import { decodeEntry } from "../task/entry.js";
import type { LeaseKeeper, SignsOfLife } from "./lease.js";
import type { TaskLog } from "./task-log.js";
import type { TaskLogCache } from "./task-log-cache.js";

/** Entries that are read from the store in one go. */
const pageSize = 16;

/** Which entries of which task are read. */
export interface EntriesRequest {
  readonly taskId: string;
  readonly tenant: string;
  readonly owner: string;
  /** Only entries behind this position. */
  readonly after: number;
  /** Position of the last entry, from who has found it by tenant and owner: the task is not looked up then. */
  readonly last?: number | undefined;
}

/** What push notifications need of an engine: when there may be something to deliver, what it is, and whose it is. */
export interface EnginePushes {
  /** The name under which this process claims deliveries, and for which the engine says that it lives. */
  readonly holder: string;
  /** A process that shows no life for so long has lost what it claimed, in milliseconds. */
  readonly leaseMs: number;
  /** How long others take this process for a living one. */
  readonly life: SignsOfLife;
  /** Says now that this process lives; `life` then knows whether others had given it up. */
  beat(): Promise<void>;
  /** Whether ages by the engine's clock can be relied on at the moment. */
  isSteady(): boolean;
  /** Calls back after each append of this process to a task that has push configurations, once it is stored, and at `news`. */
  onNews(listener: (taskId: string) => void): void;
  /** Says that something of a task may be due. */
  news(taskId: string): void;
  /**
   * The stored entries of a task behind a position, in order, page by page, up to the end that its log has while they are read. It makes
   * nothing of a task that is not in memory, and keeps nothing there. No entries of a task of another tenant or owner.
   */
  readEntries(request: EntriesRequest): AsyncIterable<readonly LogEntry[]>;
}

/** What they are made of. */
export interface PushesSource {
  readonly store: TaskStore;
  readonly holder: string;
  readonly leaseMs: number;
  readonly leases: LeaseKeeper;
  readonly logs: TaskLogCache;
  readonly isSteady: () => boolean;
}

/** See `EnginePushes`. */
export class Pushes implements EnginePushes {
  readonly holder: string;
  readonly leaseMs: number;
  readonly #source: PushesSource;
  #listeners: readonly ((taskId: string) => void)[] = [];

  constructor(source: PushesSource) {
    this.#source = source;
    this.holder = source.holder;
    this.leaseMs = source.leaseMs;
  }

  get life(): SignsOfLife {
    return this.#source.leases.life;
  }

  beat(): Promise<void> {
    return this.#source.leases.beat();
  }

  isSteady(): boolean {
    return this.#source.isSteady();
  }

  onNews(listener: (taskId: string) => void): void {
    this.#listeners = [...this.#listeners, listener];
  }

  news(taskId: string): void {
    callAll(this.#listeners, taskId);
  }

  async *readEntries(request: EntriesRequest): AsyncGenerator<readonly LogEntry[], void, undefined> {
    const { taskId } = request;
    const last = request.last ?? (await this.#lastOf(request));
    // What comes meanwhile may be read as well: whoever reads asks the store in the end.
    for (let position = request.after; position < last; ) {
      const entries = await this.#after(taskId, position);
      const end = entries.at(-1);
      if (end === undefined) return;
      yield entries;
      position = end.position;
    }
  }

  /** Position of the last entry of the task, 0 for one of another tenant or owner. */
  async #lastOf({ taskId, tenant, owner }: EntriesRequest): Promise<number> {
    const { logs, store } = this.#source;
    const log = inMemory(logs.get(taskId));
    const inLog = log?.head;
    // What other processes appended the store knows first.
    const head =
      inLog !== undefined && !store.shared && log?.uncertain === false ? inLog : await store.head({ taskId });
    return head !== undefined && isOf(head, { tenant, owner }) ? head.position : 0;
  }

  async #after(taskId: string, position: number): Promise<readonly LogEntry[]> {
    const { logs, store } = this.#source;
    const log = inMemory(logs.get(taskId));
    if (log !== undefined) {
      const entries = log.tail.after(position);
      // Of what other processes append, this one learns later than the store.
      const isNews = entries?.length === 0 && (store.shared || log.uncertain);
      if (entries !== undefined && !isNews) return entries;
      if (!isNews) return log.pages.after(position);
    }
    return (await store.read({ taskId, after: position, limit: pageSize })).map(decodeEntry);
  }
}

/** A log that knows its task: one that is being created has nothing stored yet. */
function inMemory(log: TaskLog | undefined): TaskLog | undefined {
  return log === undefined || log.fold.position === 0 ? undefined : log;
}
