import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import { callAll } from "../core/event-loop.js";
import { isOf } from "../store/check.js";
import type { TaskStore } from "../store/task-store.js";
import { decodeEntry } from "../task/entry.js";
import type { TaskFold } from "../task/fold.js";
import { foldLarge } from "./log/fold-stored.js";
import type { LeaseKeeper, SignsOfLife } from "./log/lease.js";
import type { TaskLog } from "./log/task-log.js";
import type { TaskLogCache } from "./log/task-log-cache.js";

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
  /**
   * A task as it was at one of its entries; undefined where there is none of the tenant and owner any more. Of a task in memory that stands there
   * it costs nothing; any other is folded, of large ones one at a time.
   */
  taskAt(request: TaskAtRequest): PastTask | Promise<PastTask | undefined>;
}

/** Which task at which entry. */
export interface TaskAtRequest {
  readonly taskId: string;
  readonly tenant: string;
  readonly owner: string;
  readonly position: number;
}

/** A task as it was. */
export interface PastTask {
  readonly fold: TaskFold;
  /** Whether the fold goes on by itself in the next turn of the event loop; otherwise it is the caller's. */
  readonly isLive: boolean;
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
  /** Ends with the fold of the last large task that was asked for. */
  #largeFolds: Promise<unknown> = Promise.resolve();

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
