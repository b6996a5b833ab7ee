import type { Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { TurnRequest } from "../../agent/turn-request.js";
import { boundedCall } from "../../core/async.js";
import { A2AError, taskNotFound } from "../../core/error.js";
import { type LogCause, type Logger, logFacts } from "../../core/log.js";
import { TransientSet } from "../../core/maps.js";
import { isOf } from "../../store/check.js";
import { type ListRequest, StoreError, type TaskHead, type TaskStore } from "../../store/task-store.js";
import { type TaskFold, type View, viewTask } from "../../task/fold.js";
import type { RelayCheckpoints } from "../../task/relay-checkpoints.js";
import { isTerminal } from "../../task/state.js";
import type { Scope, TaskNames } from "../../task/task-names.js";
import type { Metrics } from "../../telemetry/metrics.js";
import { type FoldedTask, refoldStored } from "../log/fold-stored.js";
import type { LogHooks } from "../log/hooks.js";
import { logTrouble, toCallerError } from "../log/outage.js";
import type { TaskLog } from "../log/task-log.js";
import { TaskLogCache } from "../log/task-log-cache.js";
import type { Shutdown } from "../shutdown.js";
import { ConversationReader } from "./conversation-reader.js";
import type { LogReader } from "./log-reader.js";
import { type HandleSource, TaskHandle, type TaskView, taskViewOf } from "./task-handle.js";
import { type ReadTask, type TaskPage, TaskReader, taskPage } from "./task-reader.js";

interface TasksSource extends Pick<LogHooks, "writer" | "committed" | "answers"> {
  readonly store: TaskStore;
  readonly logger: Logger;
  readonly shutdown: Shutdown;
  /** Names that clients choose for tasks. Default: none. */
  readonly names: TaskNames | undefined;
  /** Limit of the cache of large tasks, in bytes as JSON. */
  readonly maxKeptBytes: number;
  /** Called after each append of this process to a task that has push configurations. */
  readonly pushed: (taskId: string) => void;
  readonly metrics: Metrics | undefined;
}

/** Finds tasks in memory or in the store, for the calls that may see them. */
export class Tasks {
  readonly logs: TaskLogCache;
  readonly #reader: TaskReader;
  readonly #source: TasksSource;
  /** The open readers; undefined without metrics. */
  readonly #readers: TransientSet<LogReader> | undefined;

  constructor(source: TasksSource) {
    const { store, logger, maxKeptBytes, pushed, committed, writer, metrics, answers } = source;
    this.#source = source;
    this.#readers = metrics && new TransientSet();
    const hooks = { pushed, committed, writer, metrics, answers };
    this.logs = new TaskLogCache(store, { forgotten: (log) => this.#reader.keepLarge(log), ...hooks });
    this.#reader = new TaskReader({
      store,
      logger,
      live: (taskId, position) => this.#live(taskId, position),
      caughtUp: (taskId, position) => this.#caughtUp(taskId, position),
      maxPageBytes: taskPage.maxBytes,
      maxKeptBytes,
    });
  }

  /**
   * Compares all tasks in memory with the store, after it has moved to another server.
   * @param onLost called with the logs of which the store lacks entries
   * @returns the number of logs compared
   */
  async reloadLogs(onLost: (log: TaskLog) => void): Promise<number> {
    this.#reader.forgetAll();
    return this.logs.compare(onLost);
  }

  /** Number of entries that the slowest open reader is behind; 0 without metrics. */
  get readerLag(): number {
    return (this.#readers?.values() ?? []).reduce((most, { lag }) => Math.max(most, lag), 0);
  }

  /** Opens a task for a call, to follow it. The caller releases the handle. @throws A2AError TASK_NOT_FOUND */
  async open(scope: Scope, taskId: string): Promise<TaskHandle> {
    const log = await this.acquire(scope, taskId);
    // This call has sent no message to wait for.
    return this.handle(log, Number.POSITIVE_INFINITY);
  }

  /** Returns the current task and its generation. @throws A2AError TASK_NOT_FOUND */
  async get(scope: Scope, taskId: string, view?: View): Promise<TaskView> {
    return taskViewOf(await this.#visible(scope, taskId), view);
  }

  /** Returns a page of the scope's tasks, newest status first (specification 3.1.4). */
  list(request: ListRequest, view: View, cause: LogCause): Promise<TaskPage> {
    return this.#reader.list(request, view, cause).catch(throwToCaller);
  }

  /** Returns the tasks that a message references, as far as its sender may see them. */
  async referenced(turn: TurnRequest, cause: LogCause): Promise<Task[]> {
    const scope = { tenant: turn.tenant, owner: turn.caller.owner };
    const unread = (error: unknown): undefined => this.#noteUnread(error, cause);
    const found = await Promise.all(
      turn.message.referenceTaskIds.map((taskId) => this.#visible(scope, taskId).catch(unread)),
    );
    // Copied because calls share the fold of a large task, and an agent may modify its copy.
    return found.flatMap((result) => (result === undefined ? [] : [viewTask(result.fold.task)]));
  }

  /** Returns the relay checkpoints of a task that the scope may see; undefined if there are none. @throws StoreError */
  async relays(scope: Scope, taskId: string): Promise<RelayCheckpoints | undefined> {
    return (await this.#reader.get(taskId, scope))?.fold.relays;
  }

  /** Returns the reads of a turn's conversation. */
  conversation(turn: TurnRequest, cause: LogCause): ConversationReader {
    const refold = (head: TaskHead): Promise<FoldedTask | undefined> => refoldStored(this.#source.store, head);
    const toError = (error: unknown): unknown => {
      this.#noteUnread(error, cause);
      return toCallerError(error);
    };
    return new ConversationReader({ reader: this.#reader, refold, cause, toError }, turn);
  }

  /** Logs that tasks could not be read for an agent. No call reports such errors. */
  #noteUnread(error: unknown, cause: LogCause): undefined {
    const isOwn = error instanceof A2AError ? error.row.http >= 500 : error instanceof StoreError;
    if (isOwn) logTrouble(this.#source.logger, error, logFacts(cause), "tasks cannot be read for an agent");
  }

  /**
   * Returns the log of a task that the scope may see. The caller releases it.
   * @throws A2AError TASK_NOT_FOUND, UNAVAILABLE
   */
  async acquire(scope: Scope, taskId: string): Promise<TaskLog> {
    let log: TaskLog | undefined;
    try {
      log = await this.logs.acquire(await this.storedId(scope, taskId), scope);
      if (log === undefined) throw taskNotFound(taskId);
      // The caller may have read entries in the store before this process was notified of them.
      if (log.fold.position === 0) await storedOrChanged(log);
      else if (this.#source.store.shared || log.uncertain) await log.refresh();
      // A log without a stored entry belongs to a task that no client knows of yet.
      if (log.fold.position > 0) return log;
      throw taskNotFound(taskId);
    } catch (error) {
      if (log !== undefined) this.logs.release(log);
      throw toCallerError(error);
    }
  }

  /** Returns the stored id for a task id in a request. @throws A2AError TASK_NOT_FOUND; StoreError */
  storedId(scope: Scope, taskId: string): string | Promise<string> {
    const known = this.#source.names?.storedId(scope, taskId, (id) => this.lookup(scope, id));
    if (known === undefined || typeof known === "string") return known ?? taskId;
    return known.then((id) => id ?? Promise.reject(taskNotFound(taskId)));
  }

  /** See `TaskLookup`. @throws StoreError */
  async lookup(scope: Scope, taskId: string): Promise<"open" | "over" | undefined> {
    const head = await this.#source.store.head({ taskId });
    if (head === undefined || !isOf(head, scope)) return undefined;
    return isTerminal(head.state) ? "over" : "open";
  }

  /**
   * Returns a handle on an acquired log; releasing the handle releases the log.
   * @param since position of the accepted message whose turn is awaited
   */
  handle(log: TaskLog, since: number, accepted?: TaskView): TaskHandle {
    return new TaskHandle(log, this.#handles, since, accepted);
  }

  /** Returns a task that the scope may see, for reading and copying. @throws A2AError TASK_NOT_FOUND */
  async #visible(scope: Scope, taskId: string): Promise<{ readonly fold: TaskFold }> {
    try {
      const found = await this.#reader.get(await this.storedId(scope, taskId), scope);
      if (found === undefined || found.fold.position === 0) throw taskNotFound(taskId);
      return found;
    } catch (error) {
      throw toCallerError(error);
    }
  }

  /**
   * Returns a task in memory, unless it lags behind a stored position: the answer to its append arrives a moment later.
   */
  #live(taskId: string, position: number): ReadTask | undefined {
    const log = this.#source.store.shared ? undefined : this.logs.get(taskId);
    if (log === undefined || !log.isWhole || log.uncertain || log.fold.position < position) return undefined;
    return { head: log.head, fold: log.fold };
  }

  /** Waits until a lagging task in memory reaches a position: a large task is not read again for such a short delay. */
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
    opened: (reader) => this.#readers?.add(reader),
    closed: (reader) => this.#readers?.delete(reader),
  };
}

function throwToCaller(error: unknown): never {
  throw toCallerError(error);
}

function storedOrChanged(log: TaskLog): Promise<void> {
  return boundedCall((resolve, reject) => {
    const changed = (): void => resolve();
    log.stored().then(resolve, reject);
    log.onChange(changed);
    return () => log.offChange(changed);
  });
}
