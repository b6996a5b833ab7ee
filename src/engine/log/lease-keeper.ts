import { yieldToEventLoop } from "../../core/event-loop.js";
import type { Logger } from "../../core/log.js";
import { type Fence, type Lease, StoreError, type TaskHead, type TaskStore } from "../../store/task-store.js";
import { notStarted, queuedLease, releasedLease } from "./attempts.js";
import type { StoreAnswers } from "./hooks.js";
import { type Interruption, Interruptions } from "./interruptions.js";

/**
 * Decides which process may execute a task.
 *
 * A lease names the process that executes a task, and the attempt. It has no expiry time: a process sends one heartbeat
 * for all its executions, and the store assigns the leases of a process without heartbeats to the process that claims
 * them. Each append of an execution names its lease, and the store rejects it when another lease is stored. Times of
 * day are never compared.
 */

/** Executions taken over per claim. */
const claimSize = 1_000;

/** Tasks recovered per event-loop turn. */
const chunkSize = 32;

/** Leases of this process checked per round. */
const pageSize = 1_000;

/** True if a holder has a new lease, which was stored since the one before, for example with a message. */
function isNewLease(lease: Lease | null, before: Lease | null, holder: string): boolean {
  if (lease?.holder !== holder) return false;
  return before === null || lease.turn !== before.turn || lease.attempt !== before.attempt;
}

/** Thrown when an execution cannot store an entry because another process has taken over its task. */
export class LeaseLost extends Error {
  override name = "LeaseLost";
  constructor(taskId: string, cause: unknown) {
    super(`Task ${taskId} was taken over by another process.`, { cause });
  }
}

/** True if the store rejected a write because its lease is not the stored one. */
export function isFenced(error: unknown): boolean {
  return error instanceof StoreError && error.kind === "fenced";
}

/** Lease status of this process as other processes see it. */
export interface HeartbeatStatus {
  /** Number of times that other processes took over this process's leases. Each time it lost all of them. */
  readonly epoch: number;
  /**
   * Earliest time that another process can take over, by `performance.now()`: one lease period after the last
   * heartbeat.
   */
  readonly until: number;
}

/** An execution that ends when its lease is lost. */
interface Abandonable {
  readonly log: { readonly taskId: string; readonly head: { readonly lease: Lease | null } };
  abandon(cause: "lease-lost"): void;
}

/** The cause of an execution's end. */
export type Ended = "crash" | "outage";

/** Maximum number of recovered executions running here concurrently; later ones wait. */
export const recovered = { max: 2_000 } as const;

interface LeaseSource {
  readonly store: TaskStore;
  /** The name under which this process holds its leases. */
  readonly holder: string;
  readonly leaseMs: number;
  readonly maxStallMs: number;
  readonly logger: Logger;
  /** The executions of this process. */
  readonly executions: { has(taskId: string): boolean; values(): readonly Abandonable[] };
  readonly answers?: StoreAnswers;
  /** True while an entry of the task is being written to the store. */
  readonly writing: (taskId: string) => boolean;
  /** Recovers a claimed task. Never rejects. */
  readonly recover: (taskId: string, lease: Lease, ended?: Ended) => Promise<void>;
  /** Calls `resume` soon, until no task is left. */
  readonly resumeSoon: () => void;
}

/** Sends this process's heartbeats, finds its lost leases, and takes over the leases of dead processes. */
export class LeaseKeeper {
  readonly #source: LeaseSource;
  /** Claimed tasks that are being recovered. */
  readonly #recovering = new Set<string>();
  /** Claimed tasks that wait until a recovered execution ends. */
  readonly #parked = new Map<string, Lease>();
  /** Recovered executions. */
  readonly #recovered = new Set<string>();
  /** Unused leases of this process, by task: those of the last complete poll, and those of the current one. */
  #orphans = new Map<string, Lease>();
  #found = new Map<string, Lease>();
  #after = "";
  readonly #interrupted = new Interruptions();
  /** Holders whose processes have ended. */
  #ended: readonly string[] = [];
  #known = false;
  /** True from an eviction of this process, or a heartbeat without an answer, until it has checked its leases. */
  #mustCheck = false;
  #heartbeatStatus: HeartbeatStatus = { epoch: 0, until: Number.NEGATIVE_INFINITY };
  #stopped = false;

  constructor(source: LeaseSource) {
    this.#source = source;
  }

  get heartbeatStatus(): HeartbeatStatus {
    return this.#heartbeatStatus;
  }

  /** Returns the lease of a turn's first execution. */
  lease(turn: number): Lease {
    return { holder: this.#source.holder, turn, attempt: 1 };
  }

  /** Returns the lease of a turn that is queued here. Its agent has not started. */
  waiting(turn: number): Lease {
    return queuedLease(this.#source.holder, turn);
  }

  /** Sends a heartbeat, and ends executions that other processes took over after missed heartbeats. */
  async heartbeat(): Promise<void> {
    const { store, holder, leaseMs, maxStallMs, answers } = this.#source;
    const again = this.#known;
    this.#known = true;
    const begin = performance.now();
    const mustCheck = this.#mustCheck;
    // An answer that other processes took over may get lost.
    this.#mustCheck = true;
    const kept = await store.heartbeat({ holder, leaseMs, maxStallMs, again });
    if (store.shared) answers?.note(begin);
    this.#heartbeatStatus = { epoch: this.#heartbeatStatus.epoch + (kept ? 0 : 1), until: begin + leaseMs };
    if (!kept || mustCheck) await this.#endLost();
    this.#mustCheck = false;
  }

  /** Ends the executions whose leases other processes hold now. @throws StoreError */
  async #endLost(): Promise<void> {
    const { store, holder, executions, writing } = this.#source;
    // An execution that begins later may have a lease that a page does not list yet.
    const known = executions.values().map((execution) => ({ execution, before: execution.log.head.lease }));
    const held = new Set<string>();
    for (let after = ""; ; ) {
      const page = await store.leasesOf({ holder, after, limit: pageSize });
      for (const { taskId } of page) held.add(taskId);
      if (page.length < pageSize) break;
      after = page.at(-1)?.taskId ?? after;
    }
    for (const { execution, before } of known) {
      const { taskId, head } = execution.log;
      if (held.has(taskId) || writing(taskId) || isNewLease(head.lease, before, holder)) continue;
      execution.abandon("lease-lost");
    }
  }

  /** Notes that processes have ended: the next claim takes over their tasks without waiting for leases to expire. */
  noteEnded(holders: readonly string[]): void {
    this.#ended = holders;
  }

  /** Takes over abandoned tasks. Resolves when each is settled or running. */
  async claim(): Promise<void> {
    const { store, holder, leaseMs, logger } = this.#source;
    const begin = performance.now();
    let count = 0;
    // While tasks are parked here, other processes may claim the rest.
    while (!this.#stopped && !(store.shared && this.#parked.size > 0)) {
      const heads = await store.claimLeases({ holder, leaseMs, limit: claimSize, ended: this.#ended });
      count += heads.length;
      await this.#recover(heads);
      if (heads.length < claimSize) break;
    }
    const ms = Math.round(performance.now() - begin);
    if (count > 0) logger.info({ count, ms }, "took over interrupted tasks");
  }

  /**
   * Finds leases that this process holds but does not use, after a lost acknowledgement or a failed write. A lease
   * found in two consecutive rounds is released for a claim.
   */
  async reclaimOrphans(): Promise<void> {
    const { store, holder } = this.#source;
    const page = await store.leasesOf({ holder, after: this.#after, limit: pageSize });
    for (const lease of page) {
      const { taskId, turn, attempt } = lease;
      if (this.#isUsed(taskId) || this.#interrupted.mustWait(taskId, lease)) continue;
      const before = this.#orphans.get(taskId);
      // The page may be stale, since an execution may have started or ended meanwhile. So a lease is offered only if
      // the previous round found it as well.
      if (before?.turn === turn && before.attempt === attempt) await this.#offer(taskId, lease);
      else this.#found.set(taskId, lease);
    }
    this.#after = page.length < pageSize ? "" : (page.at(-1)?.taskId ?? "");
    if (this.#after !== "") return;
    this.#orphans = this.#found;
    this.#found = new Map();
    // An unhealthy store may list only some of its leases.
    if (store.health.status.healthy) this.#interrupted.notePoll(this.#orphans);
  }

  /** Notes an execution that the store ended, or a message whose append had no clear result. */
  noteInterrupted(taskId: string, interruption: Interruption): void {
    this.#interrupted.note(taskId, interruption);
    if (interruption.isOutage) this.#source.resumeSoon();
  }

  /** Notes that a turn of a task has started. */
  begun(taskId: string): void {
    this.#interrupted.forget(taskId);
  }

  /**
   * Continues the tasks that an outage of the store has interrupted. Their leases are still those of this process,
   * unless another one has taken them over.
   * @returns true if some have to wait
   * @throws StoreError while the store is away
   */
  async resume(): Promise<boolean> {
    const { store } = this.#source;
    if (this.#stopped || !store.health.status.healthy) return !this.#stopped;
    const open = this.#interrupted.open();
    for (let first = 0; first < open.length; first += chunkSize) {
      const taskIds = open.slice(first, first + chunkSize);
      const heads = await store.heads({ taskIds });
      const leases = new Map(heads.map(({ taskId, lease }) => [taskId, lease]));
      await Promise.all(taskIds.map((taskId) => this.#resumeTask(taskId, leases.get(taskId) ?? undefined)));
    }
    return this.#interrupted.open().length > 0;
  }

  /** Starts the execution that follows an interrupted one, under a lease of its own. @throws StoreError */
  async #resumeTask(taskId: string, lease: Lease | undefined): Promise<void> {
    if (this.#isUsed(taskId)) return;
    if (lease?.holder !== this.#source.holder) return this.#interrupted.leaveToPolls(taskId);
    if (this.#interrupted.mustWait(taskId, lease)) return;
    const next = this.#interrupted.next(taskId, lease);
    this.#recovering.add(taskId);
    try {
      if ((await this.#source.store.setLease({ taskId, fence: lease, lease: next })) !== "set") return;
      this.#interrupted.forget(taskId);
      await this.#settle(taskId, next, "outage");
    } finally {
      this.#recovering.delete(taskId);
    }
  }

  /** Releases an unused lease for a claim. */
  async #offer(taskId: string, lease: Lease): Promise<void> {
    if (await this.#change(taskId, lease, releasedLease(this.#interrupted.released(taskId, lease)))) {
      this.#interrupted.forget(taskId);
    }
  }

  /** Releases the leases of turns that no agent has started, once nothing runs here. The next process starts them. */
  async releaseUnstarted(): Promise<void> {
    const { store, holder } = this.#source;
    for (let after = ""; this.#interrupted.size > 0 && store.health.status.healthy; ) {
      const page = await store.leasesOf({ holder, after, limit: pageSize });
      for (const lease of page) {
        if (this.#interrupted.has(lease.taskId)) await this.#offer(lease.taskId, lease);
      }
      if (page.length < pageSize) return;
      after = page.at(-1)?.taskId ?? after;
    }
  }

  /** Admits an interrupted execution to run now. Returns false if it has to be parked. */
  admit(taskId: string): boolean {
    if (this.#recovered.size >= recovered.max) return this.#recovered.has(taskId);
    this.#recovered.add(taskId);
    return true;
  }

  /**
   * Queues an interrupted execution until another one ends. It has not started, so a crash meanwhile does not count as
   * an attempt.
   */
  async park(taskId: string, lease: Lease): Promise<void> {
    const waiting = notStarted(lease);
    if (!(await this.#change(taskId, lease, waiting))) return;
    if (this.#stopped) await this.#change(taskId, waiting, releasedLease(waiting));
    else this.#parked.set(taskId, waiting);
  }

  /** Notes that an execution ended, and starts a parked one. */
  ended(taskId: string): void {
    if (this.#recovered.delete(taskId)) this.#unpark();
  }

  /** Starts nothing more and releases the claimed tasks that have not started. */
  async stop(): Promise<void> {
    this.#stopped = true;
    const parked = [...this.#parked];
    this.#parked.clear();
    await Promise.all(parked.map(([taskId, lease]) => this.#change(taskId, lease, releasedLease(lease))));
  }

  async #recover(heads: readonly TaskHead[]): Promise<void> {
    for (const { taskId } of heads) this.#recovering.add(taskId);
    const running: Promise<void>[] = [];
    for (let first = 0; first < heads.length; first += chunkSize) {
      for (const { taskId, lease } of heads.slice(first, first + chunkSize)) {
        if (lease !== null) running.push(this.#settle(taskId, lease));
      }
      // Calls are served between the chunks.
      await yieldToEventLoop();
    }
    await Promise.all(running);
  }

  async #settle(taskId: string, lease: Lease, ended?: Ended): Promise<void> {
    try {
      if (this.#stopped) await this.#change(taskId, lease, releasedLease(notStarted(lease)));
      else await this.#source.recover(taskId, lease, ended);
    } finally {
      this.#recovering.delete(taskId);
      // A failed recovery may have admitted the task. The execution that a parked task waits for may have ended before
      // the task was parked.
      if (!this.#source.executions.has(taskId)) this.#recovered.delete(taskId);
      this.#unpark();
    }
  }

  #unpark(): void {
    while (!this.#stopped && this.#recovered.size < recovered.max) {
      const [next] = this.#parked;
      if (next === undefined) return;
      const [taskId, waiting] = next;
      this.#parked.delete(taskId);
      this.#recovered.add(taskId);
      void this.#resume(taskId, waiting);
    }
  }

  /**
   * Starts a parked execution if its lease is still ours: another process may have taken it over, or a client canceled
   * the task.
   */
  async #resume(taskId: string, waiting: Lease): Promise<void> {
    this.#recovering.add(taskId);
    const lease = { ...waiting, attempt: waiting.attempt + 1 };
    if (await this.#change(taskId, waiting, lease)) return this.#settle(taskId, lease);
    this.#recovering.delete(taskId);
    this.ended(taskId);
  }

  #isUsed(taskId: string): boolean {
    const { executions, writing } = this.#source;
    return executions.has(taskId) || this.#recovering.has(taskId) || this.#parked.has(taskId) || writing(taskId);
  }

  /** Changes a lease without an execution. Resolves to false if the stored lease has changed meanwhile. */
  async #change(taskId: string, fence: Fence, lease: Lease): Promise<boolean> {
    try {
      return (await this.#source.store.setLease({ taskId, fence, lease })) === "set";
    } catch (error) {
      this.#source.logger.error({ err: error, taskId }, "a lease could not be changed; it will be checked again");
      return false;
    }
  }
}
