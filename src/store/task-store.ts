import type { Signals } from "../signals/signals.js";
import type { StoreHealth } from "./health.js";
import type { StoreHistory } from "./history.js";
import type { BackupStore, CensusStore, OperatorStore } from "./operator-store.js";
import type { NewPushConfig, PushStore } from "./push-store.js";
import type {
  ConversationKey,
  ConversationWrite,
  Fence,
  Lease,
  StoredConversation,
  TaskHead,
  TaskRow,
  TaskScope,
} from "./task-head.js";

export type * from "./operator-store.js";
export type * from "./push-store.js";
export * from "./task-head.js";

/**
 * The interface between the engine and its storage. A task is an ordered log of entries (opaque bytes here) and one
 * head row that can be listed. Every implementation passes the suite in `contract/`, unchanged.
 *
 * Three rules apply to every implementation:
 * - `append` is the only way to change a task's log. It names the position that it expects, and resolves when the
 *   entries would survive a crash of the process (and, for a durable store, of the machine).
 * - A write succeeds or fails within a bounded time, whatever happens to a disk or a network. A write that fails with
 *   `unavailable` may have been stored: the next write then meets a conflict.
 * - Everything else about a task (snapshot, lease, push positions) may be late or lost without harm to the log.
 */
export interface TaskStore extends PushStore, BackupStore, CensusStore, OperatorStore {
  /**
   * True when other processes may have the same tasks open: readers then poll for new entries, and the leases of a
   * holder can be claimed after it missed its heartbeats (`heartbeat`, `claimLeases`). False for a single process: every
   * lease found when the store is opened belongs to a process that is gone, and can be claimed at once.
   */
  readonly shared: boolean;

  /**
   * Signals between the processes that have the tasks open, closed with the store. Without them, processes find the
   * changes of others by polling.
   */
  readonly signals?: Signals | undefined;

  /** Moves to other servers. Undefined for a store that cannot lose acknowledged entries. */
  readonly history?: StoreHistory | undefined;

  /** Health of writes, detected within two seconds even when nothing is written. */
  readonly health: StoreHealth;

  /**
   * Adds entries to a task's log, in one transaction with everything else the request names. Concurrent calls for many
   * tasks share one commit. An append that ends the task ends its lease.
   * @returns undefined for most appends
   * @throws StoreError, checked in this order: `duplicate` when the idempotency key is taken; `finished` when the task
   * is terminal; `fenced` when the lease is not the one that the request relies on; `conflict` when the log does not
   * end at `expected`; `failed` for a request that contradicts itself or moves a task to another tenant, owner or
   * context; `conversation-moved` when the state of the conversation has another version than expected;
   * `too-many-push-configs` when its configuration exceeds a limit; `closed`.
   */
  append(request: AppendRequest): Promise<AppendResult | undefined>;

  /** A task's head row, or undefined. */
  head(request: { readonly taskId: string }): Promise<TaskHead | undefined>;

  /** Heads of those of the named tasks that exist, in any order. */
  heads(request: { readonly taskIds: readonly string[] }): Promise<readonly TaskHead[]>;

  /**
   * Returns everything needed to fold a task, at one moment: its head, the newest snapshot, and the entries after that;
   * or undefined. Large parts are returned partially: `readSnapshot` and `read` return the rest.
   */
  load(request: LoadRequest): Promise<LoadedTask | undefined>;

  /**
   * `load` of many tasks at once, in the given order. It may return only the first ones (it may be bounded by bytes),
   * but at least one.
   */
  loadMany(request: { readonly taskIds: readonly string[] }): Promise<(LoadedTask | undefined)[]>;

  /** A piece of a snapshot, from 0; undefined if that snapshot was replaced: `load` then returns a newer one. */
  readSnapshot(request: {
    readonly taskId: string;
    readonly position: number;
    readonly piece: number;
  }): Promise<Uint8Array | undefined>;

  /**
   * Entries after a position, in order and without a gap: at most `limit` of them, possibly fewer (a read may also be
   * bounded by bytes), but at least one if any exists. An unknown task has none.
   */
  read(request: ReadRequest): Promise<Uint8Array[]>;

  /**
   * Stores a snapshot, or a piece of one. Pieces are saved in order, each after the previous one is stored. The last
   * piece replaces the older snapshot. Ignored if a newer snapshot exists, or if the task does not exist.
   */
  saveSnapshot(request: { readonly taskId: string; readonly snapshot: SnapshotPiece }): Promise<void>;

  /** Heads of one owner's tasks, newest status first: status time, then id by its UTF-8 bytes, both descending. */
  list(request: ListRequest): Promise<ListPage>;

  /**
   * The number of one owner's unfinished tasks, at one moment: under one tenant, or across tenants if none is named.
   * The cost does not depend on the number of tasks or tenants.
   */
  countOpen(request: { readonly owner: string; readonly tenant?: string | undefined }): Promise<number>;

  /**
   * Heads of tasks that wait for their client (INPUT_REQUIRED, AUTH_REQUIRED), of all owners and tenants, whose status
   * is older than a time, oldest first: status time, then id by its UTF-8 bytes, both ascending.
   */
  listInterrupted(request: InterruptedRequest): Promise<readonly TaskHead[]>;

  /** The state of a conversation, or undefined. It exists from the first append that names one until its last task. */
  conversation(request: ConversationKey): Promise<StoredConversation | undefined>;

  /** The record under an idempotency key, or undefined. */
  findSend(request: IdempotencyKey): Promise<IdempotencyRecord | undefined>;

  /**
   * Sends a heartbeat of a holder. A shared store needs several within `leaseMs`; other stores ignore them. A store
   * with its own thread continues the heartbeats for `maxStallMs` after the last call, so that a process with a blocked
   * event loop is not evicted.
   * @returns false if another process evicted the holder since the last call: the holder is live again, and has to
   * check which leases it still has
   */
  heartbeat(request: HeartbeatRequest): Promise<boolean>;

  /**
   * Assigns to `holder` executions that no live process has, and counts the attempt: leases without a holder, and
   * leases whose holder has ended or sent no heartbeat for `leaseMs`. The store measures that time by its own monotonic clock, from
   * the first call that saw the holder's last heartbeat. Calls of `heartbeat` measure as well. A call more than two thirds
   * of `leaseMs` after the previous one restarts the measurement, because a process that was suspended cannot tell if
   * others were; if no heartbeat came since, the next such call counts for a third of `leaseMs`, so that a slow machine
   * still claims in the end. Two holders never get the same lease, and a holder never gets its own.
   */
  claimLeases(request: ClaimRequest): Promise<TaskHead[]>;

  /** Tasks whose lease `holder` has, after an id, ordered by the UTF-8 bytes of their ids. */
  leasesOf(request: {
    readonly holder: string;
    readonly after: string;
    readonly limit: number;
  }): Promise<readonly HeldLease[]>;

  /**
   * Replaces the lease of an execution, or ends it with null, if it is still the one that `fence` names; otherwise
   * changes nothing and returns `lost`. With `expected` the log has to end there as well; otherwise changes nothing and
   * returns `moved`. A lease whose holder is `NO_HOLDER` can be claimed.
   */
  setLease(request: LeaseChange): Promise<LeaseOutcome>;

  /**
   * Removes tasks that finished before a time, with their entries, snapshots, push configurations and stored sends, and
   * the states of conversations that have no task left. A task with a due push configuration stays; one with a dead one
   * does not. Returns the number removed; fewer than `limit` means that none is left.
   */
  removeFinished(request: { readonly before: number; readonly limit: number }): Promise<number>;

  /** Waits for pending appends, then releases every resource. Later calls fail with `closed`. */
  close(): Promise<void>;
}

/** A task to read. */
export interface LoadRequest {
  readonly taskId: string;
  /**
   * Restricts the read to this scope: a task of another scope does not exist for it. Only the head of such a task is
   * read, so that the response time does not reveal it (specification 13.1). Default: any scope.
   */
  readonly of?: TaskScope | undefined;
}

/** Entries to read. */
export interface ReadRequest {
  readonly taskId: string;
  readonly after: number;
  readonly limit: number;
  /**
   * True to read also the rest of a damaged log. An entry whose stored bytes are cut has its remaining bytes, possibly
   * none. Default: such an entry fails the read with `damaged`.
   */
  readonly salvage?: boolean;
}

/** A lease and its task. */
export interface HeldLease extends Lease {
  readonly taskId: string;
}

/** A lease that an execution changes or releases without an entry. */
export interface LeaseChange {
  readonly taskId: string;
  /** The lease to change. */
  readonly fence: Fence;
  readonly lease: Lease | null;
  /** Only while this is the position of the task's last entry, so that no message is left unprocessed. */
  readonly expected?: number;
}

/** Result of a lease change: done, or refused because the lease or the end of the log differs. */
export type LeaseOutcome = "set" | "lost" | "moved";

/** Entries to append to one task in one transaction, with all changes that belong to them. */
export interface AppendRequest {
  /** The row after this append; `position` is `expected` plus the number of entries. */
  readonly head: TaskRow;
  /** Position of the last entry that the caller knows of; 0 with `creates`, and only then. */
  readonly expected: number;
  /** True if the first entry creates the task. No other append creates one. Default false. */
  readonly creates?: boolean;
  /** The new entries, at least one, in order. */
  readonly entries: readonly Uint8Array[];
  /**
   * The lease that the entries of an execution rely on. Without it any process may append, such as a message. A task
   * that this append creates has the lease that the append requests.
   */
  readonly fence?: Fence | undefined;
  /** A lease to take in the same transaction, unless the task has one, even an unclaimed one. */
  readonly lease?: Lease | undefined;
  /** Stores a send in the same transaction. */
  readonly send?: (IdempotencyKey & IdempotencyRecord) | undefined;
  /** Puts a push configuration in the same transaction. A new one is at `expected`: it gets the entries of this append. */
  readonly pushConfig?: NewPushConfig | undefined;
  /** Replaces the state of the task's conversation in the same transaction. */
  readonly conversation?: ConversationWrite | undefined;
  /**
   * Time of the append, in milliseconds since the epoch, at which the task's push configurations become due. Default:
   * the time of the status.
   */
  readonly time?: number | undefined;
}

/** Result of an append. */
export interface AppendResult {
  /** The existing lease, which stays, when the request asked for one. */
  readonly lease?: Lease;
  /** True if the task has push configurations: their undelivered entries are due now. */
  readonly pushed?: boolean;
}

/** A folded task up to a position, so that earlier entries need not be read. */
export interface StoredSnapshot {
  /** Position of the last entry that is folded in. */
  readonly position: number;
  /** The whole snapshot, or its first piece. */
  readonly bytes: Uint8Array;
  /** Number of pieces. Default 1. */
  readonly pieces?: number;
}

/** A piece of a snapshot of at most about 100 KiB, so that other writes wait only briefly. */
export interface SnapshotPiece {
  /** Position of the last entry that is folded in. */
  readonly position: number;
  readonly bytes: Uint8Array;
  /** Index of the piece. Default 0. */
  readonly piece?: number;
  /** False when more pieces follow. Default: true. */
  readonly last?: boolean;
}

/** A task as one read returns it: a small one in full, of a large one the beginning. */
export interface LoadedTask {
  readonly head: TaskHead;
  readonly snapshot: StoredSnapshot | undefined;
  /**
   * Entries after the snapshot, or from the start without one: all up to the head's position, or as many of the first
   * ones as `read` would return. Empty when the snapshot has more than one piece.
   */
  readonly entries: readonly Uint8Array[];
}

/** Filter of the tasks of one owner, newest status first. `limit` is the maximum number of rows of the page. */
export interface ListRequest {
  readonly tenant: string;
  readonly owner: string;
  readonly contextId?: string;
  readonly state?: number;
  /** Only tasks whose status is of this time or later. */
  readonly statusFrom?: number;
  /** Cursor: only tasks after it in the order. */
  readonly after?: { readonly statusTime: number; readonly taskId: string };
  readonly limit: number;
}

/** Filter of interrupted tasks. */
export interface InterruptedRequest {
  /** Only tasks whose status is older, in milliseconds since the epoch. */
  readonly before: number;
  /** Cursor: only tasks after it in the order. */
  readonly after?: { readonly statusTime: number; readonly taskId: string } | undefined;
  readonly limit: number;
}

/** One page of a list. */
export interface ListPage {
  readonly heads: readonly TaskHead[];
  /** Number of tasks that match the same filters, `after` and `limit` aside. */
  readonly total: number;
}

/** Key of a stored send: the caller's key within tenant and owner. */
export interface IdempotencyKey {
  readonly tenant: string;
  readonly owner: string;
  readonly key: string;
}

/** Record of a send with an idempotency key, stored as long as its task. */
export interface IdempotencyRecord {
  /** Hash of the request, to distinguish a retry from another request under the same key. */
  readonly fingerprint: string;
  readonly taskId: string;
  /** Position of the entry that accepted the message. */
  readonly position: number;
}

/** Heartbeat of a process for all leases that it holds. */
export interface HeartbeatRequest {
  readonly holder: string;
  /** Time without a heartbeat after which other processes may claim the holder's leases, in milliseconds. */
  readonly leaseMs: number;
  /** True if the holder sent a heartbeat before: if the store does not know it, it was evicted. */
  readonly again: boolean;
  /** Time for which the store continues the heartbeats after this call, in milliseconds. */
  readonly maxStallMs: number;
}

/** Request of a process for up to `limit` expired leases of others. */
export interface ClaimRequest {
  readonly holder: string;
  /** Time without a heartbeat after which a lease can be claimed, in milliseconds. */
  readonly leaseMs: number;
  readonly limit: number;
  /**
   * Holders whose processes have ended, as their parent process has seen. Their leases can be claimed at once. Only a
   * parent knows that an end is certain; silence is not proof. The store remembers them for later claims, also of
   * deliveries.
   */
  readonly ended?: readonly string[];
}

/**
 * Reason for a store's refusal. Regular outcomes are `conflict`, `finished`, `fenced`, `duplicate`, `conversation-moved`
 * and `too-many-push-configs`; the rest are faults: `failed` of this one request, `unavailable` of the whole store, which
 * its health reports.
 */
export type StoreErrorKind =
  | "conflict"
  | "finished"
  | "fenced"
  | "duplicate"
  | "conversation-moved"
  | "too-many-push-configs"
  | "closed"
  | "failed"
  | "unavailable"
  | "damaged"
  | "newer-schema";

/** The error of every store. */
export class StoreError extends Error {
  override name = "StoreError";
  readonly kind: StoreErrorKind;
  /** With `duplicate`: the record under the key. */
  readonly remembered: IdempotencyRecord | undefined;
  /** With `too-many-push-configs`: the limit that was exceeded. */
  readonly tooManyOf: "task" | "owner" | undefined;

  constructor(
    kind: StoreErrorKind,
    message: string,
    options: {
      cause?: unknown;
      remembered?: IdempotencyRecord | undefined;
      tooManyOf?: StoreError["tooManyOf"];
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.remembered = options.remembered;
    this.tooManyOf = options.tooManyOf;
  }
}
