import { equals } from "@bufbuild/protobuf";
import { type LogEntry, LogEntrySchema } from "../../../gen/parley/log/v1/log_pb.js";
import type { MessageContext } from "../../agent/message.js";
import type { TaskHead, TaskStore } from "../../store/task-store.js";
import { noteSize, stateAfter } from "../../task/entry.js";
import type { TaskFold } from "../../task/fold.js";
import { type Origin, originAfter } from "../../task/origin.js";
import { endsBlockingSend, isTerminal } from "../../task/state.js";
import { foldLarge, storedEntry } from "./fold-stored.js";
import type { LogHooks } from "./hooks.js";
import { SnapshotSaver } from "./snapshots.js";
import { StoredHead, TurnProgress } from "./stored-head.js";
import { ChangeListeners, LogPageCache, Tail } from "./tail.js";

export interface StoredLogOptions {
  readonly store: TaskStore;
  readonly head: TaskHead;
  readonly fold: TaskFold;
  readonly snapshotAt: number;
  readonly bytesSince?: number;
  readonly hooks?: LogHooks;
  readonly last?: LogEntry | undefined;
}

/** The stored entries of a task, as its readers see them, and the holders of its log. `TaskLog` adds the entries. */
export abstract class StoredLog {
  readonly turns: TurnProgress = new TurnProgress();
  protected readonly store: TaskStore;
  protected readonly storedHead: StoredHead;
  protected readonly hooks: LogHooks;
  #fold: TaskFold;
  #tail: Tail;
  #origin: Origin | undefined;
  /** The last entry; undefined if only its fold was read. */
  #last: LogEntry | undefined;
  #isLost = false;
  /** True if the fold is the complete task, false if it is the outline. */
  #isWhole = true;
  /** Number of holders: readers, executions, calls. */
  #refCount = 0;
  /** Number of holders that need only the task's events. */
  #followers = 0;
  readonly #snapshots: SnapshotSaver;
  readonly #changes = new ChangeListeners();
  #pages: LogPageCache | undefined;

  constructor(options: StoredLogOptions) {
    this.store = options.store;
    this.storedHead = new StoredHead(options.head);
    this.hooks = options.hooks ?? {};
    this.#fold = options.fold;
    this.#tail = new Tail(options.fold.position);
    this.#last = options.last;
    this.#snapshots = new SnapshotSaver(options.store, options.snapshotAt, options.bytesSince);
    this.noteLease();
  }

  /** Origin of the last entry, if this process has read or written one that names it. */
  protected get origin(): Origin | undefined {
    return this.#origin;
  }

  get taskId(): string {
    return this.storedHead.value.taskId;
  }

  /** The task as stored. It is complete for holders that need more than events. */
  get fold(): TaskFold {
    return this.#fold;
  }

  /** Position of the message whose turn has the lease, or is the last one. */
  protected get turn(): number | undefined {
    return this.head.lease?.turn ?? this.#fold.messages.at(-1);
  }

  /** The newest entries, for readers that keep up. */
  get tail(): Tail {
    return this.#tail;
  }

  /** The ids that the task's messages and events carry: its public task id and its context. */
  get messageContext(): MessageContext {
    return { taskId: this.fold.task.id || this.taskId, contextId: this.head.contextId };
  }

  /** True if the client chose the task's public id. */
  get isNamed(): boolean {
    return this.messageContext.taskId !== this.taskId;
  }

  /** The head as stored, with the lease as last set. */
  get head(): TaskHead {
    return this.storedHead.value;
  }

  /** True if the task waits for its client or is finished, and no process executes it. */
  get atRest(): boolean {
    const { state, statusPosition, messages } = this.fold;
    if (!endsBlockingSend(state) || this.turns.busy) return false;
    // The lease of a message that another process accepted is known a moment later than the message.
    const isAnswered = (messages.at(-1) ?? 0) > statusPosition;
    return isTerminal(state) || (this.head.lease === null && !isAnswered);
  }

  /** True while this log is in use. The cache evicts an unused log. */
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

  /** Notes that one holder needs only the log's events from now on. */
  beginFollowing(): void {
    this.#followers++;
  }

  endFollowing(): void {
    this.#followers--;
  }

  /** True if all holders only follow the log. */
  protected get isOnlyFollowed(): boolean {
    return this.#followers > 0 && this.#followers === this.#refCount;
  }

  /** True if the fold is the complete task, false if it is the outline that followers need. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  protected replaceByOutline(): void {
    this.#fold = this.#fold.outline();
    // Followers of an outline that grew by another process's entries still have to read these.
    if (this.#isWhole) this.#tail = new Tail(this.#fold.position);
    this.#isWhole = false;
  }

  /** @param fold the complete task, at the position of the outline that it replaces */
  protected replaceOutline(fold: TaskFold): void {
    this.#isWhole = true;
    this.#fold = fold;
  }

  /** Notes that this process executes the task, which keeps the log in memory. */
  beginExecution(): void {
    this.turns.beginExecution();
    this.retain();
  }

  endExecution(): void {
    this.turns.endExecution();
    this.release();
  }

  /** Reads entries that the tail has dropped from the store. */
  get pages(): LogPageCache {
    this.#pages ??= new LogPageCache(this.store, this.taskId);
    return this.#pages;
  }

  /** Returns a stored entry, or undefined if the log ends before it. */
  async entryAt(position: number): Promise<LogEntry | undefined> {
    const kept = this.#tail.after(position - 1);
    return kept === undefined ? storedEntry(this.store, this.taskId, position) : kept[0];
  }

  /** Folds the task as of an earlier position; undefined if retention has removed it. @throws StoreError */
  async foldAt(position: number): Promise<TaskFold | undefined> {
    const loaded = await this.store.load({ taskId: this.taskId });
    return loaded && (await foldLarge(this.store, loaded, position))?.fold;
  }

  /** Calls back once, at the next entry or at `wake`. */
  onChange(callback: () => void): void {
    this.#changes.onNext(callback);
  }

  offChange(callback: () => void): void {
    this.#changes.forget(callback);
  }

  wake(): void {
    this.#changes.notify();
  }

  /** True if the store has the task; retention removes finished tasks. */
  async isStored(): Promise<boolean> {
    return (await this.store.head({ taskId: this.taskId })) !== undefined;
  }

  /** True once the store lacks entries of this log, after a move to another server. Nothing is appended or shown. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Ends the log: its readers get an error, and a new log is read from the store. */
  lose(): void {
    this.#isLost = true;
    this.wake();
  }

  /** Stops the current snapshot, because the store may lack its first pieces. */
  abandonSnapshot(): void {
    this.#snapshots.abandon();
  }

  /** True if the store has the last entry of this log, and so those before it. */
  async isStillStored(): Promise<boolean> {
    const { position } = this.fold;
    const known = this.#last;
    if (position === 0) return true;
    const stored = known && (await storedEntry(this.store, this.taskId, position));
    return stored !== undefined && known?.position === position && equals(LogEntrySchema, stored, known);
  }

  /**
   * Adds the next entry after the store has committed it. The caller wakes the waiters.
   * @param size bytes as stored
   * @param added bytes that the entry adds to the task's size; counted if omitted
   */
  protected publish(entry: LogEntry, size: number, added?: number): void {
    this.#fold.apply(entry, added);
    this.#tail.push(noteSize(entry, size), size);
    this.#snapshots.noteEntry(size);
    this.storedHead.apply(entry);
    this.#origin = originAfter(entry, this.#origin);
    this.#last = entry;
    const state = stateAfter(entry.event);
    if (state === undefined || !endsBlockingSend(state)) return;
    // A pause completes only the current turn; later messages wait for their own. The end of the task completes all
    // turns.
    if (this.turns.busy && !isTerminal(state)) this.turns.completeCurrent(entry.position);
    else this.noteLease();
  }

  /** Marks completed turns of a task that is not running in this process, as its lease shows them. */
  protected noteLease(): void {
    if (this.turns.noteLease(this.#fold, this.head.lease)) this.wake();
  }

  protected saveSnapshotIfDue(): void {
    this.#snapshots.saveIfDue(this.taskId, this.#fold);
  }
}
