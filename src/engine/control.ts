import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type Cancellation, within } from "../core/async.js";
import { taskNotFound } from "../core/error.js";
import { yieldToEventLoop } from "../core/event-loop.js";
import { NO_HOLDER, type TaskHead } from "../store/task-store.js";
import { isInterrupted, isTerminal } from "../task/state.js";
import { statusDraft } from "./log/draft.js";
import { foldStored } from "./log/fold-stored.js";
import { isEnded, readError, toCallerError } from "./log/outage.js";
import type { TaskLog } from "./log/task-log.js";
import { LogWaiter } from "./read/log-reader.js";
import { type TaskView, taskViewOf } from "./read/task-handle.js";
import { cancelTask } from "./run/cancel.js";
import { cancelOpenSubTasks } from "./run/relayed.js";
import type { TaskCreationSource } from "./send/task-creation.js";
import { shuttingDown } from "./shutdown.js";

/** Entries per read of a follower. */
const READ_ENTRIES = 64;

interface ControlSource extends Omit<TaskCreationSource, "leases" | "quotaScope" | "acceptance" | "logger"> {
  readonly holder: string;
}

/** A task with its row and its size as JSON, in bytes. */
export interface StoredTask extends TaskView {
  readonly head: TaskHead;
  readonly bytes: number;
}

/** The engine's interface for operators. It knows tasks of all owners by their stored ids. */
export class TaskControl {
  readonly #source: ControlSource;
  #listeners: readonly ((taskId: string) => void)[] = [];

  constructor(source: ControlSource) {
    this.#source = source;
  }

  /** Name under which this process holds its leases. */
  get holder(): string {
    return this.#source.holder;
  }

  /** Time by the clock of stored entries, in milliseconds since the epoch. */
  get now(): number {
    return this.#source.now();
  }

  /** True if no process executes a task that should run, or if it waits for an execution slot. */
  isUnattended({ taskId, state, lease }: TaskHead): boolean {
    if (isTerminal(state)) return false;
    if (lease === null) return !isInterrupted(state);
    if (lease.holder === NO_HOLDER || lease.attempt < 1) return true;
    // Only this process uses a store that is not shared, so another holder is gone.
    if (lease.holder !== this.#source.holder) return !this.#source.store.shared;
    return !this.#source.executions.has(taskId);
  }

  /** True once the grace period of running work is over. */
  get isClosing(): boolean {
    return this.#source.shutdown.closing;
  }

  /** Reads a task as stored. @throws A2AError TASK_NOT_FOUND, TASK_TOO_LARGE, TASK_DAMAGED, UNAVAILABLE */
  async get(taskId: string): Promise<StoredTask> {
    const found = await this.find(taskId);
    if (found === undefined) throw taskNotFound(taskId);
    return found;
  }

  /** Reads a task as stored, a large one in pieces. Undefined if it does not exist. @throws as `get` */
  async find(taskId: string): Promise<StoredTask | undefined> {
    try {
      const found = await foldStored(this.#source.store, taskId);
      if (found === undefined || found.fold.position === 0) return undefined;
      return { ...taskViewOf(found), head: found.head, bytes: found.fold.size };
    } catch (error) {
      throw readError(taskId, error);
    }
  }

  /**
   * Cancels a task as its client would.
   * @param traceParent of the operator's call
   * @throws A2AError TASK_NOT_FOUND, TASK_NOT_CANCELABLE, TASK_DAMAGED, UNAVAILABLE
   */
  cancel(taskId: string, traceParent = ""): Promise<void> {
    return this.#with(taskId, async (log) => {
      await cancelTask(log, this.#source.executions, traceParent);
    });
  }

  /**
   * Ends a task as FAILED with a text for its client, in whichever process it runs. The end of a task ends its lease,
   * so nothing of its agent is stored afterwards. The agent is aborted with the cause `failed`: at once in this process,
   * within about a second in another one. A task that has ended stays as it is.
   * @param traceParent of the operator's call
   * @throws A2AError TASK_NOT_FOUND, TASK_DAMAGED, UNAVAILABLE
   */
  fail(taskId: string, text: string, traceParent = ""): Promise<void> {
    return this.#with(taskId, async (log) => {
      if (isTerminal(log.plannedState)) await log.stored();
      if (isTerminal(log.fold.state)) return;
      const { executions, limits, now } = this.#source;
      // The execution stores nothing after this call, so its agent cannot end the task in another way.
      executions.get(taskId)?.abandon("failed");
      const left = cancelOpenSubTasks(executions.source, log);
      try {
        await log.append({ ...statusDraft(log.messageContext, TaskState.FAILED, text, now()), traceParent });
      } catch (error) {
        // The task ended meanwhile.
        if (!isEnded(error)) throw error;
        await log.stored();
      }
      await within(limits.cancelGraceMs, left);
    });
  }

  /**
   * Yields the stored bytes of a task's entries after a position, then those of each new entry, until the task has ended
   * or the client cancels. The reader sets the pace, and nothing is queued for it.
   * @throws A2AError TASK_NOT_FOUND, TASK_DAMAGED, UNAVAILABLE
   */
  async *follow(taskId: string, after: number, client: Cancellation): AsyncGenerator<readonly Uint8Array[]> {
    const { tasks, store, shutdown } = this.#source;
    const log = await this.#acquire(taskId);
    log.beginFollowing();
    log.outlineIfFollowed();
    const waiter = new LogWaiter(log, client);
    try {
      for (let position = after; !client.canceled; ) {
        if (log.fold.position > position) {
          const read = await store.read({ taskId, after: position, limit: READ_ENTRIES });
          if (read.length === 0 && !(await log.isStored())) throw taskNotFound(taskId);
          if (read.length > 0) yield read;
          else await yieldToEventLoop();
          position += read.length;
        } else if (isTerminal(log.fold.state)) return;
        else if (shutdown.closing) throw shuttingDown();
        else await waiter.next();
      }
    } finally {
      waiter.end();
      log.endFollowing();
      tasks.logs.release(log);
    }
  }

  /** Checks that a task can be canceled or failed. @throws A2AError TASK_NOT_FOUND, TASK_DAMAGED, UNAVAILABLE */
  checkReadable(taskId: string): Promise<void> {
    return this.#with(taskId, async () => {});
  }

  /**
   * Deletes a task whose log does not decode, without reading it. Its lease ends with it, so nothing of its agent is
   * stored afterwards. Returns false if it does not exist. @throws A2AError UNAVAILABLE
   */
  async discard(taskId: string): Promise<boolean> {
    const { executions, store } = this.#source;
    executions.get(taskId)?.abandon("failed");
    try {
      return (await store.removeTasks({ taskIds: [taskId], unfinished: true })) > 0;
    } catch (error) {
      throw toCallerError(error);
    }
  }

  /** Calls back after each append of this process, until the returned function is called. */
  onChange(listener: (taskId: string) => void): () => void {
    this.#setListeners([...this.#listeners, listener]);
    return () => this.#setListeners(this.#listeners.filter((each) => each !== listener));
  }

  #setListeners(listeners: readonly ((taskId: string) => void)[]): void {
    this.#listeners = listeners;
    const notify = (taskId: string): void => {
      for (const listener of this.#listeners) listener(taskId);
    };
    this.#source.tasks.logs.changed = listeners.length === 0 ? undefined : notify;
  }

  async #with(taskId: string, work: (log: TaskLog) => Promise<void>): Promise<void> {
    const log = await this.#acquire(taskId);
    try {
      await work(log);
    } catch (error) {
      throw readError(taskId, error);
    } finally {
      this.#source.tasks.logs.release(log);
    }
  }

  async #acquire(taskId: string): Promise<TaskLog> {
    const { tasks, store } = this.#source;
    let log: TaskLog | undefined;
    try {
      log = await tasks.logs.acquire(taskId);
      if (log === undefined || log.fold.position === 0) throw taskNotFound(taskId);
      if (store.shared || log.uncertain) await log.refresh();
      return log;
    } catch (error) {
      if (log !== undefined) tasks.logs.release(log);
      throw readError(taskId, error);
    }
  }
}
