import { background } from "../core/background.js";
import type { Logger } from "../core/log.js";
import type { TaskHead, TaskStore } from "../store/task-store.js";
import type { LeaseKeeper } from "./lease.js";
import { logTrouble } from "./outage.js";

/** Finished tasks removed in one go. */
const removeSize = 500;

/** Tasks that wait for their client, looked at in one go. */
const interruptedSize = 100;

/** How often a time is looked after, in milliseconds: to a tenth of it. */
function periodOf(ms: number): number {
  return Math.min(60_000, Math.max(100, ms / 10));
}

/** What has to be done now and then, independent of calls. */
export interface MaintenanceOptions {
  readonly store: TaskStore;
  readonly leases: LeaseKeeper;
  readonly leaseMs: number;
  /** How long finished tasks are kept, in milliseconds; undefined keeps them for ever. */
  readonly retentionMs: number | undefined;
  /** How long a task may wait for its client, in milliseconds. */
  readonly maxInterruptedMs: number;
  /** Cancels a task that waits for its client, unless it changed since. */
  readonly giveUp: (head: TaskHead) => Promise<void>;
  readonly logger: Logger;
  readonly now: () => number;
  /** Whether ages by that clock can be relied on; asked before each round that judges by them. */
  readonly isSteady: () => boolean;
  /** Looks for entries of which this process was not notified. */
  readonly refresh: () => Promise<void>;
}

/**
 * Says that this process lives, takes over what other processes left, cancels what waits for its client for too long, removes what
 * is older than the retention.
 */
export class Maintenance {
  readonly #options: MaintenanceOptions;
  #timers: NodeJS.Timeout[] = [];
  #running: Promise<void> = Promise.resolve();
  #beats: NodeJS.Timeout | undefined;
  #beating = false;
  #over = false;
  #stopped = false;
  #recovered: Promise<void> = Promise.resolve();

  constructor(options: MaintenanceOptions) {
    this.#options = options;
  }

  /** Resolves when what a crash left behind is in order, or runs. */
  get recovered(): Promise<void> {
    return this.#recovered;
  }

  /** Makes itself known, then goes on in the background until `stop`. */
  async start(): Promise<void> {
    const { leases, leaseMs, retentionMs, maxInterruptedMs } = this.#options;
    await leases.beat();
    // The store may have taken so long that the engine was ended meanwhile.
    if (this.#over) return;
    // On its own: no long work of the other kind keeps this process from saying that it lives.
    this.#beats = setInterval(() => void this.#beat(), leaseMs / 3);
    background(this.#beats);
    this.#recovered = this.#soon(() => leases.claim());
    this.#every(Math.max(50, leaseMs / 3), async () => {
      await leases.tidy();
      await leases.claim();
    });
    this.#every(1_000, this.#options.refresh);
    this.#every(periodOf(maxInterruptedMs), () => this.#giveUpInterrupted());
    if (retentionMs !== undefined) this.#every(periodOf(retentionMs), () => this.#remove());
  }

  /** Ends the background work but the signs of life; what is under way is waited for. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    await this.#options.leases.stop();
    await this.#running;
  }

  /** Ends the signs of life, too: nothing is executed any more. */
  end(): void {
    this.#over = true;
    for (const timer of this.#timers) clearInterval(timer);
    clearInterval(this.#beats);
  }

  /** Claims what is up for a claim now instead of in the next round. */
  readonly claimSoon: () => void = this.#oneDue(() => this.#options.leases.claim());

  #every(ms: number, work: () => Promise<void>): void {
    const timer = setInterval(this.#oneDue(work), ms);
    background(timer);
    this.#timers.push(timer);
  }

  /** One at a time, and one that is due: rounds that a slow store kept from beginning are not made up for. */
  #oneDue(work: () => Promise<void>): () => void {
    let isDue = false;
    const round = (): Promise<void> => {
      isDue = false;
      return work();
    };
    return () => {
      if (isDue) return;
      isDue = true;
      void this.#soon(round);
    };
  }

  #soon(work: () => Promise<void>): Promise<void> {
    this.#running = this.#running.then(work).catch(this.#note);
    return this.#running;
  }

  readonly #note = (error: unknown): void => {
    if (this.#over) return;
    logTrouble(this.#options.logger, error, {}, "upkeep of the task store failed; it is tried again");
  };

  async #beat(): Promise<void> {
    if (this.#beating) return;
    this.#beating = true;
    try {
      await this.#options.leases.beat();
    } catch (error) {
      this.#note(error);
    } finally {
      this.#beating = false;
    }
  }

  async #giveUpInterrupted(): Promise<void> {
    const { store, maxInterruptedMs, now, giveUp, isSteady } = this.#options;
    if (!isSteady()) return;
    const before = now() - maxInterruptedMs;
    let after: TaskHead | undefined;
    do {
      const heads = await store.listInterrupted({ before, after, limit: interruptedSize });
      // In one that is executed the agent sees to that.
      for (const head of heads) if (head.lease === null) await giveUp(head);
      after = heads.length === interruptedSize ? heads.at(-1) : undefined;
    } while (after !== undefined && !this.#stopped);
  }

  async #remove(): Promise<void> {
    const { store, retentionMs = 0, now, isSteady } = this.#options;
    if (!isSteady()) return;
    const before = now() - retentionMs;
    for (;;) {
      const removed = await store.removeFinished({ before, limit: removeSize });
      if (removed < removeSize) return;
    }
  }
}
