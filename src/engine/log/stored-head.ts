import type { LogEntry } from "../../../gen/parley/log/v1/log_pb.js";
import type { Lease, TaskHead, TaskStore } from "../../store/task-store.js";
import { millisOf, stateAfter } from "../../task/entry.js";
import type { TaskFold } from "../../task/fold.js";
import { endsBlockingSend, isTerminal } from "../../task/state.js";

/** The head of a task as this process knows it: as stored, with the lease as last set. */
export class StoredHead {
  #value: TaskHead;
  /** Counts changes of the lease that this process knows of. */
  #leaseChanges = 0;
  /** How many changes of the lease are at the store. */
  #settingLease = 0;

  constructor(value: TaskHead) {
    this.#value = value;
  }

  get value(): TaskHead {
    return this.#value;
  }

  /** Changes with each change of the lease; see `mayTakeLease`. */
  get leaseChanges(): number {
    return this.#leaseChanges;
  }

  /** Whether a lease that the store was asked for at `leaseChanges` is news: an older answer undoes no change. */
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

  /** Moves on to a stored entry. The end of a task is the end of its lease. */
  apply(entry: LogEntry): void {
    const next = stateAfter(entry.event);
    const before = this.#value;
    const { taskId, tenant, owner, contextId } = before;
    const { position, generation } = entry;
    const statusTime = next === undefined ? before.statusTime : millisOf(entry.time);
    const state = next ?? before.state;
    const lease = isTerminal(state) ? null : before.lease;
    // Written out, as heads are made for every entry: a spread costs several times as much.
    this.#value = { taskId, tenant, owner, contextId, state, statusTime, position, generation, lease };
  }
}

/** Which turn of a task is at work, and which turns have come to rest, as far as this process knows. */
export class TurnProgress {
  #current = 0;
  #completed = 0;
  #busy = false;
  #isLetGo = false;

  /** Position of the message whose turn is being executed, or was last, in this process. */
  get current(): number {
    return this.#current;
  }

  /** Up to this position messages have had their turn come to rest, which lets blocking sends of them return. */
  get completed(): number {
    return this.#completed;
  }

  /** Whether an execution of the task lives or waits in this process. */
  get busy(): boolean {
    return this.#busy;
  }

  /** Whether the end of the server let go of an execution that had not begun: another process, or the next start, begins it. */
  get isLetGo(): boolean {
    return this.#isLetGo;
  }

  letGo(): void {
    this.#isLetGo = true;
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

  /** Notes a pause of the turn at work in this process. */
  completeCurrent(): void {
    this.#completed = this.#current;
  }

  /**
   * Notes which turns have come to rest in a task that is not at work in this process: the lease says which turn another
   * process has in work.
   * @returns whether the task is at rest, so that those who wait are to look again
   */
  noteLease(fold: TaskFold, lease: Lease | null): boolean {
    const { state, statusPosition, position } = fold;
    if (!endsBlockingSend(state) || (this.#busy && !isTerminal(state))) return false;
    if (isTerminal(state)) this.#completed = position;
    else if (lease === null) this.#completed = Math.max(this.#completed, statusPosition);
    // Whether this is the pause of the turn that another process has in work, or of the one before, cannot be seen.
    else this.#completed = Math.max(this.#completed, lease.turn - 1);
    return true;
  }
}
