import type { LogEntry } from "../../../gen/parley/log/v1/log_pb.js";
import type { Lease, TaskHead, TaskStore } from "../../store/task-store.js";
import { millisOf, stateAfter } from "../../task/entry.js";
import type { TaskFold } from "../../task/fold.js";
import { endsBlockingSend, isTerminal } from "../../task/state.js";

/** The head of a task as this process knows it: as stored, with the lease as last set. */
export class StoredHead {
  #value: TaskHead;
  /** Number of lease changes that this process knows of. */
  #leaseChanges = 0;
  /** Number of lease changes in flight to the store. */
  #settingLease = 0;

  constructor(value: TaskHead) {
    this.#value = value;
  }

  get value(): TaskHead {
    return this.#value;
  }

  /** Changes with each lease change; see `mayTakeLease`. */
  get leaseChanges(): number {
    return this.#leaseChanges;
  }

  /** True if a lease read from the store at `leaseChanges` is current: a stale answer must not undo a later change. */
  mayTakeLease(leaseChanges: number): boolean {
    return this.#settingLease === 0 && leaseChanges === this.#leaseChanges;
  }

  changeLease(lease: Lease | null): void {
    this.#leaseChanges++;
    this.#value = { ...this.#value, lease };
  }

  /** Changes the lease here and in the store. */
  setLease(store: TaskStore, request: Parameters<TaskStore["setLease"]>[0]): ReturnType<TaskStore["setLease"]> {
    this.changeLease(request.lease);
    this.#settingLease++;
    return store.setLease(request).finally(() => this.#settingLease--);
  }

  /** Applies a stored entry. The end of a task ends its lease. */
  apply(entry: LogEntry): void {
    const next = stateAfter(entry.event);
    const before = this.#value;
    const { taskId, tenant, owner, contextId } = before;
    const { position, generation } = entry;
    const statusTime = next === undefined ? before.statusTime : millisOf(entry.time);
    const state = next ?? before.state;
    const lease = isTerminal(state) ? null : before.lease;
    // Written out because a head is built for every entry: a spread costs several times as much.
    this.#value = { taskId, tenant, owner, contextId, state, statusTime, position, generation, lease };
  }
}

/** Tracks the running turn of a task and its completed turns, as far as this process knows. */
export class TurnProgress {
  #current = 0;
  #completed = 0;
  #pausedAt = 0;
  #busy = false;
  #isReleased = false;

  /** Position of the message whose turn this process executes or executed last. */
  get current(): number {
    return this.#current;
  }

  /** Turns of messages up to this position are completed, so blocking sends of them return. */
  get completed(): number {
    return this.#completed;
  }

  /** Position of the log at the last pause. A turn may continue after its question. */
  get pausedAt(): number {
    return this.#pausedAt;
  }

  /** True while an execution of the task runs or waits in this process. */
  get busy(): boolean {
    return this.#busy;
  }

  /** True if shutdown released an execution that had not started. Another process, or the next start, begins it. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  release(): void {
    this.#isReleased = true;
  }

  beginExecution(): void {
    this.#busy = true;
  }

  endExecution(): void {
    this.#busy = false;
  }

  begin(position: number): void {
    this.#current = position;
  }

  /** Marks the current turn as completed by a pause at a position. */
  completeCurrent(position: number): void {
    this.#completed = this.#current;
    this.#pausedAt = position;
  }

  /**
   * Marks completed turns of a task that is not running in this process. The lease names the turn that another process
   * runs.
   * @returns true if the task is at rest, so that waiters should check again
   */
  noteLease(fold: TaskFold, lease: Lease | null): boolean {
    const { state, statusPosition, position } = fold;
    if (!endsBlockingSend(state) || (this.#busy && !isTerminal(state))) return false;
    this.#pausedAt = position;
    if (isTerminal(state)) this.#completed = position;
    else if (lease === null) this.#completed = Math.max(this.#completed, statusPosition);
    // This pause may end the turn that another process runs, or the turn before it; the entry does not say which.
    else this.#completed = Math.max(this.#completed, lease.turn - 1);
    return true;
  }
}
