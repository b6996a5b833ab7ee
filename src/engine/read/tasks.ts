import type { Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { TurnRequest } from "../../agent/turn-request.js";
import { taskNotFound } from "../../core/error.js";
import type { Logger } from "../../core/log.js";
import type { ListRequest, TaskScope, TaskStore } from "../../store/task-store.js";
import { type TaskFold, type View, viewTask } from "../../task/fold.js";
import { toCallerError } from "../log/outage.js";
import type { TaskLog } from "../log/task-log.js";
import { TaskLogCache } from "../log/task-log-cache.js";
import type { TaskNames } from "../named-tasks.js";
import type { Shutdown } from "../shutdown.js";
import { type HandleSource, TaskHandle, type TaskView, taskViewOf } from "./task-handle.js";
import { type ReadTask, type TaskPage, TaskReader } from "./task-reader.js";

/** The tasks that a call may see. All others do not exist for it (specification 13.1). */
export type Scope = TaskScope;

/** What the tasks of an engine are read with. */
export interface TasksSource {
  readonly store: TaskStore;
  readonly logger: Logger;
  readonly shutdown: Shutdown;
  readonly names: TaskNames;
  /** A page of huge tasks ends early, after about this many bytes. */
  readonly maxPageBytes: number;
  /** Large tasks that were read are kept for a moment, up to this size together. */
  readonly maxKeptBytes: number;
  /** Called after each append of this process to a task that has push configurations. */
  readonly pushed: (taskId: string) => void;
}

/** Finds tasks for calls: in memory or in the store, and only those that the call may see. */
export class Tasks {
  /** The logs of the tasks in use. */
  readonly logs: TaskLogCache;
  readonly #reader: TaskReader;
  readonly #source: TasksSource;

  constructor(source: TasksSource) {
    const { store, logger, maxPageBytes, maxKeptBytes, pushed } = source;
    this.#source = source;
    this.logs = new TaskLogCache(store, { forgotten: (log) => this.#reader.keepLarge(log), pushed });
    this.#reader = new TaskReader({
      store,
      logger,
      live: (taskId, position) => this.#live(taskId, position),
      caughtUp: (taskId, position) => this.#caughtUp(taskId, position),
      maxPageBytes,
      maxKeptBytes,
    });
  }

  /** Opens a task for a call, to follow it. The caller releases the handle. @throws A2AError TASK_NOT_FOUND */
  async open(scope: Scope, taskId: string): Promise<TaskHandle> {
    const log = await this.acquire(scope, taskId);
    // No message of this call is to be answered.
    return this.handle(log, Number.POSITIVE_INFINITY);
  }

  /** A task as it stands, with its generation. @throws A2AError TASK_NOT_FOUND */
  async get(scope: Scope, taskId: string, view?: View): Promise<TaskView> {
    return taskViewOf(await this.#visible(scope, taskId), view);
  }

  /** A page of the scope's tasks, newest status first (specification 3.1.4). */
  list(request: ListRequest, view: View): Promise<TaskPage> {
    return this.#reader.list(request, view).catch(this.#fail);
  }

  /** The tasks that a message refers to, as far as its sender may see them. */
  async referenced(turn: TurnRequest): Promise<Task[]> {
    const scope = { tenant: turn.tenant, owner: turn.caller.owner };
    const found = await Promise.all(
      turn.message.referenceTaskIds.map((taskId) => this.#visible(scope, taskId).catch(() => undefined)),
    );
    // A copy of its own: what large tasks show is shared by calls, and an agent may do with this what it likes.
    return found.flatMap((result) => (result === undefined ? [] : [viewTask(result.fold.task)]));
  }

  /**
   * The log of a task that the scope may see, by its id or by the name that its client has given it. The caller releases it.
   * @throws A2AError TASK_NOT_FOUND, UNAVAILABLE
   */
  async acquire(scope: Scope, taskId: string): Promise<TaskLog> {
    let log: TaskLog | undefined;
    try {
      log =
        (await this.logs.acquire(taskId, scope)) ?? (await this.logs.acquire(await this.#named(scope, taskId), scope));
      if (log === undefined) throw taskNotFound(taskId);
      // The caller may have read in the store what this process has not been notified of yet.
      if (log.fold.position === 0) await Promise.race([log.stored(), nextChange(log)]);
      else if (this.#source.store.shared || log.uncertain) await log.refresh();
      // A log without a stored entry belongs to a task that no client knows of yet.
      if (log.fold.position > 0) return log;
      throw taskNotFound(taskId);
    } catch (error) {
      if (log !== undefined) this.logs.release(log);
      throw toCallerError(this.#source.logger, error);
    }
  }

  /**
   * A handle on a log that was acquired; releasing the handle releases the log.
   * @param since position of the accepted message whose answer is waited for
   */
  handle(log: TaskLog, since: number, accepted?: TaskView): TaskHandle {
    return new TaskHandle(log, this.#handles, since, accepted);
  }

  /** A task that the scope may see, to be looked at and copied. @throws A2AError TASK_NOT_FOUND */
  async #visible(scope: Scope, taskId: string): Promise<{ readonly fold: TaskFold }> {
    let found = await this.#reader.get(taskId, scope).catch(this.#fail);
    if (found === undefined) {
      const named = await this.#named(scope, taskId).catch(this.#fail);
      found = await this.#reader.get(named, scope).catch(this.#fail);
    }
    if (found === undefined || found.fold.position === 0) throw taskNotFound(taskId);
    return found;
  }

  async #named(scope: Scope, name: string): Promise<string> {
    return (await this.#source.names.find(scope, name)).taskId;
  }

  /** A task in memory, unless it is behind a position that the store has: the answer to its append comes a moment later. */
  #live(taskId: string, position: number): ReadTask | undefined {
    const log = this.#source.store.shared ? undefined : this.logs.get(taskId);
    if (log === undefined || !log.isWhole || log.uncertain || log.fold.position < position) return undefined;
    return { head: log.head, fold: log.fold };
  }

  /** A task in memory that is behind a position, once it is there: a large one is not read for so short a time. */
  async #caughtUp(taskId: string, position: number): Promise<ReadTask | undefined> {
    const log = this.#handles.outage() ? undefined : this.logs.get(taskId);
    if (log === undefined || !(await log.caughtUp(position))) return undefined;
    return this.#live(taskId, position);
  }

  readonly #handles: HandleSource = {
    draining: () => this.#source.shutdown.draining,
    closing: () => this.#source.shutdown.closing,
    outage: () => !this.#source.store.health.status.healthy,
    release: (log) => this.logs.release(log),
  };

  readonly #fail = (error: unknown): never => {
    throw toCallerError(this.#source.logger, error);
  };
}

function nextChange(log: TaskLog): Promise<void> {
  return new Promise((resolve) => log.onChange(resolve));
}
