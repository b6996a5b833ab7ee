import { constants } from "node:buffer";
import type { Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Cancellation } from "../../core/async.js";
import { A2AError, taskNotFound } from "../../core/error.js";
import type { TaskFold, View } from "../../task/fold.js";
import { viewOf } from "../../task/shared-view.js";
import { taskSize } from "../../task/size.js";
import { endsBlockingSend, isTerminal } from "../../task/state.js";
import { mark } from "../../wire/marks.js";
import { readError, unavailable } from "../log/outage.js";
import type { TaskLog } from "../log/task-log.js";
import { type CursorSource, type LogPosition, LogReader, waitFor } from "./log-reader.js";

/** A task as of the entry at `position`. */
export interface TaskView extends LogPosition {
  readonly task: Task;
}

/**
 * A task of more bytes as JSON cannot be returned, because it would exceed the maximum string length. A store may
 * have such tasks from before their size was limited.
 */
const MAX_SHOWN_BYTES = constants.MAX_STRING_LENGTH - 16 * 1024 * 1024;

/** Returns the current task of a log. @throws A2AError TASK_TOO_LARGE */
export function taskViewOf({ fold }: { readonly fold: TaskFold }, view?: View): TaskView {
  const { position, generation } = fold;
  const task = viewOf(fold, view);
  if (fold.size > MAX_SHOWN_BYTES && taskSize(task) > MAX_SHOWN_BYTES) {
    throw new A2AError("TASK_TOO_LARGE", "The task is too large to be shown as a whole.", {
      metadata: { taskId: task.id, maxBytes: String(MAX_SHOWN_BYTES) },
    });
  }
  if (fold.version !== "") mark(task, { version: fold.version });
  return { position, generation, task };
}

export interface HandleSource extends CursorSource {
  readonly release: (log: TaskLog) => void;
}

/**
 * A task that a call holds until `release`. Every answer of a call about a task comes from here: the blocking wait, the
 * stream, the snapshot.
 */
export class TaskHandle {
  readonly #log: TaskLog;
  readonly #source: HandleSource;
  readonly #since: number;
  #follows = false;
  /** The task as of the accepted message, if a capture was requested. */
  readonly accepted: TaskView | undefined;

  /** @param since position of the accepted message; `whenIdle` waits for its turn */
  constructor(log: TaskLog, source: HandleSource, since: number, accepted?: TaskView) {
    this.#log = log;
    this.#source = source;
    this.#since = since;
    this.accepted = accepted;
  }

  /** Returns the current task, with the position that its next events follow. */
  now(view?: View): TaskView {
    return taskViewOf(this.#log, view);
  }

  /**
   * Returns the position from which reading continues after a generation. A task's own generations never exceed their
   * positions, so no event is missed. A generation of a task that this one continues leads to the beginning.
   */
  positionAfter(generation: number): LogPosition {
    return { position: Math.max(0, generation - this.#log.fold.earlierGenerations), generation };
  }

  /** The stored id of the task. It is unique, whichever names clients choose. */
  get taskId(): string {
    return this.#log.taskId;
  }

  get shownId(): string {
    return this.#log.messageContext.taskId;
  }

  /**
   * Waits until the task is finished or waits for the client (specification 3.2.2). Resolves to false if the client
   * disconnects or the timeout, in milliseconds, expires first.
   * @throws A2AError UNAVAILABLE if the store is unavailable and no execution runs the task until it recovers
   */
  async whenIdle(client: Cancellation, timeoutMs: number): Promise<boolean> {
    const log = this.#log;
    const source = this.#source;
    const isIdle = (): boolean => log.turns.completed >= this.#since;
    const isStuck = (): boolean => !log.turns.busy && source.outage();
    const done = await waitFor(log, () => isIdle() || isStuck(), { source, client, timeoutMs });
    if (done && !isIdle()) throw unavailable(undefined);
    return done;
  }

  /**
   * Returns the task for a blocking send after `whenIdle`: as it is now, or as it was at the question if its turn has
   * continued since then (specification 3.2.2).
   */
  async answer(view?: View): Promise<TaskView> {
    const log = this.#log;
    if (endsBlockingSend(log.fold.state)) return this.now(view);
    const fold = await log.foldAt(log.turns.pausedAt).catch((error: unknown) => {
      throw readError(this.taskId, error);
    });
    if (fold === undefined) throw taskNotFound(this.shownId);
    return taskViewOf({ fold }, view);
  }

  /** Waits until the generation exceeds the given one or the task is finished; resolves to false as `whenIdle` does. */
  whenPast(generation: number, client: Cancellation, timeoutMs: number): Promise<boolean> {
    const log = this.#log;
    const done = (): boolean => log.fold.generation > generation || isTerminal(log.fold.state);
    return waitFor(log, done, { source: this.#source, client, timeoutMs });
  }

  /**
   * Returns a reader of the events after a generation, then of new ones, until the stream ends. Each event carries its
   * generation as a note (`generationOf`). The caller ends the reader.
   */
  events(after: LogPosition, client: Cancellation): LogReader {
    // The turn of a repeated send may already be completed.
    const hasStarted = this.#log.turns.completed >= this.#since;
    return new LogReader(this.#log, { source: this.#source, after, client, hasStarted });
  }

  /** Limits this handle to events from now on, so that a large idle task can be dropped from memory. */
  follow(): void {
    if (this.#follows) return;
    this.#follows = true;
    this.#log.beginFollowing();
    this.#log.outlineIfFollowed();
  }

  release(): void {
    if (this.#follows) this.#log.endFollowing();
    this.#source.release(this.#log);
  }
}
