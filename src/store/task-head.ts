/** Owner and tenant of tasks. */
export interface TaskScope {
  readonly tenant: string;
  readonly owner: string;
}

/** Properties of a task for lists and filters. Times are milliseconds since the epoch. */
export interface TaskRow {
  readonly taskId: string;
  readonly tenant: string;
  readonly owner: string;
  readonly contextId: string;
  /** Number of the `TaskState`. */
  readonly state: number;
  /** Time of the current status. */
  readonly statusTime: number;
  /** Position of the last entry. */
  readonly position: number;
  /** Generation of the last entry. */
  readonly generation: number;
}

/** A task's row as stored, with its lease. */
export interface TaskHead extends TaskRow {
  /** The lease of the execution in progress, or null. */
  readonly lease: Lease | null;
}

/** Holder of a lease that can be claimed. */
export const NO_HOLDER = "";

/** Lease that an execution relies on: after the lease has changed, nothing is stored for it. */
export interface Fence {
  /** The process that executes. */
  readonly holder: string;
  /**
   * Number of executions started for this turn; above 1 after a crash, below 1 if it is known that none was. The engine
   * also counts outages in it, in large steps.
   */
  readonly attempt: number;
}

/** Right of one process to execute a task, until the process misses its heartbeats or another one claims it. */
export interface Lease extends Fence {
  /** Position of the entry with the message whose turn is being executed. */
  readonly turn: number;
}

/** A conversation: a context of one owner in one tenant. */
export interface ConversationKey extends TaskScope {
  readonly contextId: string;
}

/** The stored state of a conversation. */
export interface StoredConversation {
  readonly version: number;
  readonly bytes: Uint8Array;
}

/** Replaces the state of a task's conversation, if its version is still the expected one. */
export interface ConversationWrite extends StoredConversation {
  /** The version that the caller knows; 0 if it knows of no state. */
  readonly expected: number;
  /**
   * The version of this state, above 0 and other than `expected`. The caller starts with a random number, so that a
   * state that is created after the removal of an earlier one is not mistaken for it.
   */
  readonly version: number;
}
