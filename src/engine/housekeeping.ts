import type { AgentRegistration } from "../card/agents.js";
import type { Logger } from "../core/log.js";
import type { Lease, TaskHead, TaskStore } from "../store/task-store.js";
import { isTerminal } from "../task/state.js";
import type { Executions } from "./executions.js";
import { giveUpInterrupted } from "./interrupted.js";
import type { LeaseKeeper } from "./lease.js";
import { logTrouble } from "./outage.js";
import { recoverTask } from "./recovery.js";
import { leaveOthers } from "./relayed.js";
import type { TaskLog } from "./task-log.js";
import type { TaskLogCache } from "./task-log-cache.js";

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
