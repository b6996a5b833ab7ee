import type { Logger } from "../core/log.js";
import type { TaskHead, TaskStore } from "../store/task-store.js";
import { logTrouble } from "./outage.js";

/** Claims taken in one go. */
const claimSize = 100;

/** Finished tasks removed in one go. */
const removeSize = 500;

/** What has to be done now and then, whatever the traffic. */
export interface UpkeepOptions {
  readonly store: TaskStore;
  readonly holder: string;
  readonly leaseMs: number;
  /** How long finished tasks are kept, in milliseconds; undefined keeps them for ever. */
  readonly retentionMs: number | undefined;
  readonly logger: Logger;
  readonly now: () => number;
  /** Tasks that this process executes. */
  readonly executing: () => string[];
  /** Called right before their leases are prolonged. */
  readonly renewing: (until: number) => void;
  /** Takes over an execution that was cut off. */
  readonly recover: (head: TaskHead) => Promise<void>;
  /** Looks for entries of other processes, where the store is shared. */
  readonly refresh: () => Promise<void>;
}

/** Renews leases, claims those that ran out, removes what is older than the retention. */
export class Upkeep {
  readonly #options: UpkeepOptions;
  #timers: NodeJS.Timeout[] = [];
  #running: Promise<void> = Promise.resolve();

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  /** Claims what a crash left behind, then goes on in the background until `stop`. */
  async start(): Promise<void> {
    await this.#claim();
    const { leaseMs, retentionMs, store } = this.#options;
    this.#every(Math.max(50, leaseMs / 3), async () => {
      await this.#renew();
      await this.#claim();
    });
    if (store.shared) this.#every(1_000, this.#options.refresh);
    if (retentionMs !== undefined) this.#every(Math.min(60_000, Math.max(100, retentionMs / 10)), () => this.#remove());
  }

  /** Ends the background work; what is under way is waited for. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    await this.#running;
  }

  /** Claims what is up for a claim now instead of in the next round. */
  claimSoon(): void {
    this.#soon(() => this.#claim());
  }

  /** One at a time: a round that takes longer than its interval delays the next one instead of meeting it. */
  #every(ms: number, work: () => Promise<void>): void {
    const timer = setInterval(() => this.#soon(work), ms);
    timer.unref();
    this.#timers.push(timer);
  }

  #soon(work: () => Promise<void>): void {
    this.#running = this.#running.then(work).catch((error: unknown) => {
      logTrouble(this.#options.logger, error, {}, "upkeep of the task store failed; it is tried again");
    });
  }

  async #renew(): Promise<void> {
    const { store, holder, leaseMs, now, executing, renewing } = this.#options;
    const taskIds = executing();
    if (taskIds.length === 0) return;
    const until = now() + leaseMs;
    renewing(until);
    await store.renewLeases({ holder, taskIds, until });
  }

  async #claim(): Promise<void> {
    const { store, holder, leaseMs, now, recover, executing } = this.#options;
    for (;;) {
      const time = now();
      const heads = await store.claimLeases({ holder, now: time, until: time + leaseMs, limit: claimSize });
      const mine = new Set(executing());
      // A claim of our own late lease is only a renewal.
      for (const head of heads) if (!mine.has(head.taskId)) await recover(head);
      if (heads.length < claimSize) return;
    }
  }

  async #remove(): Promise<void> {
    const { store, retentionMs = 0, now } = this.#options;
    for (;;) {
      const removed = await store.removeFinished({ before: now() - retentionMs, limit: removeSize });
      if (removed < removeSize) return;
    }
  }
}
