import {
  type StreamResponse,
  type Task,
  type TaskArtifactUpdateEvent,
  type TaskStatusUpdateEvent,
  TaskStatusUpdateEventSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { expectMessage } from "../../wire/expect-message.js";
import { carry, generationOf, mark, weightOf } from "../../wire/marks.js";
import { isLast } from "../ended-events.js";
import { artifactEvent, statusEvent } from "./view.js";

/** Context of a stream of 0.1 in addition to its events. */
interface EventsOf {
  /** The client's id of its task. */
  readonly taskId: string;
  /**
   * Ids of the existing artifacts in their order, for a stream that resumes after an event. The task at its beginning
   * then has no artifacts and is not reported. Undefined for a stream from the beginning.
   */
  readonly resumed?: readonly string[] | undefined;
  /** True if each event has the generation that becomes its `id:`. */
  readonly hasIds: boolean;
}

/**
 * Converts the events of a stream, which ends like those of 0.3 (`EndedEvents`), to 0.1: only statuses and artifacts,
 * whose index is the order of their first appearance. A task at the beginning of a stream becomes such events.
 *
 * Not a mapped stream (`core/map-stream.ts`), because one event may become several.
 */
export class OlderEvents implements AsyncIterableIterator<StreamResponse> {
  readonly #events: AsyncIterator<StreamResponse>;
  readonly #taskId: string;
  readonly #isResumed: boolean;
  readonly #hasIds: boolean;
  readonly #indexes = new Map<string, number>();
  #waiting: StreamResponse[] = [];

  constructor(events: AsyncIterable<StreamResponse>, { taskId, resumed, hasIds }: EventsOf) {
    this.#events = events[Symbol.asyncIterator]();
    this.#taskId = taskId;
    this.#isResumed = resumed !== undefined;
    this.#hasIds = hasIds;
    for (const artifactId of resumed ?? []) this.#indexOf(artifactId);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<StreamResponse>> {
    for (;;) {
      const value = this.#waiting.shift();
      if (value !== undefined) return { done: false, value };
      const result = await this.#events.next();
      if (result.done === true) return result;
      this.#convert(result.value);
    }
  }

  async return(): Promise<IteratorResult<StreamResponse>> {
    this.#waiting = [];
    await this.#events.return?.();
    return { done: true, value: undefined };
  }

  /** Converts an event. A direct message cannot occur: it would complete a task that its client has named. */
  #convert(event: StreamResponse): void {
    const { payload } = event;
    if (payload.case === "task" && !this.#isResumed) this.#task(event, payload.value);
    if (payload.case === "statusUpdate") this.#status(event, payload.value);
    if (payload.case === "artifactUpdate") this.#artifact(event, payload.value);
  }

  /**
   * The task at the beginning of a stream. A finished or interrupted task is followed by its status: either the last
   * event, or outdated for a client that has just answered. Only the last of these events carries the generation, so
   * that a client that missed one resumes before them.
   */
  #task(event: StreamResponse, { status, artifacts, metadata }: Task): void {
    const taskId = this.#taskId;
    const shown = statusEvent({ taskId, status, metadata });
    const all = isLast(expectMessage(TaskStatusUpdateEventSchema, shown.payload.value)) ? [] : [shown];
    for (const artifact of artifacts) {
      const of = { taskId, append: false, lastChunk: true };
      all.push(artifactEvent(of, { ...artifact }, this.#indexOf(artifact.artifactId)));
    }
    const [generation, weight, last] = [generationOf(event), weightOf(event), all.at(-1)];
    if (weight !== undefined) for (const each of all) mark(each, { weight });
    if (this.#hasIds && generation !== undefined && last !== undefined) mark(last, { generation });
    this.#waiting.push(...all);
  }

  #status(event: StreamResponse, update: TaskStatusUpdateEvent): void {
    const { status, metadata } = update;
    const shown = statusEvent({ taskId: this.#taskId, status, metadata, isLast: isLast(update) });
    this.#push(event, shown);
  }

  #artifact(event: StreamResponse, { artifact, append, lastChunk, metadata }: TaskArtifactUpdateEvent): void {
    if (artifact === undefined) return;
    const index = this.#indexOf(artifact.artifactId);
    const of = { taskId: this.#taskId, append, lastChunk, metadata };
    this.#push(event, artifactEvent(of, { ...artifact }, index));
  }

  #push(event: StreamResponse, shown: StreamResponse): void {
    this.#waiting.push(this.#hasIds ? carry(event, shown) : mark(shown, { weight: weightOf(event) }));
  }

  #indexOf(artifactId: string): number {
    const known = this.#indexes.get(artifactId);
    if (known !== undefined) return known;
    const index = this.#indexes.size;
    this.#indexes.set(artifactId, index);
    return index;
  }
}
