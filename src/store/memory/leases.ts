import { TransientMap } from "../../core/maps.js";
import { LivenessMonitor } from "../liveness.js";
import { compareIds } from "../order.js";
import type { Request } from "../request.js";
import { type HeldLease, type Lease, NO_HOLDER, type TaskHead } from "../task-store.js";

/** A task whose head is replaced, never changed. */
interface Leased {
  head: TaskHead;
}

/** The leases of a store in memory, by holder, and the heartbeats of the holders. */
export class Leases {
  readonly #shared: boolean;
  readonly #others: () => Iterable<string>;
  readonly #watch: LivenessMonitor;
  readonly #held = new Map<string, TransientMap<Leased>>();
  readonly #heartbeats = new Map<string, number>();
  #heartbeat = 0;

  /** @param others further holders whose heartbeats matter */
  constructor(shared: boolean, others: () => Iterable<string>, clock?: () => number) {
    this.#shared = shared;
    this.#others = others;
    this.#watch = new LivenessMonitor(clock);
  }

  /** Gives a task a lease, or removes the current one. */
  set(task: Leased, lease: Lease | null): void {
    const { taskId, tenant, owner, contextId, state, statusTime, position, generation } = task.head;
    this.moved(task, task.head.lease, lease);
    task.head = { taskId, tenant, owner, contextId, state, statusTime, position, generation, lease: own(lease) };
  }

  /** Updates the index after a lease was added, removed or changed. */
  moved(task: Leased, before: Lease | null, after: Lease | null): void {
    if (before?.holder === after?.holder) return;
    const { taskId } = task.head;
    if (before !== null) this.#held.get(before.holder)?.delete(taskId);
    if (after === null) return;
    let held = this.#held.get(after.holder);
    if (held === undefined) {
      held = new TransientMap();
      this.#held.set(after.holder, held);
    }
    held.set(taskId, task);
  }

  heartbeat({ holder, leaseMs, again }: Request<"heartbeat">): boolean {
    if (!this.#shared) return true;
    // A heartbeat also checks the other holders: it is on time even when claims are late.
    this.#expiredHolders(leaseMs);
    const lost = again && !this.#heartbeats.has(holder);
    this.#heartbeats.set(holder, ++this.#heartbeat);
    return !lost;
  }

  claim({ holder, leaseMs, limit, ended }: Request<"claimLeases">): TaskHead[] {
    this.#watch.end(ended);
    const claimed: TaskHead[] = [];
    for (const from of [NO_HOLDER, ...this.#expiredHolders(leaseMs)]) {
      if (from === holder) continue;
      this.#heartbeats.delete(from);
      for (const task of this.#of(from).slice(0, limit - claimed.length)) {
        const { lease } = task.head;
        if (lease !== null) this.set(task, { holder, turn: lease.turn, attempt: lease.attempt + 1 });
        claimed.push(task.head);
      }
    }
    return claimed;
  }

  /** Evicts other holders that missed their heartbeats. */
  evictExpired({ holder, leaseMs }: { readonly holder: string; readonly leaseMs: number }): string[] {
    const expired = this.#expiredHolders(leaseMs).filter((from) => from !== holder);
    for (const from of expired) this.#heartbeats.delete(from);
    return expired;
  }

  of({ holder, after, limit }: { holder: string; after: string; limit: number }): HeldLease[] {
    return this.#after(holder, after)
      .slice(0, limit)
      .flatMap(({ taskId, lease }) => (lease === null ? [] : [{ taskId, ...lease }]));
  }

  /** Heads of leased tasks in the order of holder and id. */
  list({ after, limit }: Request<"listLeased">): TaskHead[] {
    const found: TaskHead[] = [];
    const holders = [...this.#held.keys()].filter(
      (holder) => after === undefined || compareIds(holder, after.holder) >= 0,
    );
    for (const holder of holders.sort(compareIds)) {
      const heads = this.#after(holder, holder === after?.holder ? after.taskId : "");
      found.push(...heads.slice(0, limit - found.length));
      if (found.length === limit) break;
    }
    return found;
  }

  /** Heads of a holder's tasks after an id, in the order of their ids. */
  #after(holder: string, after: string): TaskHead[] {
    return this.#of(holder)
      .map(({ head }) => head)
      .filter(({ taskId }) => compareIds(taskId, after) > 0)
      .sort((a, b) => compareIds(a.taskId, b.taskId));
  }

  #of(holder: string): Leased[] {
    return this.#held.get(holder)?.values() ?? [];
  }

  #expiredHolders(leaseMs: number): string[] {
    if (!this.#shared) return [];
    const holders = new Set([...this.#heartbeats.keys(), ...this.#others()]);
    for (const [holder, held] of this.#held) if (holder !== NO_HOLDER && held.size > 0) holders.add(holder);
    return this.#watch.check(new Map([...holders].map((id) => [id, this.#heartbeats.get(id)])), leaseMs);
  }
}

function own(lease: Lease | null): Lease | null {
  return lease && { holder: lease.holder, turn: lease.turn, attempt: lease.attempt };
}
