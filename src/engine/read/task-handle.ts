import { constants } from "node:buffer";
import type { Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Cancellation } from "../../core/cancellation.js";
import { A2AError } from "../../core/error.js";
import type { TaskFold, View } from "../../task/fold.js";
import { viewOf } from "../../task/shared-view.js";
import { taskSize } from "../../task/size.js";
import { isTerminal } from "../../task/state.js";
import { mark } from "../../wire/marks.js";
import { unavailable } from "../log/outage.js";
import type { TaskLog } from "../log/task-log.js";
import { type CursorSource, type LogPosition, LogReader, waitFor } from "./log-reader.js";

/** A task at one moment: what comes after `position` is not in it. */
export interface TaskView extends LogPosition {
  readonly task: Task;
}

/** A task of more bytes as JSON cannot be shown: it would be longer than the longest text. An older version took it. */
const MAX_SHOWN_BYTES = constants.MAX_STRING_LENGTH - 16 * 1024 * 1024;

/** The task of a log at this moment. @throws A2AError TASK_TOO_LARGE */
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

/** What the handles of all tasks need of the engine. */
export interface HandleSource extends CursorSource {
  /** Ends one use of a log. */
  readonly release: (log: TaskLog) => void;
}

/**
 * A task that a call holds on to: `release` it in the end. All answers of a call about a task come from here: the
 * blocking wait, the stream, the snapshot.
 */
export class TaskHandle {
  readonly #log: TaskLog;
  readonly #source: HandleSource;
  readonly #since: number;
  #follows = false;
  /** The task as the message was accepted, where a capture was asked for. */
  readonly accepted: TaskView | undefined;

  /** @param since position of the accepted message, whose answer `whenIdle` waits for */
  constructor(log: TaskLog, source: HandleSource, since: number, accepted?: TaskView) {
    this.#log = log;
    this.#source = source;
    this.#since = since;
    this.accepted = accepted;
  }

  /** The task at this moment, with the place where its next events begin. */
  now(view?: View): TaskView {
    return taskViewOf(this.#log, view);
  }

  /** The id that the task is kept under: no other task's, whatever clients call theirs. */
  get taskId(): string {
    return this.#log.taskId;
  }

  /** What clients call the task. */
  get shownId(): string {
    return this.#log.place.taskId;
  }

  /**
   * Waits until the task is over or waits for the client (specification 3.2.2); false when the client went or
   * the time, in milliseconds, ran out first.
   * @throws A2AError UNAVAILABLE when the store is out of order and nothing executes the task until it is well again.
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

  /** Waits until the generation passes the given one, or the task is over; false as with `whenIdle`. */
  whenPast(generation: number, client: Cancellation, timeoutMs: number): Promise<boolean> {
    const log = this.#log;
    const done = (): boolean => log.fold.generation > generation || isTerminal(log.fold.state);
    return waitFor(log, done, { source: this.#source, client, timeoutMs });
  }

  /**
   * The events after a generation, then those to come, until the stream is over. Each carries its generation as a
   * note (`generationOf`). The caller ends the reader.
   */
  events(after: LogPosition, client: Cancellation): LogReader {
    // A repeated send may find that the turn it asks for is over already.
    const hasStarted = this.#log.turns.completed >= this.#since;
    return new LogReader(this.#log, { source: this.#source, after, client, hasStarted });
  }

  /** Limits this handle to events from now on: a large task then leaves the memory while it rests. */
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
