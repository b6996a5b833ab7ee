import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { AgentRegistration } from "../../card/agents.js";
import { background } from "../../core/async.js";
import { A2AError } from "../../core/error.js";
import type { Logger } from "../../core/log.js";
import type { Lease, TaskHead, TaskStore } from "../../store/task-store.js";
import { isInterrupted, isTerminal } from "../../task/state.js";
import { statusDraft } from "../log/draft.js";
import type { LeaseKeeper } from "../log/lease.js";
import { logTrouble } from "../log/outage.js";
import type { TaskLog } from "../log/task-log.js";
import type { TaskLogCache } from "../log/task-log-cache.js";
import type { Executions } from "./executions.js";
import { recoverTask } from "./recovery.js";
import { leaveOthers } from "./relayed.js";

/** What housekeeping needs of the engine. */
export interface HousekeepingSource {
  readonly store: TaskStore;
  readonly logs: TaskLogCache;
  readonly executions: Executions;
  readonly leases: LeaseKeeper;
  readonly logger: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly agentOf: (tenant: string) => AgentRegistration | undefined;
  readonly maxRestarts: number;
}

/** What is done to single tasks without a call that asks for it; `Maintenance` says when. */
export class Housekeeping {
  readonly #source: HousekeepingSource;

  constructor(source: HousekeepingSource) {
    this.#source = source;
  }

  /** Puts a task in order whose lease was claimed. Never rejects. */
  async recover(taskId: string, lease: Lease): Promise<void> {
    const { logs, executions, logger } = this.#source;
    // An execution of it that ran here does not have the lease that was claimed.
    executions.get(taskId)?.abandon("lease-lost");
    let log: TaskLog | undefined;
    try {
      const known = logs.get(taskId) !== undefined;
      log = await logs.acquire(taskId);
      if (log === undefined) return;
      if (known) await log.refresh();
      await this.#recoverLog(log, lease);
    } catch (error) {
      logTrouble(logger, error, { taskId }, "a task could not be recovered; it is tried again");
    } finally {
      if (log !== undefined) logs.release(log);
    }
  }

  #recoverLog(log: TaskLog, lease: Lease): Promise<void> {
    const { store, agentOf, maxRestarts, executions, logger, leases } = this.#source;
    return recoverTask({
      log,
      lease,
      store,
      served: agentOf(log.head.tenant),
      maxRestarts,
      source: executions.source,
      logger,
      leases,
      slots: executions.slots,
      begin: (served, start) => executions.create(log, served, start),
    });
  }

  /** Cancels a task that has waited for its client for too long. Never rejects. */
  async giveUp(head: TaskHead): Promise<void> {
    const { store, logs, executions, logger, now } = this.#source;
    const { taskId } = head;
    let log: TaskLog | undefined;
    try {
      log = await logs.acquire(taskId);
      if (log === undefined) return;
      if (store.shared || log.uncertain) await log.refresh();
      const waiting = log;
      // After a crash behind the cancel nobody would cancel the sub-tasks.
      const before = (): Promise<void> => leaveOthers(executions.source, waiting);
      if (await giveUpInterrupted(log, { found: head, now: now(), before })) {
        logger.info({ taskId }, "a task that waited for its client for too long is canceled");
      }
    } catch (error) {
      // The other tasks are not to wait for one that cannot be read.
      logTrouble(logger, error, { taskId }, "a task that waits for its client could not be canceled");
    } finally {
      if (log !== undefined) logs.release(log);
    }
  }

  /** Looks for what other processes have stored, and for what was stored here without an answer that said so. */
  async refresh(): Promise<void> {
    const { store, logs, executions, logger } = this.#source;
    for (const log of logs.all()) {
      if (!store.shared && !log.uncertain) continue;
      try {
        await log.refresh();
      } catch (error) {
        // The news of other tasks are not to wait for one that cannot be read.
        logger.error({ err: error, taskId: log.taskId }, "news of a task could not be read; it is tried again");
        continue;
      }
      // Canceled, or ended, by another process: no one needs the work of the agent here any more.
      if (isTerminal(log.fold.state)) executions.get(log.taskId)?.cancel().catch(this.noteTrouble);
    }
  }

  /** Logs that an execution could not be ended. */
  readonly noteTrouble = (error: unknown): void => {
    logTrouble(this.#source.logger, error, {}, "an execution could not be ended");
  };
}

const why = "The task waited for its client for too long, and was canceled.";

/**
 * Cancels a task that still waits for its client as it did when it was looked for. CANCELED and not FAILED: it was
 * stopped before it was done (specification 4.1.3), and its agent did nothing wrong. A message that comes in this moment
 * goes first, here or in another process, and then it is not canceled.
 * @param before is done first, when the task still waits
 * @returns whether it was canceled
 */
async function giveUpInterrupted(
  log: TaskLog,
  { found, now, before }: { readonly found: TaskHead; readonly now: number; readonly before: () => Promise<void> },
): Promise<boolean> {
  const { generation } = log.head;
  const waits = (): boolean => isInterrupted(log.fold.state) && log.atRest && log.head.statusTime === found.statusTime;
  if (!waits()) return false;
  await before();
  if (!waits()) return false;
  const draft = statusDraft(log.place, TaskState.CANCELED, why, now);
  try {
    await log.append(draft, { ifGeneration: generation });
    return true;
  } catch (error) {
    const moved = error instanceof A2AError && ["GENERATION_MISMATCH", "UNSUPPORTED_OPERATION"].includes(error.reason);
    if (moved) return false;
    throw error;
  }
}

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

/** How far the time of day may move against the time that has passed, between two looks, before it counts as a jump, in milliseconds. */
const JUMP_MS = 5_000;

/** For how long nothing is judged by its age after a jump, in milliseconds: a clock that was set wrong is mostly set right by then. */
const SETTLE_MS = 600_000;

/**
 * Watches the time of day for jumps. What cannot be undone, such as the removal of old tasks, waits for a while after one: a
 * clock that is wrong for a minute would make everything old.
 */
export class ClockWatch {
  readonly #logger: Logger;
  /** Between the time of day and the time that has passed, at the last look. */
  #offset = Date.now() - performance.now();
  #jumped = Number.NEGATIVE_INFINITY;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Whether ages can be relied on. To be asked regularly, as jumps are found between two looks. */
  get isSteady(): boolean {
    const passed = performance.now();
    const offset = Date.now() - passed;
    const ms = Math.round(offset - this.#offset);
    this.#offset = offset;
    if (Math.abs(ms) > JUMP_MS) {
      this.#jumped = passed;
      this.#logger.warn(
        { ms },
        "the clock has jumped: nothing is removed or given up for its age in the next ten minutes",
      );
    }
    return passed - this.#jumped >= SETTLE_MS;
  }
}
