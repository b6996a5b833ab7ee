import type { StoreHealth } from "./health.js";

/**
 * The seam between the engine and what remembers. A task is an ordered log of entries (opaque bytes here) and one
 * head row that can be listed. Every implementation passes the suite in `contract.ts`, unchanged.
 *
 * Three rules hold for all of them:
 * - `append` is the only way to change a task's log, it states the position it expects, and it resolves when the
 *   entries would survive a crash of the process (and, for a durable store, of the machine).
 * - A write is done or refused within a bounded time, whatever becomes of a disk or a network. A refusal as
 *   `unavailable` leaves open whether it was done: whoever writes on meets a conflict if it was.
 * - Everything else about a task (snapshot, lease, push positions) may be late or lost without harm to the log.
 */
export interface TaskStore {
  /**
   * True when other processes may have the same tasks open: readers then look for news now and then, and what a crash
   * cut off is claimed when its lease ends. False when nobody else can: every lease that is there when the store is
   * opened is of a process that is gone, and is up for a claim at once.
   */
  readonly shared: boolean;

  /** Whether writes go through, found out within two seconds when they do not, also while nobody writes. */
  readonly health: StoreHealth;

  /**
   * Adds entries to a task's log, in one transaction with everything else the request names. Calls of many tasks
   * that arrive together share one commit.
   * @throws StoreError, judged in this order: `duplicate` when the idempotency key is taken; `finished` when the task
   * is terminal; `conflict` when the log does not end at `expected`; `failed` for a request that contradicts itself or
   * moves a task to another tenant, owner or context; `closed`.
   */
  append(request: AppendRequest): Promise<void>;

  /** A task's head row, or undefined. */
  head(request: { readonly taskId: string }): Promise<TaskHead | undefined>;

  /**
   * What is needed to fold a task, as of one moment: its head, the newest snapshot, and the entries after that; or
   * undefined. What is large comes in pieces: the others are got with `readSnapshot` and `read`.
   */
  load(request: { readonly taskId: string }): Promise<LoadedTask | undefined>;

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

  /** What was remembered under an idempotency key, or undefined. */
  findSend(request: SendKey): Promise<RememberedSend | undefined>;

  /**
   * Takes over executions whose lease ran out at or before `now`, for `holder`, and counts the attempt.
   * Two holders never get the same one.
   */
  claimLeases(request: ClaimRequest): Promise<TaskHead[]>;

  /** Extends the leases that `holder` still has; returns the tasks it still has. */
  renewLeases(request: {
    readonly holder: string;
    readonly taskIds: readonly string[];
    readonly until: number;
  }): Promise<string[]>;

  /**
   * Sets or, with null, ends the lease of an execution, if `holder` has it. A lease whose `until` is not in the
   * future is up for a claim at once. Without effect when somebody else has it, or nobody; and, where a position is
   * named, when the log does not end there. Says whether it was done.
   */
  setLease(request: LeaseChange): Promise<boolean>;

  /** Creates or replaces a push configuration of a task, its position too; ignored when there is no such task. */
  putPushConfig(request: PushConfigKey & { readonly config: StoredPushConfig }): Promise<void>;
  /** One push configuration, or undefined. */
  getPushConfig(request: PushConfigKey): Promise<StoredPushConfig | undefined>;
  /** A task's push configurations after an id, in the order of their ids. */
  listPushConfigs(request: {
    readonly taskId: string;
    readonly after: string;
    readonly limit: number;
  }): Promise<{ readonly configId: string; readonly config: StoredPushConfig }[]>;
  /** Removes a push configuration with its delivery position; nothing happens when it is not there. */
  deletePushConfig(request: PushConfigKey): Promise<void>;
  /** Records that everything up to `position` was delivered; a lower position than the recorded one is ignored. */
  savePushPosition(request: PushConfigKey & { readonly position: number }): Promise<void>;

  /**
   * Removes tasks that finished before a time, with everything that is theirs: entries, snapshot, push
   * configurations, remembered sends. Returns how many; fewer than `limit` means that none is left.
   */
  removeFinished(request: { readonly before: number; readonly limit: number }): Promise<number>;

  /** Waits for what was appended, then lets go of every resource. Later calls fail with `closed`. */
  close(): Promise<void>;
}

/** Row of a task that lists and filters need. Times are milliseconds since the epoch. */
export interface TaskHead {
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
  /** The execution in progress, or null when there is none. */
  readonly lease: Lease | null;
}

/** Right to execute a task. It is a hint that ends by itself; the expected position is what keeps writers apart. */
export interface Lease {
  /** Which process has it. */
  readonly holder: string;
  /** When it ends unless it is renewed. */
  readonly until: number;
  /** Position of the entry with the message whose turn is being executed. */
  readonly turn: number;
  /** How many executions of this turn began; above 1 after a crash. */
  readonly attempt: number;
}

export interface LeaseChange {
  readonly taskId: string;
  readonly holder: string;
  readonly lease: Lease | null;
  /** Only while this is the position of the task's last entry, so that no message is left behind. */
  readonly expected?: number;
}

export interface AppendRequest {
  /** The head after this append; `position` is `expected` plus the number of entries. */
  readonly head: TaskHead;
  /** Position of the last entry that the caller knows of; 0 with `creates`, and only then. */
  readonly expected: number;
  /** The first entry is the one that a task begins with. No other append creates one. Default false. */
  readonly creates?: boolean;
  /** The new entries, at least one, in order. */
  readonly entries: readonly Uint8Array[];
  /** Remembers a send in the same transaction. */
  readonly send?: SendKey & RememberedSend;
}

export interface StoredSnapshot {
  /** Position of the last entry that is folded in. */
  readonly position: number;
  /** All of it, or its first piece. */
  readonly bytes: Uint8Array;
  /** How many pieces it has; left out for one. */
  readonly pieces?: number;
}

/** What is saved of a snapshot in one go: at most some 100 KiB, so that nobody waits long for it. */
export interface SnapshotPiece {
  /** Position of the last entry that is folded in. */
  readonly position: number;
  readonly bytes: Uint8Array;
  /** Which piece it is, from 0, which is the default. */
  readonly piece?: number;
  /** False when more pieces follow. Default: true. */
  readonly last?: boolean;
}

export interface LoadedTask {
  readonly head: TaskHead;
  readonly snapshot: StoredSnapshot | undefined;
  /**
   * Entries after the snapshot, or from the start when there is none: all up to the head's position, or the first ones,
   * as many as `read` would give. None when the snapshot has more pieces than the first.
   */
  readonly entries: readonly Uint8Array[];
}

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

export interface ListPage {
  readonly heads: readonly TaskHead[];
  /** How many tasks the same filters match, `after` and `limit` aside. */
  readonly total: number;
}

/** What a remembered send is known by: the caller's own key, kept apart by tenant and owner. */
export interface SendKey {
  readonly tenant: string;
  readonly owner: string;
  readonly key: string;
}

export interface RememberedSend {
  /** Hash of the request, to tell a retry from another request under the same key. */
  readonly fingerprint: string;
  readonly taskId: string;
  /** Position of the entry that accepted the message. */
  readonly position: number;
}

export interface ClaimRequest {
  readonly holder: string;
  readonly now: number;
  readonly until: number;
  readonly limit: number;
}

export interface PushConfigKey {
  readonly taskId: string;
  readonly configId: string;
}

export interface StoredPushConfig {
  /** A serialized `TaskPushNotificationConfig`. */
  readonly bytes: Uint8Array;
  /** Entries up to here were delivered, or lie before the configuration. */
  readonly position: number;
}

/**
 * Why a store refused. `conflict`, `finished` and `duplicate` are answers; the others are trouble: `failed` with this
 * one request, `unavailable` with the store as a whole, of which its health tells.
 */
export type StoreErrorKind =
  | "conflict"
  | "finished"
  | "duplicate"
  | "closed"
  | "failed"
  | "unavailable"
  | "damaged"
  | "newer-schema";

/** The named error of every store. */
export class StoreError extends Error {
  override name = "StoreError";
  readonly kind: StoreErrorKind;
  /** With `duplicate`: what the key already stands for. */
  readonly remembered: RememberedSend | undefined;

  constructor(kind: StoreErrorKind, message: string, options: { cause?: unknown; remembered?: RememberedSend } = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.remembered = options.remembered;
  }
}
