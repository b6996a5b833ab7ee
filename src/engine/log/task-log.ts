import type { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../../gen/parley/log/v1/log_pb.js";
import { Waiters } from "../../core/async.js";
import { defer } from "../../core/event-loop.js";
import type { Fence, Lease } from "../../store/task-store.js";
import { type Draft, decodeEntry } from "../../task/entry.js";
import type { TaskFold } from "../../task/fold.js";
import { isFenced, LeaseLost } from "./lease-keeper.js";
import { isConflict, isMoved, isRejection, lost, TaskExists, unavailable } from "./outage.js";
import {
  type AppendOptions,
  appendRequest,
  type Batch,
  endsBurst,
  type Pending,
  Plan,
  type SizeLimits,
  Unstored,
} from "./plan.js";
import { StateChangeFailed } from "./state-changes.js";
import { StoredLog, type StoredLogOptions } from "./stored-log.js";

/** Maximum number of retries of an append that conflicts although the store shows no new entry. */
const maxConflicts = 8;

/** A task of fewer bytes as JSON stays in memory completely while it is followed. */
const KEPT_WHOLE_BYTES = 256 * 1024;

/** Maximum number of reads in one refresh while another process appends. The next refresh continues. */
const MOST_ROUNDS = 10;

/**
 * The only writer of a task in this process, and the source for its readers. `StoredLog` has the stored entries, this
 * class those that are not stored yet.
 *
 * Persist, then publish: an entry is folded and shown to readers only after the store has committed it. A task has at
 * most one append in flight. Entries that arrive meanwhile share the next append, so a fast agent needs few commits.
 */
export class TaskLog extends StoredLog {
  /** The pending load of the complete task. */
  #whole: Promise<boolean> | undefined;
  /**
   * The lease of an execution that lost an entry. Later entries of that lease are rejected, so that the log has no gap.
   */
  #cutOff: Fence | undefined;

  #uncertain = false;
  #isAnsweredMeanwhile = false;
  #plan: Plan;
  readonly #unstored = new Unstored();
  #writing = false;
  /** True while an append is in flight. Entries read meanwhile may be its own rather than another process's. */
  #appending = false;
  #began = 0;
  readonly #answers = new Waiters();
  /** Number of this process's appends that were stored. */
  #appends = 0;
  #failures = 0;
  readonly #drained = new Waiters();
  readonly #idle = new Waiters();

  constructor(options: StoredLogOptions) {
    super(options);
    this.#plan = new Plan(options.fold, this.#unstored);
  }

  /** State after everything accepted, stored or not. The state table checks against it. */
  get plannedState(): TaskState {
    return this.#plan.state;
  }

  /** True if the store may have entries that this log lacks, because an append failed without a clear result. */
  get uncertain(): boolean {
    return this.#uncertain;
  }

  /** True if the store answered other writes during the last append. A failure of that append is then not an outage. */
  get isAnsweredMeanwhile(): boolean {
    return this.#isAnsweredMeanwhile;
  }

  /** Replaces a large task in memory with its outline while all holders only follow it. */
  outlineIfFollowed(): void {
    if (!this.isOnlyFollowed || !this.quiet || this.#uncertain || this.fold.size < KEPT_WHOLE_BYTES) return;
    this.replaceByOutline();
    this.#replan();
  }

  /**
   * Replaces the outline with the complete task.
   * @param read reads the task from the store
   * @returns false if the store no longer has the task
   * @throws StoreError also if the store has lost the end of the task
   */
  makeWhole(read: () => Promise<{ readonly fold: TaskFold } | undefined>): Promise<boolean> {
    this.#whole ??= this.#makeWhole(read).finally(() => {
      this.#whole = undefined;
    });
    return this.#whole;
  }

  async #makeWhole(read: () => Promise<{ readonly fold: TaskFold } | undefined>): Promise<boolean> {
    while (!this.isWhole) {
      if (this.isLost) throw lost(this.taskId);
      const stored = (await read())?.fold;
      if (stored === undefined) return false;
      // Another process may have appended since.
      if (stored.position > this.fold.position) await this.refresh();
      for (const entry of this.tail.after(stored.position) ?? []) stored.apply(entry);
      if (stored.position !== this.fold.position) continue;
      this.replaceOutline(stored);
      this.#replan();
    }
    return true;
  }

  /** True if the caller should wait: `maxEntries` entries wait for an append, or `maxBytes` bytes are not stored. */
  isBehind(maxEntries: number, maxBytes: number): boolean {
    return this.#unstored.waiting >= maxEntries || this.#unstored.size >= maxBytes;
  }

  /**
   * Accepts an entry and resolves when it is stored. Entries are stored in the order of the calls.
   * @throws A2AError if the task's state allows no further entry or a precondition fails; StoreError `duplicate` if the
   * idempotency key is already stored
   */
  append(draft: Draft, options: AppendOptions = {}): Promise<LogEntry> {
    return new Promise<LogEntry>((resolve, reject) => this.#accept({ draft, options, resolve, reject }));
  }

  /**
   * Like `append`, but resolves with the result of `onStored`. It runs when the entry is stored and folded, before the
   * next one is, so it sees the task at that entry.
   */
  appendAnd<T>(draft: Draft, options: AppendOptions, onStored: (entry: LogEntry) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#accept({ draft, options, resolve: (entry) => resolve(onStored(entry)), reject });
    });
  }

  #accept(pending: Pending): void {
    const { draft, options } = pending;
    try {
      if (this.isLost || (options.fence !== undefined && options.fence === this.#cutOff)) {
        throw unavailable(new Error("An entry before this one could not be stored."));
      }
      this.#plan.add(draft, options, this.#turnAtWork);
      // A step records the number of changes before it, because its own changes are not made again.
      const changes = options.state?.unstored ?? (draft.event.case === "step" ? options.state?.allStored : undefined);
      if (changes !== undefined) pending.changes = changes;
    } catch (error) {
      pending.reject(error);
      return;
    }
    this.#unstored.push(pending);
    if (!this.#writing) this.#schedule(draft, options);
  }

  /** Rejects a draft that would make the task too large, before it is appended. @throws A2AError TASK_TOO_LARGE */
  checkSize(draft: Draft, sizes: SizeLimits): void {
    this.#plan.checkSize(draft, sizes);
  }

  /** Position of the message whose turn runs, in this process or another, as far as known. */
  get #turnAtWork(): number | undefined {
    return this.turns.busy ? this.turns.current : this.head.lease?.turn;
  }

  #schedule(draft: Draft, { follows }: AppendOptions): void {
    if (follows !== true && endsBurst(draft)) queueMicrotask(() => this.run());
    else if (this.#unstored.length === 1) defer(this);
  }

  /** Starts writing the waiting entries. */
  run(): void {
    if (!this.#writing && this.#unstored.length > 0) void this.#write();
  }

  /** Called when `run` throws: none of the waiting entries can be stored. */
  failed(error: unknown): void {
    this.#writing = false;
    this.#fail(error);
  }

  /** True if no entry is being written or waits to be. */
  get quiet(): boolean {
    return !this.#writing && this.#unstored.length === 0;
  }

  /** Resolves once `isBehind` is false. */
  async waitForDrain(maxEntries: number, maxBytes: number): Promise<void> {
    while (this.isBehind(maxEntries, maxBytes)) await this.#drained.wait();
  }

  /** Resolves when everything accepted so far is stored or has failed. */
  async stored(): Promise<void> {
    while (!this.quiet) await this.#idle.wait();
  }

  /**
   * Replaces or ends a lease without an entry, if it is still the task's.
   * @param expected the log has to end at this position: fails if an entry was appended after it
   * @returns false if another process has the lease or has appended
   */
  async setLease(fence: Fence, lease: Lease | null, expected?: number): Promise<boolean> {
    if (this.isLost) throw lost(this.taskId);
    const request = { taskId: this.taskId, fence, lease, ...(expected === undefined ? {} : { expected }) };
    const done = await this.storedHead.setLease(this.store, request);
    if (done === "set") {
      this.noteLease();
      this.hooks.committed?.(this.taskId);
    } else await this.refresh();
    return done === "set";
  }

  /**
   * Takes over entries that other processes appended, and the current lease. Entries of this process's own append in
   * flight are left to the answer of that append, since they may be read before the answer arrives.
   */
  async refresh(): Promise<void> {
    // A head newer than the entries may have no lease: the turn would then seem to end in its last known pause.
    for (let rounds = 1; !this.isLost && !(await this.#refreshOnce()) && rounds < MOST_ROUNDS; rounds++);
  }

  /** Returns false if entries were appended between the reads of the entries and of the head. */
  async #refreshOnce(): Promise<boolean> {
    const appends = this.#appends;
    const failures = this.#failures;
    // An unhealthy store may still store an append that it received.
    const isWell = this.store.health.status.healthy;
    // An append of this process that succeeded meanwhile came after all entries of other processes.
    while (this.#appends === appends) {
      const before = this.fold.position;
      const read = await this.store.read({ taskId: this.taskId, after: before, limit: 1_000 });
      while (this.#appending) await this.#answers.wait();
      if (read.length === 0) {
        if (isWell && this.#failures === failures) this.#uncertain = false;
        break;
      }
      if (this.fold.position === before) this.#takeOver(read);
    }
    const { leaseChanges } = this.storedHead;
    const head = await this.store.head({ taskId: this.taskId });
    if (head === undefined || this.#appending || !this.storedHead.mayTakeLease(leaseChanges)) return true;
    if (head.position > this.fold.position) return false;
    this.storedHead.changeLease(head.lease);
    this.noteLease();
    return true;
  }

  #takeOver(read: readonly Uint8Array[]): void {
    try {
      for (const bytes of read) this.publish(decodeEntry(bytes), bytes.length);
    } finally {
      this.#replan();
      this.outlineIfFollowed();
      this.wake();
    }
  }

  /**
   * Waits until this log reaches a position that the store has: the answer to the append arrives a moment later.
   * Resolves to false if no append of this process leads there, for example if another process appends.
   */
  async caughtUp(position: number): Promise<boolean> {
    while (this.#appending && this.fold.position < position) await this.#answers.wait();
    return this.fold.position >= position;
  }

  #answered(): void {
    if (this.#appending) this.#isAnsweredMeanwhile = this.hooks.answers?.isAnsweredAfter(this.#began) === true;
    this.#appending = false;
    this.#answers.release();
  }

  /** Checks the waiting entries against the stored task again and rejects those that no longer fit. */
  #replan(): void {
    this.#plan = new Plan(this.fold, this.#unstored);
    this.#unstored.recheck(({ draft, options }) => {
      // Another process created the task first.
      if (draft.event.case === "created" && this.fold.position > 0) throw new TaskExists(this.taskId);
      this.#plan.add(draft, options, this.#turnAtWork);
    });
  }

  async #write(): Promise<void> {
    this.#writing = true;
    let conflicts = 0;
    while (this.#unstored.length > 0) {
      const { position } = this.fold;
      try {
        await this.#append();
        conflicts = 0;
      } catch (error) {
        // A refresh that waits for the answer continues after the entries that failed have been rejected.
        this.#answered();
        // A new entry of another process explains a conflict; a conflict without a new entry is a store failure.
        if (position === 0 && (isConflict(error) || isFenced(error))) this.#fail(new TaskExists(this.taskId, error));
        else if (isFenced(error)) await this.#lost(error);
        else if (error instanceof StateChangeFailed) this.#reject(error);
        else if (isMoved(error)) continue;
        else if (isConflict(error) && conflicts < maxConflicts) await this.#retry(error);
        else this.#fail(error);
        conflicts = this.fold.position > position ? 0 : conflicts + 1;
      }
    }
    this.#writing = false;
    this.#idle.release();
  }

  async #append(): Promise<void> {
    if (this.isLost) throw lost(this.taskId);
    const batch = this.#unstored.next(this.fold, this.hooks.writer, this.origin, this.turn);
    const request = appendRequest(this.head, this.fold.position, batch);
    const changing = batch.pending.findLast(({ changes }) => changes !== undefined);
    const state = changing?.options.state;
    this.#appending = true;
    this.#began = performance.now();
    const found = await (state === undefined ? this.store.append(request) : state.append(request, changing?.changes));
    this.#appends++;
    this.hooks.answers?.note(this.#began);
    this.hooks.metrics?.appended(batch.entries.length, (performance.now() - this.#began) / 1_000);
    if (request.lease !== undefined) this.storedHead.changeLease(found?.lease ?? request.lease);
    this.#stored(batch);
    if (found?.pushed === true) this.hooks.pushed?.(this.taskId);
    this.hooks.committed?.(this.taskId);
    this.hooks.changed?.(this.taskId);
    this.#answered();
  }

  #stored({ pending, entries, bytes }: Batch): void {
    this.#unstored.drop(pending.length);
    pending.forEach(({ draft, resolve, reject }, index) => {
      const entry = entries[index];
      if (entry === undefined) return;
      this.publish(entry, bytes[index]?.length ?? 0, draft.size);
      try {
        resolve(entry);
      } catch (error) {
        // An error of the caller's callback does not affect the entries after this one.
        reject(error);
      }
    });
    this.wake();
    this.#drained.release();
    this.saveSnapshotIfDue();
  }

  /**
   * Another process executes the task: entries of the execution that lost the lease are rejected, entries without a
   * lease are retried.
   */
  async #lost(cause: unknown): Promise<void> {
    for (const pending of this.#unstored.takeFenced()) pending.reject(new LeaseLost(this.taskId, cause));
    this.#drained.release();
    await this.#retry(cause);
  }

  /** Rejects the first entry whose changes cannot be stored, and later entries of its execution. */
  #reject(error: StateChangeFailed): void {
    for (const pending of this.#unstored.takeChanging()) pending.reject(error);
    this.#replan();
    this.#drained.release();
  }

  /** Another process wrote first: takes over its entries, then checks the waiting ones again. */
  async #retry(cause: unknown): Promise<void> {
    try {
      await this.refresh();
      this.#replan();
    } catch {
      this.#fail(cause);
    }
  }

  /**
   * Rejects waiting entries. A rejected send fails alone, or together with everything that depends on the task it would
   * have created. A store failure fails all waiting entries.
   */
  #fail(error: unknown): void {
    const refused = isRejection(error);
    const waiting = this.#unstored.takeAll();
    const lost = refused && this.fold.position > 0 ? waiting.splice(0, 1) : waiting.splice(0);
    const reason = refused ? error : unavailable(error);
    if (!refused) {
      this.#failures++;
      this.#uncertain = true;
    }
    for (const { options, reject } of lost) {
      this.#cutOff = options.fence ?? this.#cutOff;
      reject(reason);
    }
    for (const pending of waiting) this.#unstored.push(pending);
    this.#replan();
    this.#drained.release();
  }
}
