import { clone, create } from "@bufbuild/protobuf";
import {
  AgentCardSchema,
  type GetTaskRequest,
  type Message,
  type SendMessageRequest,
  SendMessageResponseSchema,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import { type ClientCore, PendingQuestions } from "../../src/client/calls/core.js";
import { A2AError } from "../../src/core/error.js";
import { TaskFold, viewTask } from "../../src/task/fold.js";
import { isInterrupted, isTerminal } from "../../src/task/state.js";
import { IDEMPOTENCY_KEY, RESUME_EXTENSION, resumeParameters } from "../../src/wire/service-params.js";

export interface Cut {
  /** Number of frames that arrive before the cut. 0 cuts before the first. */
  readonly after: number;
  /** Number of events that happen at the server before the next connection. */
  readonly missed: number;
  /** Ends the stream with an error or without one. */
  readonly how: "error" | "end";
}

export interface Abilities {
  readonly resume: boolean;
  readonly idempotent: boolean;
  readonly streams?: boolean;
}

type HeadersGiven = ConstructorParameters<typeof Headers>[0];

type Options = { readonly headers?: HeadersGiven; readonly signal?: AbortSignal };

/** A server of one task with known events and planned cuts. Its `core` stands in for a client's connection. */
export class LogServer {
  /** Keys of the sends that arrived. */
  readonly sends: (string | null)[] = [];
  reads = 0;
  subscriptions = 0;
  readonly core: ClientCore;
  readonly #entries: readonly LogEntry[];
  readonly #cuts: Cut[];
  readonly #can: Abilities;
  /** Position of the latest event that has happened. */
  #now = 1;

  constructor(entries: readonly LogEntry[], cuts: readonly Cut[], can: Abilities) {
    this.#entries = entries;
    this.#cuts = [...cuts];
    this.#can = can;
    const rpc: Partial<ClientCore["rpc"]> = {
      sendStreamingMessage: (_request, options) => this.#send(options as Options),
      subscribeToTask: (_request, options) => this.#subscribe(options as Options),
      getTask: async (_request, options) => this.#get(options as Options, {} as GetTaskRequest),
      sendMessage: async (request) => {
        const { message } = request as SendMessageRequest;
        const value = this.#task(message as Message);
        return create(SendMessageResponseSchema, { payload: { case: "task", value } });
      },
    };
    this.core = {
      rpc: rpc as ClientCore["rpc"],
      card: create(AgentCardSchema),
      asked: new PendingQuestions(),
      canResume: can.resume,
      idempotent: can.idempotent,
      canStream: can.streams !== false,
      backoff: { firstMs: 0, maxMs: 0, maxElapsedMs: 60_000, maxRetryAfterMs: 30_000 },
    };
  }

  /** The current task of the server. */
  get task(): Task {
    return foldOf(this.#entries.slice(0, this.#now)).task;
  }

  #get({ headers }: Options, _: GetTaskRequest): Task {
    this.reads++;
    if (this.#can.streams === false) this.#now = Math.min(this.#entries.length, this.#now + 1);
    return this.#shown(headers, viewTask(this.task), this.#generation);
  }

  #task(_: Message): Task {
    return viewTask(this.task);
  }

  get #generation(): number {
    return this.#entries[this.#now - 1]?.generation ?? 1;
  }

  #send({ headers }: Options): AsyncGenerator<StreamResponse> {
    this.sends.push(new Headers(headers).get(IDEMPOTENCY_KEY));
    const first = foldOf(this.#entries.slice(0, 1));
    return this.#frames(headers, viewTask(first.task), 1, 1);
  }

  async *#subscribe({ headers }: Options): AsyncGenerator<StreamResponse> {
    this.subscriptions++;
    const after = new Headers(headers).get(resumeParameters.after);
    const over = isTerminal(this.task.status?.state ?? 0);
    if (over && (after === null || Number(after) === this.#generation)) {
      throw new A2AError("UNSUPPORTED_OPERATION", "The task is over.");
    }
    if (after === null || !this.#can.resume) {
      yield* this.#frames(headers, viewTask(this.task), this.#now, this.#generation);
      return;
    }
    const generation = Number(after);
    const position = this.#entries.findLast((entry) => entry.generation === generation)?.position ?? 0;
    const view = viewTask(this.task, { artifacts: false, historyLength: 0 });
    yield* this.#frames(headers, view, position, generation);
  }

  async *#frames(headers: HeadersGiven | undefined, task: Task, from: number, generation: number) {
    const cut = this.#cuts.shift();
    let left = cut?.after ?? Number.POSITIVE_INFINITY;
    let told = foldOf(this.#entries.slice(0, from)).state;
    const first = create(StreamResponseSchema, {
      payload: { case: "task", value: this.#shown(headers, task, generation) },
    });
    if (left-- > 0) {
      yield first;
      for (const entry of this.#entries.slice(from)) {
        this.#now = Math.max(this.#now, entry.position);
        const event = this.#eventOf(headers, entry);
        if (event === undefined) continue;
        if (left-- <= 0) break;
        if (event.payload.case === "statusUpdate") told = event.payload.value.status?.state ?? told;
        yield event;
      }
    }
    if (cut === undefined) return;
    this.#now = Math.min(this.#entries.length, this.#now + cut.missed);
    // A stream may end normally while its task waits for its client, so this cut is an error.
    if (cut.how === "error" || isInterrupted(told)) throw new A2AError("UNAVAILABLE", "The connection was cut.");
  }

  #eventOf(headers: HeadersGiven | undefined, { event, generation }: LogEntry): StreamResponse | undefined {
    if (event.case !== "status" && event.case !== "artifact") return undefined;
    const name = event.case === "status" ? "statusUpdate" : "artifactUpdate";
    const value = this.#marked(headers, { ...event.value }, generation);
    return create(StreamResponseSchema, { payload: { case: name, value } as StreamResponse["payload"] });
  }

  #shown(headers: HeadersGiven | undefined, task: Task, generation: number): Task {
    return this.#marked(headers, clone(TaskSchema, task), generation);
  }

  #marked<T extends { metadata?: Task["metadata"] }>(headers: HeadersGiven | undefined, of: T, generation: number): T {
    const asked = new Headers(headers).get("a2a-extensions")?.includes(RESUME_EXTENSION);
    if (!this.#can.resume || asked !== true) return of;
    return { ...of, metadata: { ...of.metadata, [RESUME_EXTENSION]: { generation } } };
  }
}

function foldOf(entries: readonly LogEntry[]): TaskFold {
  const fold = new TaskFold();
  for (const entry of entries) fold.apply(entry);
  return fold;
}
