import type { ConversationKey, TaskHead, TaskScope } from "./task-head.js";

/**
 * Part of the store interface for operators: lists over all owners and tenants, and the removal of named tasks.
 *
 * The cost of a page does not depend on the number of stored tasks. A page may therefore be short, or even empty,
 * although more follow: only a page without `next` is the last one.
 */
export interface OperatorStore {
  /** Heads of tasks of all owners and tenants, newest status first: status time, then id by its UTF-8 bytes. */
  listHeads(request: HeadsRequest): Promise<HeadsPage>;
  /** Contexts of all owners and tenants, the one with the newest status first, in the order of those statuses' tasks. */
  listContexts(request: ContextsRequest): Promise<ContextsPage>;
  /**
   * Owners that have tasks, ordered by the UTF-8 bytes of tenant and owner: at most `limit`; fewer mean that none
   * follows.
   */
  listOwners(request: OwnersRequest): Promise<readonly OwnerUsage[]>;
  /** Heads of tasks that have a lease, ordered by the UTF-8 bytes of holder and id. */
  listLeased(request: LeasedRequest): Promise<readonly TaskHead[]>;
  /**
   * Removes those of the named tasks that are finished, with their entries, snapshots, push configurations (also due
   * ones) and stored sends, and the states of conversations that have no task left. Returns the number removed. A
   * removal that a crash interrupts leaves each task whole or gone, and later removals delete what remains of one.
   */
  removeTasks(request: TasksRemoval): Promise<number>;
}

/** Names the tasks to remove. */
export interface TasksRemoval {
  readonly taskIds: readonly string[];
  /** True to remove unfinished tasks as well. Their leases end. Default false. */
  readonly unfinished?: boolean | undefined;
}

/** Position of a task in a list by status: the time of the status in milliseconds since the epoch, and the id. */
export interface HeadKey {
  readonly statusTime: number;
  readonly taskId: string;
}

/** Filter by tenant and owner. Absent fields do not restrict. */
export interface ScopeFilter {
  /** Only tasks of one of these tenants. If empty, nothing matches. */
  readonly tenants?: readonly string[] | undefined;
  readonly owner?: string | undefined;
}

/** Filter of tasks. Absent fields do not restrict. */
export interface HeadsRequest extends ScopeFilter {
  readonly contextId?: string | undefined;
  /** Only tasks in one of these states. Default, also if empty: all states. */
  readonly states?: readonly number[] | undefined;
  /** Only tasks whose status is of this time or later. */
  readonly statusFrom?: number | undefined;
  /** Only tasks whose status is older. */
  readonly statusBefore?: number | undefined;
  /** Cursor: only tasks after it in the order. */
  readonly after?: HeadKey | undefined;
  readonly limit: number;
}

/** One page of tasks. */
export interface HeadsPage {
  readonly heads: readonly TaskHead[];
  /** Cursor of the next page; absent on the last one. */
  readonly next?: HeadKey | undefined;
}

/** Filter of contexts. */
export interface ContextsRequest extends ScopeFilter {
  /** Cursor: only contexts after it in the order. */
  readonly after?: HeadKey | undefined;
  readonly limit: number;
}

/** One page of contexts. */
export interface ContextsPage {
  readonly contexts: readonly ContextSummary[];
  /** Cursor of the next page; absent on the last one. */
  readonly next?: HeadKey | undefined;
}

/** A context with the number of its tasks and the size of its state. */
export interface ContextSummary extends ConversationKey {
  /** Number of tasks. */
  readonly tasks: number;
  /** Number of unfinished tasks. */
  readonly openTasks: number;
  /** Time of the newest status of its tasks. */
  readonly statusTime: number;
  /** Bytes of the state of its conversation; 0 without one. */
  readonly stateBytes: number;
}

/** Filter of owners. */
export interface OwnersRequest {
  readonly tenant?: string | undefined;
  /** Cursor: only owners after it in the order. */
  readonly after?: TaskScope | undefined;
  readonly limit: number;
}

/** An owner under one tenant, with its usage. */
export interface OwnerUsage extends TaskScope {
  readonly tasks: number;
  /** Number of unfinished tasks. */
  readonly openTasks: number;
  /** Number of push configurations, idle ones of finished tasks aside. */
  readonly pushConfigs: number;
  /** Time of the newest status. */
  readonly statusTime: number;
}

/** Filter of leased tasks. */
export interface LeasedRequest {
  /** Cursor: only tasks after it in the order. */
  readonly after?: { readonly holder: string; readonly taskId: string } | undefined;
  readonly limit: number;
}

/** Part of the store interface for operators: counts of the store, and observation of its commits. */
export interface CensusStore {
  /** Kind of the store in one word, such as `sqlite`. */
  readonly kind: string;
  /** Counts tasks and deliveries. The cost depends on the number of owners, but not on that of their tasks. */
  census(): Promise<Census>;
  /**
   * Calls the observer after each transaction of this process; only the last given one is called. A store without
   * transactions never calls it. The observer must not throw.
   */
  onCommit(observer: CommitObserver): void;
}

/** Receives the duration of a transaction, synced to disk, in seconds, and the number of its writes. */
export type CommitObserver = (seconds: number, writes: number) => void;

/** Size and counts of a store. The last three counts stop at `CENSUS_LIMIT`. */
export interface Census {
  /** Size of the files in bytes; 0 without files. */
  readonly bytes: number;
  /** Tasks that have not ended. */
  readonly openTasks: number;
  /** Tasks that wait for their client (INPUT_REQUIRED, AUTH_REQUIRED). */
  readonly interrupted: number;
  /** Push configurations with entries to deliver. */
  readonly due: number;
  /** Push configurations whose deliveries were given up. */
  readonly dead: number;
}

/** Highest number that `CensusStore.census` reports. */
export const CENSUS_LIMIT = 10_000;

/** Part of the store interface for backups. A store that makes none lacks all of its members. */
export interface BackupStore {
  /** Restorations of the store from backups, oldest first. */
  readonly restorations?: readonly Restoration[];

  /**
   * Copies the store into a new file while it is used. The copy is consistent, and contains everything that was
   * acknowledged before the call.
   * @throws StoreError `failed` if the target exists or its folder does not, or if another backup is being made;
   * `unavailable` if the disk is full or fails; `closed`, also when the store is closed meanwhile
   */
  backup?(request: { readonly target: string }): Promise<BackupResult>;
}

/** A backup of a store. */
export interface BackupResult {
  /** Absolute path of its file. */
  readonly path: string;
  readonly bytes: number;
  /** Time of its contents, in milliseconds since the epoch. */
  readonly time: number;
}

/**
 * A restoration of a store from a backup. The original may have stored events after the backup, so later events of the
 * restored store may have the task and the generation of other events that receivers have seen.
 */
export interface Restoration {
  /**
   * Latest time of an entry in the backup, in milliseconds since the epoch: later entries were written after the
   * restoration.
   */
  readonly until: number;
  /** Random, for this restoration. */
  readonly id: string;
}
