import type { StoreHealth } from "./health.js";
import type { NewPushConfig, PushStore } from "./push-store.js";

export type * from "./push-store.js";

/**
 * The interface between the engine and its storage. A task is an ordered log of entries (opaque bytes here) and one
 * head row that can be listed. Every implementation passes the suite in `contract.ts`, unchanged.
 *
 * Three rules hold for all of them:
 * - `append` is the only way to change a task's log, it states the position it expects, and it resolves when the
 *   entries would survive a crash of the process (and, for a durable store, of the machine).
 * - A write is done or refused within a bounded time, whatever becomes of a disk or a network. A refusal as
 *   `unavailable` leaves open whether it was done: the next write meets a conflict if it was.
 * - Everything else about a task (snapshot, lease, push positions) may be late or lost without harm to the log.
 */
export interface TaskStore extends PushStore {
  /**
   * True when other processes may have the same tasks open: readers then look for news now and then, and the leases
   * of a holder are claimed when it showed no life for a time (`beat`, `claimLeases`). False when no other process can:
   * every lease that is there when the store is opened is of a process that is gone, and is up for a claim at once.
   */
  readonly shared: boolean;

  /** Whether writes go through, found out within two seconds when they do not, also while nothing is written. */
  readonly health: StoreHealth;

  /**
   * Adds entries to a task's log, in one transaction with everything else the request names. Calls of many tasks
   * that arrive together share one commit. An append that ends the task ends its lease.
   * @returns undefined when there is nothing to say, as of most appends
   * @throws StoreError, judged in this order: `duplicate` when the idempotency key is taken; `finished` when the task
   * is terminal; `fenced` when the lease is not the one that the request relies on; `conflict` when the log does not
   * end at `expected`; `failed` for a request that contradicts itself or moves a task to another tenant, owner or
   * context; `too-many-push-configs` when its configuration is one too many; `closed`.
   */
  append(request: AppendRequest): Promise<AppendResult | undefined>;

  /** A task's head row, or undefined. */
  head(request: { readonly taskId: string }): Promise<TaskHead | undefined>;

  /**
   * What is needed to fold a task, as of one moment: its head, the newest snapshot, and the entries after that; or
   * undefined. What is large comes in pieces: further ones come from `readSnapshot` and `read`.
   */
  load(request: LoadRequest): Promise<LoadedTask | undefined>;

  /**
   * `load` of many tasks at once, in the given order: perhaps of the first ones alone (it may be bounded by bytes), but
   * of at least one.
   */
  loadMany(request: { readonly taskIds: readonly string[] }): Promise<(LoadedTask | undefined)[]>;

  /** A piece of a snapshot, from 0; undefined when that snapshot is not there any more: then `load` has a newer one. */
  readSnapshot(request: {
    readonly taskId: string;
    readonly position: number;
    readonly piece: number;
  }): Promise<Uint8Array | undefined>;

  /**
   * Entries after a position, in order and without a gap: at most `limit` of them, perhaps fewer (a read may be bounded
   * by bytes as well), but at least one when there is one. Unknown tasks have none.
   */
  read(request: { readonly taskId: string; readonly after: number; readonly limit: number }): Promise<Uint8Array[]>;

  /**
   * Keeps a snapshot, or a piece of one; pieces are saved in their order, each when the one before it is there. With
   * its last piece it replaces an older one. It is ignored when a newer one is there, or no such task.
   */
  saveSnapshot(request: { readonly taskId: string; readonly snapshot: SnapshotPiece }): Promise<void>;

  /** Heads of one owner's tasks, newest status first: status time, then id by its UTF-8 bytes, both descending. */
  list(request: ListRequest): Promise<ListPage>;

  /**
   * How many tasks of one owner are not over, at one moment: under one tenant, or under all of them where none is named. It costs no
   * walk over them, or over the tenants.
   */
  countOpen(request: { readonly owner: string; readonly tenant?: string | undefined }): Promise<number>;

  /**
   * Heads of tasks that wait for their client (INPUT_REQUIRED, AUTH_REQUIRED), of all owners and tenants, whose status is
   * older than a time, the oldest first: status time, then id by its UTF-8 bytes, both ascending.
   */
  listInterrupted(request: InterruptedRequest): Promise<readonly TaskHead[]>;

  /** What was remembered under an idempotency key, or undefined. */
  findSend(request: IdempotencyKey): Promise<IdempotencyRecord | undefined>;

  /**
   * Says that a holder lives. Where the store is shared this has to come several times within `leaseMs`; elsewhere
   * it does nothing. A store that has a thread of its own goes on saying so for `maxStallMs` after the last call, so
   * that a process whose event loop is blocked is not taken for a dead one.
   * @returns false when another process had given the holder up since the last call: it lives again, and is to look
   * which leases it still has
   */
  beat(request: BeatRequest): Promise<boolean>;

  /**
   * Takes over executions that no living process has, for `holder`, and counts the attempt: leases that were put up for a claim,
   * and those of holders that showed no life for `leaseMs`. That time is measured by the store's own clock, which no
   * setting of the time of day moves: from the first call that saw the holder's last sign of life on. Calls of `beat`
   * look as well. One that comes more than two thirds of `leaseMs` after the one before begins to measure anew, because
   * a process that was stopped itself cannot tell whether others were; if no sign came since, the next such call counts for a third
   * of `leaseMs`, so that slowness never puts a claim off for ever. Two holders never get the same lease, and no
   * holder gets its own.
   */
  claimLeases(request: ClaimRequest): Promise<TaskHead[]>;

  /** Tasks whose lease `holder` has, after an id, in the order of their ids by their UTF-8 bytes. */
  leasesOf(request: {
    readonly holder: string;
    readonly after: string;
    readonly limit: number;
  }): Promise<readonly HeldLease[]>;

  /**
   * Replaces the lease of an execution, or ends it with null, if it is still the one named by `fence`: otherwise
   * nothing changes and the answer is `lost`. With `expected` the log has to end there as well: otherwise nothing
   * changes and the answer is `moved`. A lease whose holder is `NO_HOLDER` is up for a claim.
   */
  setLease(request: LeaseChange): Promise<LeaseOutcome>;

  /**
   * Removes tasks that finished before a time, with everything that is theirs: entries, snapshot, push
   * configurations, remembered sends. A task stays while a push configuration of it is due, not while one is given up.
   * Returns how many; fewer than `limit` means that none is left.
   */
  removeFinished(request: { readonly before: number; readonly limit: number }): Promise<number>;

  /** Waits for what was appended, then lets go of every resource. Later calls fail with `closed`. */
  close(): Promise<void>;
}

/** Owner and tenant of tasks. */
export interface TaskScope {
  readonly tenant: string;
  readonly owner: string;
}

/** A task to be read. */
export interface LoadRequest {
  readonly taskId: string;
  /**
   * Only if it is of this scope: a task of anybody else is not there. No more of it is read than its head, so that the
   * time says nothing of it either (specification 13.1). Default: whoever has it.
   */
  readonly of?: TaskScope | undefined;
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
  /** The execution in progress, or null when there is none. */
  readonly lease: Lease | null;
}

/** Holder of a lease that may be claimed. */
export const NO_HOLDER = "";

/** Lease that an execution relies on: nothing is stored for it after the lease has changed. */
export interface Fence {
  /** Which process executes. */
  readonly holder: string;
  /** How many executions of this turn began; above 1 after a crash, below 1 where it is known that none did. */
  readonly attempt: number;
}

/** Right of one process to execute a task, until the process sends no heartbeats or another one claims it. */
export interface Lease extends Fence {
  /** Position of the entry with the message whose turn is being executed. */
  readonly turn: number;
}

/** A lease and its task. */
export interface HeldLease extends Lease {
  readonly taskId: string;
}

/** A lease that an execution changes or releases without an entry. */
export interface LeaseChange {
  readonly taskId: string;
  /** The lease that is to be changed. */
  readonly fence: Fence;
  readonly lease: Lease | null;
  /** Only while this is the position of the task's last entry, so that no message is left behind. */
  readonly expected?: number;
}

/** Result of a change of a lease: done, or refused because the lease or the end of the log differs. */
export type LeaseOutcome = "set" | "lost" | "moved";

/** Entries to append to one task in one transaction, with all changes that belong to them. */
export interface AppendRequest {
  /** The row after this append; `position` is `expected` plus the number of entries. */
  readonly head: TaskRow;
  /** Position of the last entry that the caller knows of; 0 with `creates`, and only then. */
  readonly expected: number;
  /** The first entry is the one that a task begins with. No other append creates one. Default false. */
  readonly creates?: boolean;
  /** The new entries, at least one, in order. */
  readonly entries: readonly Uint8Array[];
  /**
   * The lease that the entries rely on, as those of an execution do. Without it any process may append them, such as a message.
   * A task that this append creates has the lease that it takes.
   */
  readonly fence?: Fence | undefined;
  /** Is taken in the same transaction, unless there is one: then that one stays, also one that is up for a claim. */
  readonly lease?: Lease | undefined;
  /** Remembers a send in the same transaction. */
  readonly send?: IdempotencyKey & IdempotencyRecord;
  /** Puts a push configuration in the same transaction. A new one is at `expected`: it gets the entries of this append. */
  readonly pushConfig?: NewPushConfig | undefined;
  /**
   * When it is made, in milliseconds since the epoch: from then on it is due for the push configurations of the task.
   * Default: the time of the status.
   */
  readonly time?: number | undefined;
}

/** Result of an append. */
export interface AppendResult {
  /** The lease that was there, and stays, when the request wants one. */
  readonly lease?: Lease;
  /** Whether the task has push configurations: what they have not delivered is due now. */
  readonly pushed?: boolean;
}

/** A folded task up to a position, so that earlier entries need not be read. */
export interface StoredSnapshot {
  /** Position of the last entry that is folded in. */
  readonly position: number;
  /** All of it, or its first piece. */
  readonly bytes: Uint8Array;
  /** How many pieces it has; left out for one. */
  readonly pieces?: number;
}

/** A piece of a snapshot of at most about 100 KiB, so that other writes wait only briefly. */
export interface SnapshotPiece {
  /** Position of the last entry that is folded in. */
  readonly position: number;
  readonly bytes: Uint8Array;
  /** Which piece it is, from 0, which is the default. */
  readonly piece?: number;
  /** False when more pieces follow. Default: true. */
  readonly last?: boolean;
}

/** A task as one read returns it: a small one whole, of a large one the beginning. */
export interface LoadedTask {
  readonly head: TaskHead;
  readonly snapshot: StoredSnapshot | undefined;
  /**
   * Entries after the snapshot, or from the start when there is none: all up to the head's position, or the first ones,
   * as many as `read` would give. None when the snapshot has more pieces than the first.
   */
  readonly entries: readonly Uint8Array[];
}

/** Filter of the tasks of one owner, newest status first. `limit` is the largest number of rows of the page. */
export interface ListRequest {
  readonly tenant: string;
  readonly owner: string;
  readonly contextId?: string;
  readonly state?: number;
  /** Only tasks whose status is of this time or later. */
  readonly statusFrom?: number;
  /** Where the last page ended: only tasks that come after it in the order. */
  readonly after?: { readonly statusTime: number; readonly taskId: string };
  readonly limit: number;
}

/** Filter of waiting tasks. */
export interface InterruptedRequest {
  /** Only tasks whose status is of an earlier time, in milliseconds since the epoch. */
  readonly before: number;
  /** Where the last page ended: only tasks that come after it in the order. */
  readonly after?: { readonly statusTime: number; readonly taskId: string } | undefined;
  readonly limit: number;
}

/** One page of a list. */
export interface ListPage {
  readonly heads: readonly TaskHead[];
  /** How many tasks the same filters match, `after` and `limit` aside. */
  readonly total: number;
}

/** Key of a remembered send: the caller's key within tenant and owner. */
export interface IdempotencyKey {
  readonly tenant: string;
  readonly owner: string;
  readonly key: string;
}

/** Record of a send with an idempotency key, stored as long as its task. */
export interface IdempotencyRecord {
  /** Hash of the request, to tell a retry from another request under the same key. */
  readonly fingerprint: string;
  readonly taskId: string;
  /** Position of the entry that accepted the message. */
  readonly position: number;
}

/** Heartbeat of a process for all leases that it holds. */
export interface BeatRequest {
  readonly holder: string;
  /** Other processes may take the holder's leases over when they see no sign of life for this time, in milliseconds. */
  readonly leaseMs: number;
  /** Whether the holder said so before: not to be known is then to have been given up. */
  readonly again: boolean;
  /** How long the store says so by itself after this call, in milliseconds. */
  readonly maxStallMs: number;
}

/** Request of a process for up to `limit` expired leases of others. */
export interface ClaimRequest {
  readonly holder: string;
  /** How long the holder of a lease has to show no life, in milliseconds. */
  readonly leaseMs: number;
  readonly limit: number;
}

/**
 * Reason for which a store refused. `conflict`, `finished`, `fenced`, `duplicate` and `too-many-push-configs` are
 * answers; the rest are trouble: `failed` with this one request, `unavailable` with the store as a whole, which its
 * health reports.
 */
export type StoreErrorKind =
  | "conflict"
  | "finished"
  | "fenced"
  | "duplicate"
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
  /** With `duplicate`: what the key already stands for. */
  readonly remembered: IdempotencyRecord | undefined;
  /** With `too-many-push-configs`: of what there are too many. */
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
