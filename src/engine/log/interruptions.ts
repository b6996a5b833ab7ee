import { backoffMs } from "../../core/async.js";
import type { Lease } from "../../store/task-store.js";
import { afterCrash, afterOutage, notStarted, outagesOf, queuedLease } from "./attempts.js";

/** Maximum number of tasks remembered. Interruptions of further tasks count as crashes. */
const MAX_TASKS = 10_000;

/** Number of outages per turn that do not count for `maxRestarts`. Its own appends may cause further ones. */
const MAX_OUTAGES = 20;

/** Delays of a turn's restarts after its first outage. */
const delays = { firstMs: 1_000, maxMs: 30_000, jitter: 0 };

/** An execution that the store ended, or a message whose append had no clear result. */
export interface Interruption {
  /** Turns after this position have not started. */
  readonly after: number;
  /** Position of the first such turn, if known: all earlier turns are finished, whichever lease is stored. */
  readonly next?: number | undefined;
  /** True if the store was unavailable for all tasks. */
  readonly isOutage: boolean;
}

/** An interruption with the state of its recovery. */
interface Noted extends Interruption {
  readonly at: number;
  /** Number of complete polls of the leases since then. */
  polls: number;
  /** True if the task is to continue as soon as the store works. */
  readonly isOpen: boolean;
}

/** Interrupted tasks of this process, until they continue. */
export class Interruptions {
  readonly #noted = new Map<string, Noted>();

  get size(): number {
    return this.#noted.size;
  }

  has(taskId: string): boolean {
    return this.#noted.has(taskId);
  }

  /** Notes an interruption. The first one of a task is kept, since nothing has started after it. */
  note(taskId: string, interruption: Interruption): void {
    const known = this.#noted.get(taskId);
    if (known === undefined && this.#noted.size >= MAX_TASKS) return;
    const at = performance.now();
    this.#noted.set(taskId, { at, ...interruption, ...known, polls: 0, isOpen: interruption.isOutage });
  }

  /** Notes that an execution of a task has started, or that the task needs none. */
  forget(taskId: string): void {
    if (this.#noted.size > 0) this.#noted.delete(taskId);
  }

  /** Tasks to continue as soon as the store works. */
  open(): string[] {
    return [...this.#noted].flatMap(([taskId, { isOpen }]) => (isOpen ? [taskId] : []));
  }

  /** Stops continuing a task here, because another process holds its lease. Polls of leases find it. */
  leaveToPolls(taskId: string): void {
    const noted = this.#noted.get(taskId);
    if (noted !== undefined) this.#noted.set(taskId, { ...noted, next: undefined, isOpen: false });
  }

  /** True while a turn has to wait, because outages have interrupted it repeatedly. */
  mustWait(taskId: string, lease: Lease): boolean {
    const noted = this.#noted.get(taskId);
    const outages = outagesOf(lease);
    return noted?.isOutage === true && outages > 0 && performance.now() < noted.at + backoffMs(outages, delays);
  }

  /** Returns the lease that follows an unused one: of the turn's first execution, or of its next one. */
  next(taskId: string, lease: Lease): Lease {
    const noted = this.#noted.get(taskId);
    if (noted === undefined) return afterCrash(lease);
    const { after, next, isOutage } = noted;
    const unstarted = next ?? (lease.turn > after && lease.attempt === 1 ? lease.turn : undefined);
    if (unstarted !== undefined) return afterCrash(queuedLease(lease.holder, unstarted));
    return isOutage && outagesOf(lease) < MAX_OUTAGES ? afterOutage(lease) : afterCrash(lease);
  }

  /** Returns the lease of `next` without its new attempt, which the claim counts. */
  released(taskId: string, lease: Lease): Lease {
    return notStarted(this.next(taskId, lease));
  }

  /** Notes a complete poll of the leases. Forgets the tasks that two polls have not shown: they were not stored. */
  notePoll(shown: ReadonlyMap<string, unknown>): void {
    for (const [taskId, noted] of this.#noted) {
      if (++noted.polls > 2 && !shown.has(taskId)) this.#noted.delete(taskId);
    }
  }
}
