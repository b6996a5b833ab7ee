import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { AgentRegistration } from "../../card/agents.js";
import { background } from "../../core/async.js";
import { A2AError } from "../../core/error.js";
import { type Logger, logFacts } from "../../core/log.js";
import type { Lease, TaskHead } from "../../store/task-store.js";
import { isInterrupted, isTerminal } from "../../task/state.js";
import { statusDraft } from "../log/draft.js";
import type { Ended } from "../log/lease-keeper.js";
import { isOutage, logTrouble } from "../log/outage.js";
import type { TaskLog } from "../log/task-log.js";
import type { Executions, ExecutionsSource } from "./executions.js";
import { HintedTasks } from "./hinted-tasks.js";
import { recoverTask, turnCause } from "./recovery.js";
import { cancelOpenSubTasks } from "./relayed.js";

const why = "The task waited for its client for too long, and was canceled.";

/**
 * Cancels a task whose wait for its client has not ended since it was found. CANCELED rather than FAILED: it was
 * stopped before it finished (specification 4.1.3), and its agent did nothing wrong. A message that arrives at the same
 * moment wins, here or in another process, and the task is not canceled.
 * @param before called first, if the task still waits
 * @returns true if it was canceled
 */
async function expireInterrupted(
  log: TaskLog,
  { found, now, before }: { readonly found: TaskHead; readonly now: number; readonly before: () => Promise<void> },
): Promise<boolean> {
  const { generation } = log.head;
  const waits = (): boolean => isInterrupted(log.fold.state) && log.atRest && log.head.statusTime === found.statusTime;
  if (!waits()) return false;
  await before();
  if (!waits()) return false;
  const draft = statusDraft(log.messageContext, TaskState.CANCELED, why, now);
  try {
    await log.append(draft, { ifGeneration: generation });
    return true;
  } catch (error) {
    const moved = error instanceof A2AError && ["GENERATION_MISMATCH", "UNSUPPORTED_OPERATION"].includes(error.reason);
    if (moved) return false;
    throw error;
  }
}

/** Finished tasks removed per batch. */
const removeSize = 500;

/** Tasks in use that are compared with the store per batch. */
const comparedSize = 500;

/** True if the stored entries or lease differ from those that this process knows, or if the task is gone. */
function hasMoved(log: TaskLog, stored: TaskHead | undefined): boolean {
  if (stored === undefined || stored.position !== log.fold.position) return true;
  const { lease } = log.head;
  return stored.lease?.holder !== lease?.holder || stored.lease?.attempt !== lease?.attempt;
}

/** Interval between two attempts to continue interrupted tasks, in milliseconds. */
const RESUME_MS = 100;

/** Waiting tasks checked per batch. */
const interruptedSize = 100;

/** Returns the check interval for an age limit, in milliseconds: a tenth of it, within bounds. */
function periodOf(ms: number): number {
  return Math.min(60_000, Math.max(100, ms / 10));
}

interface MaintenanceOptions
  extends Pick<ExecutionsSource, "store" | "signals" | "logs" | "leases" | "logger" | "now"> {
  readonly executions: Executions;
  readonly leaseMs: number;
  /** Retention of finished tasks, in milliseconds; undefined for unlimited. */
  readonly retentionMs: number | undefined;
  /** Maximum time that a task may wait for its client, in milliseconds. */
  readonly maxInterruptedMs: number;
  readonly maxRestarts: number;
  readonly agentOf: (tenant: string) => AgentRegistration | undefined;
  /** True if ages by `now` are reliable; checked before each round that uses them. */
  readonly isSteady: () => boolean;
}

/**
 * Does the background work: sends heartbeats, takes over tasks of dead processes, reads entries of other processes,
 * cancels tasks that wait too long for their client, and removes tasks older than the retention.
 */
export class Maintenance {
  readonly #options: MaintenanceOptions;
  #timers: NodeJS.Timeout[] = [];
  #running: Promise<void> = Promise.resolve();
  #heartbeats: NodeJS.Timeout | undefined;
  #resumption: NodeJS.Timeout | undefined;
  #sending = false;
  #over = false;
  #stopped = false;
  #recovered: Promise<void> = Promise.resolve();
  /** The last waiting task checked, while the pages after it are due. */
  #checkedTo: TaskHead | undefined;

  readonly #hinted: HintedTasks;

  constructor(options: MaintenanceOptions) {
    this.#options = options;
    this.#hinted = new HintedTasks(options.logs, (log) => this.#refreshLog(log));
  }

  /** Resolves when the tasks of a crashed process are settled or running. */
  get recovered(): Promise<void> {
    return this.#recovered;
  }

  /** Sends the first heartbeat, then continues in the background until `stop`. */
  async start(): Promise<void> {
    const { signals, leases, leaseMs, retentionMs, maxInterruptedMs } = this.#options;
    await leases.heartbeat();
    // The engine may have been stopped while the store responded.
    if (this.#over) return;
    // Separate from the other work, which may be long, so that heartbeats are on time.
    this.#heartbeats = setInterval(() => void this.#heartbeat(), leaseMs / 3);
    background(this.#heartbeats);
    this.#recovered = this.#soon(() => leases.claim());
    this.#every(Math.max(50, leaseMs / 3), async () => {
      await leases.reclaimOrphans();
      await leases.claim();
    });
    this.#every(1_000, () => this.#refresh());
    signals?.onChanged((taskIds) => this.#hinted.add(taskIds));
    this.#every(periodOf(maxInterruptedMs), () => this.#expireInterrupted());
    if (retentionMs !== undefined) this.#every(periodOf(retentionMs), () => this.#remove());
  }

  /** Stops the background work except heartbeats, and waits for work in progress. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    clearTimeout(this.#resumption);
    await this.#options.leases.stop();
    await this.#running;
  }

  /** Stops the heartbeats as well: nothing is executed any more. */
  end(): void {
    this.#over = true;
    for (const timer of this.#timers) clearInterval(timer);
    clearInterval(this.#heartbeats);
    clearTimeout(this.#resumption);
    this.#options.signals?.leave();
    this.#hinted.end();
  }

  /** Recovers a task whose lease was claimed, or follows that of an interrupted execution. Never rejects. */
  async recover(taskId: string, lease: Lease, ended: Ended = "crash"): Promise<void> {
    const { store, logs, executions, leases, logger } = this.#options;
    // An execution of the task that ran here does not hold the claimed lease.
    executions.get(taskId)?.abandon("lease-lost");
    let log: TaskLog | undefined;
    try {
      const known = logs.get(taskId) !== undefined;
      log = await logs.acquire(taskId);
      if (log === undefined) return;
      if (known) await log.refresh();
      await this.#recoverLog(log, lease, ended);
    } catch (error) {
      const outage = isOutage(error);
      if (outage) leases.noteInterrupted(taskId, { after: lease.turn, isOutage: true });
      // A store that fails is not asked for the facts of a log line.
      const stored = { taskId, position: lease.turn, agentName: this.#agentName };
      const cause = outage ? { taskId } : await turnCause(store, stored);
      logTrouble(logger, error, logFacts(cause), "a task could not be recovered; retrying later");
    } finally {
      if (log !== undefined) logs.release(log);
    }
  }

  readonly #agentName = (tenant: string): string | undefined => this.#options.agentOf(tenant)?.agent.card.name;

  /** Logs that an execution could not be ended. */
  readonly noteTrouble = (error: unknown): void => {
    logTrouble(this.#options.logger, error, {}, "an execution could not be ended");
  };

  /** Claims released leases now rather than in the next round. */
  readonly claimSoon: () => void = this.#oneDue(() => this.#options.leases.claim());

  /** Continues interrupted tasks as soon as the store takes writes again. */
  readonly resumeSoon = (): void => {
    if (this.#stopped || this.#over) return;
    this.#resumption ??= background(setTimeout(() => void this.#soon(this.#resume), RESUME_MS));
  };

  readonly #resume = async (): Promise<void> => {
    let isLeft = true;
    try {
      isLeft = await this.#options.leases.resume();
    } finally {
      this.#resumption = undefined;
      if (isLeft) this.resumeSoon();
    }
  };

  #every(ms: number, work: () => Promise<boolean> | Promise<void>): void {
    const timer = setInterval(this.#oneDue(work), ms);
    background(timer);
    this.#timers.push(timer);
  }

  /**
   * Queues at most one round at a time. Rounds that a slow store delayed are skipped.
   * @param work resolves to true if more work remains, for which another round is queued
   */
  #oneDue(work: () => Promise<boolean> | Promise<void>): () => void {
    let isDue = false;
    const round = async (): Promise<void> => {
      isDue = false;
      if (!this.#stopped && (await work()) === true) queue();
    };
    const queue = (): void => {
      if (isDue) return;
      isDue = true;
      void this.#soon(round);
    };
    return queue;
  }

  #soon(work: () => Promise<void>): Promise<void> {
    this.#running = this.#running.then(work).catch(this.#note);
    return this.#running;
  }

  readonly #note = (error: unknown): void => {
    if (this.#over) return;
    logTrouble(this.#options.logger, error, {}, "maintenance of the task store failed; retrying later");
  };

  async #heartbeat(): Promise<void> {
    if (this.#sending) return;
    this.#sending = true;
    try {
      await this.#options.leases.heartbeat();
    } catch (error) {
      this.#note(error);
    } finally {
      this.#sending = false;
    }
  }

  #recoverLog(log: TaskLog, lease: Lease, ended: Ended): Promise<void> {
    const { store, agentOf, maxRestarts, executions, logger, leases } = this.#options;
    return recoverTask({
      log,
      lease,
      ended,
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

  /** Cancels a task that has waited too long for its client. Never rejects. */
  async #expireTask(head: TaskHead): Promise<void> {
    const { store, logs, executions, logger, now } = this.#options;
    const { taskId } = head;
    const facts = logFacts({ taskId, agent: this.#agentName(head.tenant) });
    let log: TaskLog | undefined;
    try {
      log = await logs.acquire(taskId);
      if (log === undefined) return;
      if (store.shared || log.uncertain) await log.refresh();
      const waiting = log;
      // A crash after the cancel would leave the sub-tasks running.
      const before = (): Promise<void> => cancelOpenSubTasks(executions.source, waiting);
      if (await expireInterrupted(log, { found: head, now: now(), before })) {
        logger.info(facts, "a task that waited for its client for too long is canceled");
      }
    } catch (error) {
      // A task that cannot be read must not block the others.
      logTrouble(logger, error, facts, "a task that waits for its client could not be canceled");
    } finally {
      if (log !== undefined) logs.release(log);
    }
  }

  /** Reads entries of other processes, and entries of this process whose append had no clear result. */
  async #refresh(): Promise<void> {
    const { store, logs } = this.#options;
    const uncertain = [...logs.all()].filter((log) => log.uncertain);
    for (const log of uncertain) await this.#refreshLog(log);
    if (!store.shared) return;
    const all = [...logs.all()];
    for (let first = 0; first < all.length; first += comparedSize) {
      const some = all.slice(first, first + comparedSize);
      const heads = await store.heads({ taskIds: some.map(({ taskId }) => taskId) });
      const stored = new Map(heads.map((head) => [head.taskId, head]));
      for (const log of some) if (hasMoved(log, stored.get(log.taskId))) await this.#refreshLog(log);
    }
  }

  /** Never rejects: a task that cannot be read must not block the others. */
  async #refreshLog(log: TaskLog): Promise<void> {
    const { executions, logger } = this.#options;
    try {
      await log.refresh();
    } catch (error) {
      if (this.#over) return;
      const facts = logFacts({ taskId: log.taskId, agent: this.#agentName(log.head.tenant) });
      logTrouble(logger, error, facts, "a task's changes could not be read; retrying later");
      return;
    }
    // Another process canceled or ended the task, so the agent need not continue here.
    if (log.fold.state === TaskState.FAILED) executions.get(log.taskId)?.abandon("failed");
    else if (isTerminal(log.fold.state)) executions.get(log.taskId)?.cancel().catch(this.noteTrouble);
  }

  /** Checks a batch of waiting tasks. Resolves to true if more may be left. */
  async #expireInterrupted(): Promise<boolean> {
    const { store, maxInterruptedMs, now, isSteady } = this.#options;
    if (!isSteady()) return false;
    const before = now() - maxInterruptedMs;
    const heads = await store.listInterrupted({ before, after: this.#checkedTo, limit: interruptedSize });
    for (const head of heads) {
      if (this.#stopped) return false;
      // The agent of a running execution handles that itself.
      if (head.lease === null) await this.#expireTask(head);
    }
    this.#checkedTo = heads.length === interruptedSize ? heads.at(-1) : undefined;
    return this.#checkedTo !== undefined;
  }

  /** Removes a batch of finished tasks. Resolves to true if more may be left. */
  async #remove(): Promise<boolean> {
    const { store, retentionMs = 0, now, isSteady } = this.#options;
    if (!isSteady()) return false;
    const removed = await store.removeFinished({ before: now() - retentionMs, limit: removeSize });
    return removed >= removeSize;
  }
}

/** A change of the time of day against elapsed time, between two checks, that counts as a jump, in milliseconds. */
const JUMP_MS = 5_000;

/** Time after a jump during which ages are not used, in milliseconds: a wrong clock is mostly corrected by then. */
const SETTLE_MS = 600_000;

/**
 * Detects jumps of the time of day. Irreversible work, such as removing old tasks, is suspended after a jump: a clock
 * that is wrong for a minute would make every task old.
 */
export class ClockWatch {
  readonly #logger: Logger;
  /** Time of day minus elapsed time, at the last check. */
  #offset = Date.now() - performance.now();
  #jumped = Number.NEGATIVE_INFINITY;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** True if ages are reliable. Call it regularly, since jumps are detected between two calls. */
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
