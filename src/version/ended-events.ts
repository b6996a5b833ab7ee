import { create } from "@bufbuild/protobuf";
import {
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskState,
  type TaskStatus,
  type TaskStatusUpdateEvent,
  TaskStatusUpdateEventSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { carry, generationOf, mark, marksOf } from "../wire/marks.js";

/** States that end a stream of a version before 1.0: the task has ended, or waits for its client. */
const endings: ReadonlySet<TaskState> = new Set([
  TaskState.COMPLETED,
  TaskState.FAILED,
  TaskState.CANCELED,
  TaskState.REJECTED,
  TaskState.INPUT_REQUIRED,
  TaskState.AUTH_REQUIRED,
]);

/** Returns true for the last status event of its stream, which versions before 1.0 mark in the event (`final`). */
export function isLast(event: TaskStatusUpdateEvent): boolean {
  return marksOf(event)?.isLast ?? endings.has(event.status?.state ?? TaskState.UNSPECIFIED);
}

/** Differences between a stream of 1.0 and one that marks its end. */
interface Ending {
  /**
   * True to end the stream if it begins with a task that waits for its client; otherwise it ends when a task begins to
   * wait.
   */
  readonly endsWaiting?: boolean;
  /** Returns the task to send if a stream fails before its first event. Throws for other errors. */
  readonly instead?: (error: unknown) => Promise<WrittenTask>;
}

/** A task that was read for a stream. */
interface WrittenTask {
  readonly task: Task;
  /** Called once the task is written or can no longer be written. */
  readonly written: () => void;
}

const over: IteratorReturnResult<undefined> = { done: true, value: undefined };

const waiting: ReadonlySet<TaskState | undefined> = new Set([TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED]);

/**
 * Yields the events of a stream up to the first status in which its task has ended or waits for its client. If a stream
 * ends otherwise, after a task or an artifact, the status is repeated. Events are passed on unchanged. The added event
 * has the generation of the event before it, so that a client that resumes after it finds the same position.
 *
 * Not a mapped stream (`core/map-stream.ts`), because it adds events.
 */
export class EndedEvents implements AsyncIterableIterator<StreamResponse> {
  readonly #inner: AsyncIterator<StreamResponse>;
  readonly #ending: Ending;
  /** The next reads: events, the added status, or nothing. */
  #next: "events" | "status" | "nothing" = "events";
  #last: StreamResponse | undefined;
  #taskId = "";
  #contextId = "";
  #status: TaskStatus | undefined;
  #written: (() => void) | undefined;

  constructor(events: AsyncIterable<StreamResponse>, ending: Ending = {}) {
    this.#inner = events[Symbol.asyncIterator]();
    this.#ending = ending;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<StreamResponse, undefined>> {
    this.#releaseTask();
    if (this.#next === "events") {
      const { instead } = this.#ending;
      const taken = this.#inner.next();
      if (this.#last !== undefined || instead === undefined) return taken.then(this.#take);
      return taken.then(this.#take, async (error) => this.#insteadOf(await instead(error)));
    }
    if (this.#next === "nothing") return this.#close();
    this.#next = "nothing";
    return Promise.resolve({ value: this.#added() });
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#releaseTask();
    return this.#close();
  }

  /** Releases the buffer of the task that was read. */
  #releaseTask(): void {
    this.#written?.();
    this.#written = undefined;
  }

  async #close(): Promise<IteratorReturnResult<undefined>> {
    this.#next = "nothing";
    await this.#inner.return?.();
    return over;
  }

  readonly #take = (result: IteratorResult<StreamResponse>): IteratorResult<StreamResponse, undefined> => {
    if (result.done === true) {
      this.#next = "nothing";
      return this.#status === undefined ? over : { value: this.#added() };
    }
    const event = result.value;
    this.#last = event;
    const { payload } = event;
    if (payload.case === "task") {
      this.#know(payload.value.id, payload.value.contextId, payload.value.status);
      if (this.#ending.endsWaiting === true && waiting.has(payload.value.status?.state)) this.#next = "status";
    } else if (payload.case === "statusUpdate") {
      this.#know(payload.value.taskId, payload.value.contextId, payload.value.status);
      if (isLast(payload.value)) this.#next = "nothing";
    }
    return result;
  };

  #insteadOf({ task, written }: WrittenTask): IteratorResult<StreamResponse, undefined> {
    this.#written = written;
    this.#know(task.id, task.contextId, task.status);
    this.#next = "status";
    const event = create(StreamResponseSchema, { payload: { case: "task", value: task } });
    this.#last = carry(task, event);
    return { value: event };
  }

  #know(taskId: string, contextId: string, status: TaskStatus | undefined): void {
    this.#taskId = taskId;
    this.#contextId = contextId;
    this.#status = status;
  }

  /** Returns the status again, as the last event. */
  #added(): StreamResponse {
    const { taskId, contextId, status } = { taskId: this.#taskId, contextId: this.#contextId, status: this.#status };
    const event = create(TaskStatusUpdateEventSchema, { taskId, contextId });
    if (status !== undefined) event.status = status;
    const value = mark(event, { isLast: true });
    const added = create(StreamResponseSchema, { payload: { case: "statusUpdate", value } });
    const generation = this.#last && generationOf(this.#last);
    return generation === undefined ? added : mark(added, { generation });
  }
}
