import { nextRound } from "../../core/event-loop.js";
import type { Logger } from "../../core/log.js";
import {
  type Fence,
  type HeldLease,
  type Lease,
  NO_HOLDER,
  StoreError,
  type TaskHead,
  type TaskStore,
} from "../../store/task-store.js";

/**
 * Which process may execute a task.
 *
 * A lease says which process executes a task, and for which attempt. It has no time: a process says that it lives, for
 * all that it executes at once, and the store gives the leases of one that does not to the process that claims them. What an
 * execution appends names its lease, and the store refuses it when that is not the stored one any more. Nothing here
 * compares times of day.
 */

/** Executions taken over in one go. */
const claimSize = 1_000;

/** Tasks put in order between two rounds of the event loop. */
const chunkSize = 32;

/** Leases of this process that are looked at in one round. */
const pageSize = 1_000;

/** How many tasks with turns that no agent has begun are remembered; the turns of more tasks count as begun. */
const maxUnheard = 10_000;

/** An execution could not store something, because another process has begun one for the same task. */
export class LeaseLost extends Error {
  override name = "LeaseLost";
  constructor(taskId: string, cause: unknown) {
    super(`Task ${taskId} was taken over by another process.`, { cause });
  }
}

/** Whether the store refused what relied on a lease that is not the stored one. */
export function isFenced(error: unknown): boolean {
  return error instanceof StoreError && error.kind === "fenced";
}

/** The same turn, up for a claim by any process. The claim counts one more attempt. */
export function upForClaim({ turn, attempt }: Lease): Lease {
  return { holder: NO_HOLDER, turn, attempt };
}

/** The same before its execution began, so that a claim, or the beginning itself, counts it. */
export function notBegun({ holder, turn, attempt }: Lease): Lease {
  return { holder, turn, attempt: attempt - 1 };
}

/** The attempt of a turn that no agent has heard of: after a claim it is 0, and recovery knows. */
const NEVER_BEGUN = -1;

/** The lease of a turn that no agent has heard of, up for a claim. */
function neverBegun(turn: number): Lease {
  return { holder: NO_HOLDER, turn, attempt: NEVER_BEGUN };
}

/** Where the turns begin that a task may have and no agent has heard of. */
interface Unheard {
  /** They are behind this position. */
  readonly after: number;
  /** Position of the first one, where it is known: those before it are over, whichever lease is stored. */
  readonly next: number | undefined;
  /** Looks at all leases since. */
  looks: number;
}

/** How long other processes take this one for a living one. */
export interface SignsOfLife {
  /** How often they had given it up so far: it has lost what it had before. */
  readonly epoch: number;
  /** Until then none of them can have given it up, by `performance.now()`: from the last sign of life on, for as long as a lease. */
  readonly until: number;
}

/** An execution, as far as its lease goes. */
export interface Losable {
  readonly log: { readonly taskId: string };
  /** Ends it at once. */
  abandon(cause: "lease-lost"): void;
}

/** What the keeper of leases needs of its engine. */
export interface LeaseSource {
  readonly store: TaskStore;
  /** The name under which this process has its leases. */
  readonly holder: string;
  readonly leaseMs: number;
  readonly maxStallMs: number;
  /** How many executions of other processes may run here at the same time. */
  readonly maxRecovered: number;
  readonly logger: Logger;
  /** The executions of this process. */
  readonly executions: { has(taskId: string): boolean; values(): readonly Losable[] };
  /** Whether something of a task is on its way to the store. */
  readonly writing: (taskId: string) => boolean;
  /** Puts a claimed task in order. Never rejects. */
  readonly recover: (taskId: string, lease: Lease) => Promise<void>;
}

/** Keeps the leases of this process, finds those it lost, and takes over those of processes that are gone. */
export class LeaseKeeper {
  readonly #source: LeaseSource;
  /** Claimed, and not in order yet. */
  readonly #recovering = new Set<string>();
  /** Claimed, and waiting for one of the executions that were taken over to end. */
  readonly #parked = new Map<string, Lease>();
  /** Executions that were taken over. */
  readonly #recovered = new Set<string>();
  /** Leases that nothing here explained, by task: in the last look at all of them, and in this one. */
  #strays = new Map<string, Lease>();
  #found = new Map<string, Lease>();
  #after = "";
  /** What may be stored although it was refused, by task. */
  readonly #unheard = new Map<string, Unheard>();
  #known = false;
  #life: SignsOfLife = { epoch: 0, until: Number.NEGATIVE_INFINITY };
  #stopped = false;

  constructor(source: LeaseSource) {
    this.#source = source;
  }

  get life(): SignsOfLife {
    return this.#life;
  }

  /** The lease of a turn's first execution. */
  lease(turn: number): Lease {
    return { holder: this.#source.holder, turn, attempt: 1 };
  }

  /** The lease of a turn that waits here for its first execution, of which no agent hears before. */
  waiting(turn: number): Lease {
    return { holder: this.#source.holder, turn, attempt: NEVER_BEGUN };
  }

  /** Says that this process lives, and ends executions that other processes took over because they saw no sign of life. */
  async beat(): Promise<void> {
    const { store, holder, leaseMs, maxStallMs } = this.#source;
    const again = this.#known;
    this.#known = true;
    const begin = performance.now();
    const kept = await store.beat({ holder, leaseMs, maxStallMs, again });
    this.#life = { epoch: this.#life.epoch + (kept ? 0 : 1), until: begin + leaseMs };
    if (kept) return;
    const held = new Set<string>();
    for (let after = ""; ; ) {
      const page = await store.leasesOf({ holder, after, limit: pageSize });
      for (const { taskId } of page) held.add(taskId);
      if (page.length < pageSize) break;
      after = page.at(-1)?.taskId ?? after;
    }
    for (const execution of this.#source.executions.values()) {
      const { taskId } = execution.log;
      if (!held.has(taskId) && !this.#source.writing(taskId)) execution.abandon("lease-lost");
    }
  }

  /** Takes over tasks that no process executes any more; resolves when each is in order, or runs. */
  async claim(): Promise<void> {
    const { store, holder, leaseMs, logger } = this.#source;
    const begin = performance.now();
    let count = 0;
    // What has to wait here may as well be taken over by another process.
    while (!this.#stopped && !(store.shared && this.#parked.size > 0)) {
      const heads = await store.claimLeases({ holder, leaseMs, limit: claimSize });
      count += heads.length;
      await this.#recover(heads);
      if (heads.length < claimSize) break;
    }
    const ms = Math.round(performance.now() - begin);
    if (count > 0) logger.info({ count, ms }, "took over tasks whose execution was cut off");
  }

  /**
   * Looks for leases that this process has and does not use: an acknowledgement that never came, an execution that
   * could not be stored. What is found in two rounds is put up for a claim.
   */
  async tidy(): Promise<void> {
    const { store, holder } = this.#source;
    const page = await store.leasesOf({ holder, after: this.#after, limit: pageSize });
    for (const lease of page) {
      const { taskId, turn, attempt } = lease;
      if (this.#isUsed(taskId)) continue;
      const before = this.#strays.get(taskId);
      // The answer may be late: of a lease that came between the looks an execution may know, or have ended, by now.
      if (before?.turn === turn && before.attempt === attempt) await this.#change(taskId, lease, this.#letGo(lease));
      else this.#found.set(taskId, lease);
    }
    this.#after = page.length < pageSize ? "" : (page.at(-1)?.taskId ?? "");
    if (this.#after !== "") return;
    this.#strays = this.#found;
    this.#found = new Map();
    this.#forgetUnheard();
  }

  /**
   * Notes that a lease of this process may be stored for a message that is behind a position, and of which no agent has
   * heard: its append had no clear answer. `next` is its position, where that is known.
   */
  unheard(taskId: string, after: number, next?: number): void {
    if (this.#unheard.size < maxUnheard) this.#unheard.set(taskId, { after, next, looks: 0 });
  }

  /** Notes that a turn of a task is begun. */
  begun(taskId: string): void {
    if (this.#unheard.size > 0) this.#unheard.delete(taskId);
  }

  /** What is put up for a claim in place of a lease that nothing here explains. */
  #letGo(lease: HeldLease): Lease {
    const { taskId, turn, attempt } = lease;
    const unheard = this.#unheard.get(taskId);
    if (unheard === undefined) return upForClaim(lease);
    const { after, next } = unheard;
    this.#unheard.delete(taskId);
    if (next !== undefined) return neverBegun(next);
    return turn > after && attempt === 1 ? neverBegun(turn) : upForClaim(lease);
  }

  /** What a store that is well shows in none of two looks was not stored. */
  #forgetUnheard(): void {
    if (!this.#source.store.health.status.healthy) return;
    for (const [taskId, unheard] of this.#unheard) {
      if (++unheard.looks > 2 && !this.#strays.has(taskId)) this.#unheard.delete(taskId);
    }
  }

  /** Puts up for a claim, when nothing runs here any more, what no agent has heard of: the next process begins it. */
  async leave(): Promise<void> {
    const { store, holder } = this.#source;
    for (let after = ""; this.#unheard.size > 0 && store.health.status.healthy; ) {
      const page = await store.leasesOf({ holder, after, limit: pageSize });
      for (const lease of page) {
        if (this.#unheard.has(lease.taskId)) await this.#change(lease.taskId, lease, this.#letGo(lease));
      }
      if (page.length < pageSize) return;
      after = page.at(-1)?.taskId ?? after;
    }
  }

  /** Whether an execution that was cut off elsewhere may run now; otherwise it is to be parked. */
  admit(taskId: string): boolean {
    if (this.#recovered.size >= this.#source.maxRecovered) return this.#recovered.has(taskId);
    this.#recovered.add(taskId);
    return true;
  }

  /** Lets an execution that was cut off wait until another one ends. It has not begun: a crash now counts for nothing. */
  async park(taskId: string, lease: Lease): Promise<void> {
    const waiting = notBegun(lease);
    if (!(await this.#change(taskId, lease, waiting))) return;
    if (this.#stopped) await this.#change(taskId, waiting, upForClaim(waiting));
    else this.#parked.set(taskId, waiting);
  }

  /** Notes that an execution ended; one that waited for it begins. */
  ended(taskId: string): void {
    if (this.#recovered.delete(taskId)) this.#unpark();
  }

  /** Begins nothing any more, and lets go of what it claimed and did not begin. */
  async stop(): Promise<void> {
    this.#stopped = true;
    const parked = [...this.#parked];
    this.#parked.clear();
    await Promise.all(parked.map(([taskId, lease]) => this.#change(taskId, lease, upForClaim(lease))));
  }

  async #recover(heads: readonly TaskHead[]): Promise<void> {
    for (const { taskId } of heads) this.#recovering.add(taskId);
    const running: Promise<void>[] = [];
    for (let first = 0; first < heads.length; first += chunkSize) {
      for (const { taskId, lease } of heads.slice(first, first + chunkSize)) {
        if (lease !== null) running.push(this.#settle(taskId, lease));
      }
      // Lets calls be answered meanwhile.
      await nextRound();
    }
    await Promise.all(running);
  }

  async #settle(taskId: string, lease: Lease): Promise<void> {
    try {
      if (this.#stopped) await this.#change(taskId, lease, upForClaim(notBegun(lease)));
      else await this.#source.recover(taskId, lease);
    } finally {
      this.#recovering.delete(taskId);
    }
  }

  #unpark(): void {
    while (!this.#stopped && this.#recovered.size < this.#source.maxRecovered) {
      const [next] = this.#parked;
      if (next === undefined) return;
      const [taskId, waiting] = next;
      this.#parked.delete(taskId);
      this.#recovered.add(taskId);
      void this.#resume(taskId, waiting);
    }
  }

  /** Begins one that was parked, if it is still ours: another process may have taken it over, or a client canceled it. */
  async #resume(taskId: string, waiting: Lease): Promise<void> {
    this.#recovering.add(taskId);
    const lease = { ...waiting, attempt: waiting.attempt + 1 };
    if (await this.#change(taskId, waiting, lease)) await this.#settle(taskId, lease);
    this.#recovering.delete(taskId);
    if (!this.#source.executions.has(taskId)) this.ended(taskId);
  }

  #isUsed(taskId: string): boolean {
    const { executions, writing } = this.#source;
    return executions.has(taskId) || this.#recovering.has(taskId) || this.#parked.has(taskId) || writing(taskId);
  }

  /** Changes a lease without an execution; says whether it was still there to be changed. */
  async #change(taskId: string, fence: Fence, lease: Lease): Promise<boolean> {
    try {
      return (await this.#source.store.setLease({ taskId, fence, lease })) === "set";
    } catch (error) {
      this.#source.logger.error({ err: error, taskId }, "a lease could not be changed; it is looked at again");
      return false;
    }
  }
}
