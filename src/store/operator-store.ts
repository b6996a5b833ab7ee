import type { ConversationKey } from "./conversation-store.js";
import type { TaskHead, TaskScope } from "./task-head.js";

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
  /** One of these tenants. None: nothing matches. */
  readonly tenants?: readonly string[] | undefined;
  readonly owner?: string | undefined;
}

/** Filter of tasks. Absent fields do not restrict. */
export interface HeadsRequest extends ScopeFilter {
  readonly contextId?: string | undefined;
  /** One of these states. Default, also if empty: all. */
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
