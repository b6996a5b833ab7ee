import type { Turn } from "../../agent/agent.js";
import { holds } from "../../store/check.js";
import type { Lease } from "../../store/task-store.js";
import { isTerminal } from "../../task/state.js";
import { notStarted, releasedLease } from "../log/attempts.js";
import type { AppendOptions } from "../log/plan.js";
import type { TaskLog } from "../log/task-log.js";
import { changesOf } from "./turn-conversation.js";
import type { TurnQueue } from "./turn-queue.js";

export interface StartLeases {
  /** The stored lease. */
  readonly lease: Lease;
  /** The lease to set before the agent starts, if the stored one marks the turn as queued. */
  readonly begun?: Lease | undefined;
}

export interface Fenced extends Pick<AppendOptions, "state"> {
  readonly fence: Lease;
}

/**
 * The lease under which an execution stores its entries. The store must know the turn of an agent before that starts,
 * so that a crash repeats this turn and not the last.
 */
export class ExecutionLease {
  readonly #log: TaskLog;
  /** Returns the lease of a turn that starts now. */
  readonly #leaseOf: (turn: number) => Lease;
  #fenced: Fenced;
  /** The lease to set when the execution leaves the queue. Until then the stored lease marks the turn as not started. */
  #begun: Lease | undefined;
  /** The lease set together with a message, if the previous turn's lease had been released. */
  #ofMessage: Lease | undefined;
  #unstartedTurn: number | undefined;
  #turn: Turn | undefined;

  constructor(log: TaskLog, leaseOf: (turn: number) => Lease, { lease, begun }: StartLeases) {
    this.#log = log;
    this.#leaseOf = leaseOf;
    this.#fenced = { fence: lease };
    this.#begun = begun;
  }

  /** The options of every append of the execution. Each takes the turn's changes to its conversation's state along. */
  get fenced(): Fenced {
    const state = this.#turn && changesOf(this.#turn);
    return state === undefined ? this.#fenced : { ...this.#fenced, state };
  }

  /** Notes the turn whose entries are appended from now on. */
  beginTurn(turn: Turn): void {
    this.#turn = turn;
  }

  /** Position of the turn that could not start because its lease was not stored. */
  get unstartedTurn(): number | undefined {
    return this.#unstartedTurn;
  }

  /** Notes the lease that was set together with a message. */
  noteMessage(lease: Lease | undefined): void {
    this.#ofMessage = lease ?? this.#ofMessage;
  }

  /** True while the stored lease marks the first turn as not started. */
  get isQueued(): boolean {
    return this.#begun !== undefined;
  }

  /** Stores that the first turn runs, if it was queued. @returns false if another process has the lease */
  async leaveQueue(): Promise<boolean> {
    const begun = this.#begun;
    if (begun === undefined) return true;
    if (!(await this.#setTurn(begun.turn, begun))) return false;
    this.#begun = undefined;
    this.#fenced = { fence: begun };
    return true;
  }

  /**
   * Switches to the next turn's lease, after the previous turn's output is stored under the old one.
   * @returns false if another process has the lease
   */
  async moveTo(turn: number): Promise<boolean> {
    await this.#log.stored();
    const known = this.#ofMessage?.turn === turn ? this.#ofMessage : undefined;
    // The lease of a message that was to wait for a slot marks its turn as not started.
    if (known !== undefined && known.attempt < 1) this.#fenced = { fence: known };
    const next = known !== undefined && known.attempt >= 1 ? known : this.#leaseOf(turn);
    if (next !== known && !(await this.#setTurn(turn, next))) return false;
    this.#fenced = { fence: next };
    return true;
  }

  /** Releases the lease of a task that waits for its client, unless a message arrived meanwhile. */
  async release(queue: TurnQueue): Promise<void> {
    const log = this.#log;
    const { fence } = this.#fenced;
    for (;;) {
      // A message in flight depends on this execution and its lease: no other execution would process it.
      while (queue.next === undefined && !log.quiet) await log.stored();
      if (queue.next !== undefined || isTerminal(log.plannedState)) return;
      if (await log.setLease(fence, null, log.fold.position)) return;
      if (!holds(fence, log.head.lease)) return;
    }
  }

  /** Offers the lease for a claim. An orderly restart does not count as an attempt. */
  async offer(): Promise<void> {
    const { fence } = this.#fenced;
    await this.#set(releasedLease(this.#begun === undefined ? notStarted(fence) : fence));
  }

  async #setTurn(turn: number, lease: Lease): Promise<boolean> {
    try {
      return await this.#set(lease);
    } catch (error) {
      this.#unstartedTurn = turn;
      throw error;
    }
  }

  #set(lease: Lease): Promise<boolean> {
    return this.#log.setLease(this.#fenced.fence, lease);
  }
}
