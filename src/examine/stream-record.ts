import { type StreamResponse, type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { clientError } from "../client/errors/errors.js";
import type { A2AError } from "../core/error.js";
import { endsBlockingSend } from "../task/state.js";
import { callError, firstOf, type Probe, request } from "./check.js";

/** Time until the first event, in milliseconds. */
export const FIRST_MS = 60_000;

/** Time that a task may take after it before it is canceled, in milliseconds. */
const TASK_MS = 2_000;

/** Time in which a stream has to end after its task, in milliseconds. */
export const END_MS = 3_000;

/** A stream of one task, watched to its end. */
export interface StreamRecord {
  readonly events: readonly StreamResponse[];
  /** Last state that the stream told. */
  readonly state: TaskState;
  /** Undefined after an end without an error. */
  readonly error: A2AError | undefined;
  /** True if nothing came in time. */
  readonly isSilent: boolean;
  /** True if the stream was still open long after the end of its task. */
  readonly staysOpen: boolean;
  /** Result of SubscribeToTask, called while the task was running: the first event or the error. */
  readonly resumed: { readonly first: StreamResponse | undefined; readonly error: A2AError | undefined } | undefined;
  readonly task: Task | undefined;
}

/** Sends a message and watches its stream. A task that does not finish by itself is canceled. */
export function recordStream(probe: Probe): Promise<StreamRecord> {
  return new StreamWatch(probe).run();
}

/** A record that is still being written. */
type OpenRecord = { -readonly [Name in keyof StreamRecord]: StreamRecord[Name] };

class StreamWatch {
  readonly #events: StreamResponse[] = [];
  readonly #record: OpenRecord = {
    events: this.#events,
    state: TaskState.UNSPECIFIED,
    error: undefined,
    isSilent: false,
    staysOpen: false,
    resumed: undefined,
    task: undefined,
  };
  #taskId = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #cancels: Promise<unknown> | undefined;
  readonly #probe: Probe;
  readonly #stop = new AbortController();

  constructor(probe: Probe) {
    this.#probe = probe;
  }

  async run(): Promise<StreamRecord> {
    const { client, signal } = this.#probe;
    this.#after(FIRST_MS, () => {
      this.#record.isSilent = true;
      this.#stop.abort();
    });
    try {
      const both = AbortSignal.any([signal, this.#stop.signal]);
      for await (const event of client.sendStreamingMessage(request(this.#probe), { signal: both })) this.#take(event);
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      if (!this.#stop.signal.aborted) this.#record.error = clientError(thrown);
    } finally {
      clearTimeout(this.#timer);
      await this.#cancels;
      clearTimeout(this.#timer);
    }
    if (this.#taskId !== "") await this.#read();
    return this.#record;
  }

  #take(event: StreamResponse): void {
    if (this.#events.push(event) === 1) {
      this.#after(TASK_MS, () => {
        this.#cancels = this.#cancel().catch(() => {});
      });
    }
    const { payload } = event;
    if (payload.case === "task") this.#taskId = payload.value.id;
    else if (payload.case !== undefined) this.#taskId ||= payload.value.taskId;
    const state = stateIn(event);
    if (state === undefined) return;
    this.#record.state = state;
    if (endsBlockingSend(state)) this.#endSoon();
  }

  /** Restarts the timer, of which there is only one. */
  #after(ms: number, work: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(work, ms);
  }

  #endSoon(): void {
    this.#after(END_MS, () => {
      this.#record.staysOpen = true;
      this.#stop.abort();
    });
  }

  /** Subscribes to the running task, then cancels it. */
  async #cancel(): Promise<void> {
    const { client, signal } = this.#probe;
    const id = this.#taskId;
    if (id === "") return this.#stop.abort();
    try {
      this.#record.resumed = { first: await firstOf(client.subscribeToTask({ id }, { signal })), error: undefined };
    } catch (thrown) {
      this.#record.resumed = { first: undefined, error: clientError(thrown) };
    }
    await client.cancelTask({ id }, { signal }).then(
      () => this.#endSoon(),
      () => this.#stop.abort(),
    );
  }

  async #read(): Promise<void> {
    const { client, signal } = this.#probe;
    const read = client.getTask({ id: this.#taskId }, { signal }).then((task) => {
      this.#record.task = task;
    });
    await callError(read);
  }
}

/** Returns the state in an event, or undefined if it has none. */
export function stateIn({ payload }: StreamResponse): TaskState | undefined {
  return payload.case === "task" || payload.case === "statusUpdate" ? payload.value.status?.state : undefined;
}
