import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import type { Lease, TaskHead, TaskStore } from "../store/task-store.js";
import { millisOf, stateAfter } from "../task/entry.js";
import { isTerminal } from "../task/state.js";

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
