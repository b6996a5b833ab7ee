import type { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../../gen/parley/log/v1/log_pb.js";
import type { MessageContext } from "../../agent/message.js";
import { defer } from "../../core/event-loop.js";
import { type Fence, type Lease, StoreError, type TaskHead, type TaskStore } from "../../store/task-store.js";
import { type Draft, decodeEntry, noteSize, stateAfter } from "../../task/entry.js";
import type { TaskFold } from "../../task/fold.js";
import { endsBlockingSend, isTerminal } from "../../task/state.js";
import { isFenced, LeaseLost } from "./lease.js";
import { isConflict, unavailable } from "./outage.js";
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
import { SnapshotSaver } from "./snapshots.js";
import { StoredHead, TurnProgress } from "./stored-head.js";
import { LogPageCache, Tail, Waiters } from "./tail.js";

/** How often an append is tried again that meets a conflict although the store shows no new entry. */
const maxConflicts = 8;

/** A task of fewer bytes as JSON stays in memory as a whole while it is followed. */
const KEPT_WHOLE_BYTES = 256 * 1024;

/** A task was to be created under an id that the store has already. */
export class TaskExists extends Error {
  override name = "TaskExists";

  constructor(taskId: string, cause: unknown) {
    super(`Task ${taskId} exists.`, { cause });
  }
}

/** What the log of a task is made of. */
export interface TaskLogOptions {
  readonly store: TaskStore;
  readonly head: TaskHead;
  readonly fold: TaskFold;
  /** What clients call the task, where that is another id than the one that it is kept under. Default: as the fold has it. */
  readonly shownAs?: string | undefined;
  readonly snapshotAt: number;
  readonly bytesSince?: number;
  /** Called after each append of this process, when the task has push configurations. */
  readonly pushed?: (taskId: string) => void;
}

/**
 * The one writer of a task in this process, and what its readers read.
 *
 * Persist, then publish: an entry is folded, and shown to readers, only when the store has it for good. At most one
 * append of a task is under way; what arrives meanwhile goes into the next one, so a fast agent shares commits with
 * itself as it does with other tasks.
 */
export class TaskLog {
  #fold: TaskFold;
  #tail: Tail;
  /** Whether the fold is the whole task, and not its outline. */
  #isWhole = true;
  /** The task on its way from the store. */
  #whole: Promise<boolean> | undefined;
  readonly turns: TurnProgress = new TurnProgress();
  /** The lease of an execution that lost an entry: nothing more that relies on it is stored behind the gap. */
  #cutOff: Fence | undefined;

  readonly #store: TaskStore;
  /** How many hold this log: readers, executions, calls. */
  #refCount = 0;
  /** How many of these need only the events of the task. */
  #followers = 0;
  #uncertain = false;
  readonly #head: StoredHead;
  #plan: Plan;
  readonly #unstored = new Unstored();
  #writing = false;
  /** Whether an append is at the store: what is read meanwhile may be its own entries, not news from another process. */
  #appending = false;
  #answers: (() => void)[] = [];
  /** Counts appends of this process that were stored. */
  #appends = 0;
  #failures = 0;
  readonly #snapshots: SnapshotSaver;
  #room: (() => void)[] = [];
  #idle: (() => void)[] = [];
  readonly #changes = new Waiters();
  #pages: LogPageCache | undefined;
  readonly #pushed: TaskLogOptions["pushed"];
  readonly #shownAs: string | undefined;

  constructor(options: TaskLogOptions) {
    this.#store = options.store;
    this.#pushed = options.pushed;
    this.#shownAs = options.shownAs;
    this.#head = new StoredHead(options.head);
    this.#fold = options.fold;
    this.#snapshots = new SnapshotSaver(options.store, options.snapshotAt, options.bytesSince);
    this.#plan = new Plan(options.fold, this.#unstored);
    this.#tail = new Tail(options.fold.position);
    this.#noteLease();
  }

  get taskId(): string {
    return this.#head.value.taskId;
  }

  /** The task as stored. Whoever holds the log for more than its events sees all of it. */
  get fold(): TaskFold {
    return this.#fold;
  }

  /** The newest entries, for readers that keep up. */
  get tail(): Tail {
    return this.#tail;
  }

  /** What messages and events of the task say that they belong to: its id as clients know it. */
  get place(): MessageContext {
    const { taskId, contextId } = this.head;
    return { taskId: this.fold.task.id || (this.#shownAs ?? taskId), contextId };
  }

  /** Whether its client has chosen the id that it is shown under. */
  get isNamed(): boolean {
    return this.place.taskId !== this.taskId;
  }

  /** The head as stored, with the lease as last set. */
  get head(): TaskHead {
    return this.#head.value;
  }

  /** State after everything that was accepted, stored or not: what the state table judges by. */
  get plannedState(): TaskState {
    return this.#plan.state;
  }

  /** Whether the task waits for its client, or is over, and no process executes it. */
  get atRest(): boolean {
    return (
      endsBlockingSend(this.fold.state) && !this.turns.busy && (this.head.lease === null || isTerminal(this.fold.state))
    );
  }

  /** Whether the store may have entries that this log does not: an append failed, and was perhaps done all the same. */
  get uncertain(): boolean {
    return this.#uncertain;
  }

  /** Whether this log is in use. The cache forgets one that is not. */
  get isRetained(): boolean {
    return this.#refCount > 0;
  }

  /** Keeps the log in memory until `release`. */
  retain(): void {
    this.#refCount++;
  }

  release(): void {
    this.#refCount--;
  }

  /** Notes that one holder of the log needs only its events from now on. */
  beginFollowing(): void {
    this.#followers++;
  }

  endFollowing(): void {
    this.#followers--;
  }

  /** Whether the fold is the whole task, and not the outline that followers need. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Replaces a large task in memory with its outline while all holders of the log only follow it. */
  outlineIfFollowed(): void {
    const isFollowed = this.#followers > 0 && this.#followers === this.#refCount;
    if (!isFollowed || !this.quiet || this.#uncertain || this.#fold.size < KEPT_WHOLE_BYTES) return;
    this.#fold = this.#fold.outline();
    // Followers of an outline that has grown by another process's entries still have to read these.
    if (this.#isWhole) this.#tail = new Tail(this.#fold.position);
    this.#isWhole = false;
    this.#replan();
  }

  /**
   * Takes the whole task in place of its outline.
   * @param read the task as the store has it
   * @returns false where the store does not have it any more
   * @throws StoreError
   */
  makeWhole(read: () => Promise<{ readonly fold: TaskFold } | undefined>): Promise<boolean> {
    this.#whole ??= this.#makeWhole(read).finally(() => {
      this.#whole = undefined;
    });
    return this.#whole;
  }

  async #makeWhole(read: () => Promise<{ readonly fold: TaskFold } | undefined>): Promise<boolean> {
    while (!this.#isWhole) {
      const stored = (await read())?.fold;
      if (stored === undefined) return false;
      // Another process may have appended since.
      if (stored.position > this.#fold.position) await this.refresh();
      for (const entry of this.#tail.after(stored.position) ?? []) stored.apply(entry);
      if (stored.position !== this.#fold.position) continue;
      this.#isWhole = true;
      this.#fold = stored;
      this.#replan();
    }
    return true;
  }

  /** Notes that an execution of the task lives in this process, which keeps the log in memory. */
  beginExecution(): void {
    this.turns.beginExecution();
    this.retain();
  }

  endExecution(): void {
    this.turns.endExecution();
    this.release();
  }

  /** Entries that the tail does not have any more, from the store. */
  get pages(): LogPageCache {
    this.#pages ??= new LogPageCache(this.#store, this.taskId);
    return this.#pages;
  }

  /**
   * Whether so much waits that the caller should wait before it appends: this many entries that no append has taken yet, or
   * this many bytes that are not stored.
   */
  isBehind(maxEntries: number, maxBytes: number): boolean {
    return this.#unstored.waiting >= maxEntries || this.#unstored.size >= maxBytes;
  }

  /**
   * Accepts an entry and resolves when it is stored. Entries are stored in the order of the calls.
   * @throws A2AError when nothing may follow the task's state, or a precondition does not hold; StoreError
   * `duplicate` when the send is remembered already.
   */
  append(draft: Draft, options: AppendOptions = {}): Promise<LogEntry> {
    return new Promise<LogEntry>((resolve, reject) => this.#accept({ draft, options, resolve, reject }));
  }

  /**
   * As `append`, and resolves with what `onStored` returns. That runs when the entry is stored and folded, before the
   * next one is: what it reads is the task at that entry.
   */
  appendAnd<T>(draft: Draft, options: AppendOptions, onStored: (entry: LogEntry) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#accept({ draft, options, resolve: (entry) => resolve(onStored(entry)), reject });
    });
  }

  #accept(pending: Pending): void {
    const { draft, options } = pending;
    try {
      if (options.fence !== undefined && options.fence === this.#cutOff) {
        throw unavailable(new Error("An entry before this one could not be stored."));
      }
      this.#plan.add(draft, options, this.#turnAtWork);
    } catch (error) {
      pending.reject(error);
      return;
    }
    this.#unstored.push(pending);
    if (!this.#writing) this.#schedule(draft, options);
  }

  /** Refuses what would make the task too large, before it is appended. @throws A2AError TASK_TOO_LARGE */
  checkSize(draft: Draft, sizes: SizeLimits): void {
    this.#plan.checkSize(draft, sizes);
  }

  /** Position of the message whose turn is executed, in this process or another, as far as is known. */
  get #turnAtWork(): number | undefined {
    return this.turns.busy ? this.turns.current : this.head.lease?.turn;
  }

  #schedule(draft: Draft, { follows }: AppendOptions): void {
    if (follows !== true && endsBurst(draft)) queueMicrotask(() => this.run());
    else if (this.#unstored.length === 1) defer(this);
  }

  /** Begins to write what waits. */
  run(): void {
    if (!this.#writing && this.#unstored.length > 0) void this.#write();
  }

  /** Called when `run` throws: nothing of what waits can be stored then. */
  failed(error: unknown): void {
    this.#writing = false;
    this.#fail(error);
  }

  /** Whether nothing is on its way to the store. */
  get quiet(): boolean {
    return !this.#writing && this.#unstored.length === 0;
  }

  /** Resolves when the log is not behind any more; see `isBehind`. */
  async waitForDrain(maxEntries: number, maxBytes: number): Promise<void> {
    while (this.isBehind(maxEntries, maxBytes)) await new Promise<void>((resolve) => this.#room.push(resolve));
  }

  /** Resolves when everything accepted so far is stored, or was given up. */
  async stored(): Promise<void> {
    while (!this.quiet) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /**
   * Replaces or ends a lease without an entry, if it is still the task's.
   * @param expected only while the log ends there: not when something was appended behind it
   * @returns whether it was done; otherwise another process has the lease, or has appended
   */
  async setLease(fence: Fence, lease: Lease | null, expected?: number): Promise<boolean> {
    const request = { taskId: this.taskId, fence, lease, ...(expected === undefined ? {} : { expected }) };
    const done = await this.#head.setLease(this.#store, request);
    if (done === "set") this.#noteLease();
    else await this.refresh();
    return done === "set";
  }

  /** Calls back once, at the next entry or at `wake`. */
  onChange(callback: () => void): void {
    this.#changes.onNext(callback);
  }

  /** Takes that back. */
  offChange(callback: () => void): void {
    this.#changes.forget(callback);
  }

  /** Lets all that wait look again. */
  wake(): void {
    this.#changes.notify();
  }

  /** Whether the store has the task; retention removes it when it is over. */
  async isStored(): Promise<boolean> {
    return (await this.#store.head({ taskId: this.taskId })) !== undefined;
  }

  /**
   * Takes over what other processes appended, and which one executes the task now. What an append of this process stores
   * is left to the answer to that append: it may be read before the answer comes.
   */
  async refresh(): Promise<void> {
    const appends = this.#appends;
    const failures = this.#failures;
    // A store that is out of order may yet store what it was given.
    const isWell = this.#store.health.status.healthy;
    // What this process has appended meanwhile, it has appended behind all entries of other processes.
    while (this.#appends === appends) {
      const before = this.fold.position;
      const read = await this.#store.read({ taskId: this.taskId, after: before, limit: 1_000 });
      while (this.#appending) await this.#answer();
      if (read.length === 0) {
        if (isWell && this.#failures === failures) this.#uncertain = false;
        break;
      }
      if (this.fold.position === before) this.#takeOver(read);
    }
    const { leaseChanges } = this.#head;
    const head = await this.#store.head({ taskId: this.taskId });
    if (head === undefined || this.#appending || !this.#head.mayTakeLease(leaseChanges)) return;
    this.#head.changeLease(head.lease);
    this.#noteLease();
  }

  #takeOver(read: readonly Uint8Array[]): void {
    try {
      for (const bytes of read) this.#publish(decodeEntry(bytes), bytes.length);
    } finally {
      this.#replan();
      this.outlineIfFollowed();
      this.wake();
    }
  }

  /**
   * Resolves when this log is at a position that the store has: the answer to the append comes a moment later. False
   * when no append of this process leads there, as when another process appends.
   */
  async caughtUp(position: number): Promise<boolean> {
    while (this.#appending && this.fold.position < position) await this.#answer();
    return this.fold.position >= position;
  }

  /** Resolves when the append that is at the store is answered. */
  #answer(): Promise<void> {
    return new Promise((resolve) => this.#answers.push(resolve));
  }

  /** Checks what waits against the task as stored once more, and refuses what does not fit any more. */
  #replan(): void {
    this.#plan = new Plan(this.fold, this.#unstored);
    this.#unstored.recheck(({ draft, options }) => this.#plan.add(draft, options, this.#turnAtWork));
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
        // A conflict is explained by a new entry of another process; one without a new entry is trouble.
        if (position === 0 && (isConflict(error) || isFenced(error))) this.#fail(new TaskExists(this.taskId, error));
        else if (isFenced(error)) await this.#lost(error);
        else if (isConflict(error) && conflicts < maxConflicts) await this.#retry(error);
        else this.#fail(error);
        conflicts = this.fold.position > position ? 0 : conflicts + 1;
      }
    }
    this.#writing = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #append(): Promise<void> {
    const batch = this.#unstored.next(this.fold);
    const request = appendRequest(this.head, this.fold.position, batch);
    this.#appending = true;
    try {
      const found = await this.#store.append(request);
      this.#appends++;
      if (request.lease !== undefined) this.#head.changeLease(found?.lease ?? request.lease);
      this.#stored(batch);
      if (found?.pushed === true) this.#pushed?.(this.taskId);
    } finally {
      this.#appending = false;
      for (const resolve of this.#answers.splice(0)) resolve();
    }
  }

  #stored({ pending, entries, bytes }: Batch): void {
    this.#unstored.drop(pending.length);
    pending.forEach(({ draft, resolve, reject }, index) => {
      const entry = entries[index];
      if (entry === undefined) return;
      this.#publish(entry, bytes[index]?.length ?? 0, draft.size);
      try {
        resolve(entry);
      } catch (error) {
        // It concerns the caller of `append`, not the entries behind this one.
        reject(error);
      }
    });
    this.wake();
    for (const resolve of this.#room.splice(0)) resolve();
    this.#snapshots.saveIfDue(this.taskId, this.fold);
  }

  #publish(entry: LogEntry, size: number, added?: number): void {
    this.fold.apply(entry, added);
    this.tail.push(noteSize(entry, size), size);
    this.#snapshots.noteEntry(size);
    this.#head.apply(entry);
    const state = stateAfter(entry.event);
    if (state === undefined || !endsBlockingSend(state)) return;
    // A pause is that of the turn at work; messages behind it wait for their own. The end is that of all messages.
    if (this.turns.busy && !isTerminal(state)) this.turns.completeCurrent();
    else this.#noteLease();
  }

  #noteLease(): void {
    if (this.turns.noteLease(this.fold, this.head.lease)) this.wake();
  }

  /** Another process executes the task: entries of the execution that lost the lease are refused, those that rely on no lease go on. */
  async #lost(cause: unknown): Promise<void> {
    for (const pending of this.#unstored.takeFenced()) pending.reject(new LeaseLost(this.taskId, cause));
    for (const resolve of this.#room.splice(0)) resolve();
    await this.#retry(cause);
  }

  /** Another process wrote first: take its entries over, then check once more what waits. */
  async #retry(cause: unknown): Promise<void> {
    try {
      await this.refresh();
      this.#replan();
    } catch {
      this.#fail(cause);
    }
  }

  /** A refused send fails alone, with what belongs to the task that it would have created; trouble with the store fails all that waits. */
  #fail(error: unknown): void {
    const refused = isRefusal(error);
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
    for (const resolve of this.#room.splice(0)) resolve();
  }
}

/** Whether the store refused a send for what came with it, which concerns no other entry. */
function isRefusal(error: unknown): boolean {
  if (error instanceof TaskExists) return true;
  return error instanceof StoreError && (error.kind === "duplicate" || error.kind === "too-many-push-configs");
}
