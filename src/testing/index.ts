// Tests agents in memory, without sockets and files.

import { create, type JsonValue } from "@bufbuild/protobuf";
import {
  A2AService,
  CancelTaskRequestSchema,
  GetTaskRequestSchema,
  ListTasksRequestSchema,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type SendMessageResponse,
  type StreamResponse,
  SubscribeToTaskRequestSchema,
  type Task,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Step } from "../../gen/parley/log/v1/log_pb.js";
import type { Agent } from "../agent/agent.js";
import type { Content } from "../agent/event.js";
import { agentMessage } from "../agent/message.js";
import { anonymous, type CallerInput } from "../core/call.js";
import { A2AError } from "../core/error.js";
import { useIds } from "../core/ids.js";
import type { Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import { aFunction, anObject, anything, assertOptions, type OptionChecks, unless } from "../core/options.js";
import type { RemoteAgents } from "../delegation/options.js";
import { type A2A, createA2A } from "../server/create-a2a.js";
import type { ServiceInterceptor } from "../service/invoke.js";
import { memoryStore } from "../store/memory/index.js";
import type { TaskStore } from "../store/task-store.js";
import { decodeEntry } from "../task/entry.js";
import { type ReadableMessage, type ReadableTask, readable, readableTask } from "../task/plain.js";
import { isInterrupted, isTerminal } from "../task/state.js";
import { SimulatedProcess, type TestCallOptions } from "./process.js";
import { type ReplayedTurn, replayTask } from "./replay.js";

export { turnWith } from "../agent/agent.js";
export { dataOf, filesOf, partsOf, textOf } from "../task/plain.js";
export type { TestCallOptions } from "./process.js";
export type { ReplayedTurn } from "./replay.js";

/** Options of `testAgent`. */
export interface AgentTestOptions {
  /** Time of stored entries: a fixed instant, or a clock. Default: the system's clock. */
  readonly now?: Date | (() => number);
  /**
   * Makes the ids of tasks, contexts, messages and artifacts, so that a test knows them in advance: `sequentialIds()`. It
   * applies to the whole process until `close`, so tests that use it must not run at the same time.
   */
  readonly ids?: () => string;
  /**
   * The agents that the agent calls (`turn.call`, `turn.delegate`), by name: agents that are served in memory and
   * survive its crashes, or values of the server option `remoteAgents`.
   */
  readonly remoteAgents?: Readonly<Record<string, Agent | RemoteAgents[string]>>;
  /** The caller, unless a call names another one. Default: the anonymous caller. */
  readonly caller?: CallerInput;
  readonly interceptors?: readonly ServiceInterceptor[];
  readonly limits?: Partial<Limits>;
  /** Default: nothing is logged. */
  readonly logger?: Logger;
}

/** Options of a message in a test. */
export interface TestSendOptions extends TestCallOptions {
  /** The task that the message goes to, or its id. Default: a new task. */
  readonly task?: Task | string;
  readonly contextId?: string;
  readonly messageId?: string;
  readonly referenceTaskIds?: readonly string[];
  readonly acceptedOutputModes?: readonly string[];
  /** Returns without waiting until the task is over or waits for the client. Default false. */
  readonly returnImmediately?: boolean;
}

const checks: OptionChecks<AgentTestOptions> = {
  now: unless((value) => value instanceof Date, aFunction()),
  ids: aFunction(),
  remoteAgents: anObject(),
  caller: anObject(),
  // `createA2A` checks these.
  interceptors: anything(),
  limits: anything(),
  logger: anything(),
};

/** A stored step of an agent in a test. */
export interface TestStep {
  readonly name: string;
  /** Number of times that it was tried. */
  readonly attempts: number;
  /** Undefined for a step that failed, or that has no result. */
  readonly result: JsonValue | undefined;
  /** Text of the error of a step that failed. */
  readonly error: string | undefined;
}

/** Generates ids with a counter: `id-1`, `id-2`, …. */
export function sequentialIds(prefix = "id"): () => string {
  let count = 0;
  return () => `${prefix}-${++count}`;
}

/** Serves an agent to a test, without sockets and files. @throws TypeError for invalid options */
export function testAgent(agent: Agent, options: AgentTestOptions = {}): AgentTest {
  assertOptions("testAgent(agent, options)", options, checks);
  return new AgentTest(agent, options);
}

/**
 * An agent under test, as its clients see it. Its tasks are kept in memory and survive crashes of the simulated
 * process. Every method throws the A2AError that a client would get.
 */
export class AgentTest {
  readonly #agent: Agent;
  readonly #options: AgentTestOptions;
  readonly #store = memoryStore();
  readonly #others: OtherAgents;
  #process: SimulatedProcess;

  constructor(agent: Agent, options: AgentTestOptions) {
    this.#agent = agent;
    this.#options = options;
    this.#others = new OtherAgents(options.remoteAgents ?? {});
    this.#process = this.#begin();
  }

  /** Sends a message and waits until its task is over or waits for the client. @throws when the agent answers directly */
  async send(content: Content, options: TestSendOptions = {}): Promise<ReadableTask> {
    const { payload } = await this.#send(content, options);
    if (payload.case === "task") return readableTask(payload.value);
    throw new Error("The agent answered with a message instead of a task: ask() gives it.");
  }

  /** Sends a message to an agent that answers directly. @throws when it answers with a task */
  async ask(content: Content, options: TestSendOptions = {}): Promise<ReadableMessage> {
    const { payload } = await this.#send(content, options);
    if (payload.case === "message") return readable(payload.value);
    throw new Error("The agent answered with a task instead of a message: send() gives it.");
  }

  /** Sends a message and returns the events of its stream; the first one is the task, or the direct message. */
  stream(content: Content, options: TestSendOptions = {}): AsyncIterable<StreamResponse> {
    const request = this.#request(content, options);
    return this.#process.stream(A2AService.method.sendStreamingMessage, request, this.#calling(options));
  }

  /** The events of a running task; the first one is the task in its present state. */
  subscribe(task: Task | string, calling: TestCallOptions = {}): AsyncIterable<StreamResponse> {
    const request = create(SubscribeToTaskRequestSchema, { id: taskIdIn(task) });
    return this.#process.stream(A2AService.method.subscribeToTask, request, this.#calling(calling));
  }

  /** A task in its present state. */
  async get(task: Task | string, calling: TestCallOptions = {}): Promise<ReadableTask> {
    const request = create(GetTaskRequestSchema, { id: taskIdIn(task) });
    return readableTask(await this.#process.unary(A2AService.method.getTask, request, this.#calling(calling)));
  }

  /** The caller's tasks, newest status first: at most 100. */
  async list(calling: TestCallOptions = {}): Promise<ReadableTask[]> {
    const request = create(ListTasksRequestSchema, { pageSize: 100, includeArtifacts: true });
    const { tasks } = await this.#process.unary(A2AService.method.listTasks, request, this.#calling(calling));
    return tasks.map(readableTask);
  }

  /** Cancels a task and returns it. */
  async cancel(task: Task | string, calling: TestCallOptions = {}): Promise<ReadableTask> {
    const request = create(CancelTaskRequestSchema, { id: taskIdIn(task) });
    return readableTask(await this.#process.unary(A2AService.method.cancelTask, request, this.#calling(calling)));
  }

  /** The stored steps of a task (`turn.step`) in their order, which no client sees. */
  async steps(task: Task | string): Promise<TestStep[]> {
    const steps: TestStep[] = [];
    for (let after = 0; ; ) {
      const read = await this.#store.read({ taskId: taskIdIn(task), after, limit: 1_000 });
      if (read.length === 0) return steps;
      after += read.length;
      for (const { event } of read.map(decodeEntry)) if (event.case === "step") steps.push(stepOf(event.value));
    }
  }

  /** Waits until a task is over or waits for the client, as after `returnImmediately` or a crash. */
  async settled(task: Task | string, calling: TestCallOptions = {}): Promise<ReadableTask> {
    for (;;) {
      const now = await this.get(task, calling);
      const state = now.status?.state ?? TaskState.UNSPECIFIED;
      if (isTerminal(state) || isInterrupted(state)) return now;
      try {
        for await (const _ of this.subscribe(task, calling));
      } catch (error) {
        // The task may have ended between the two calls, or the process crashed.
        const reasons: readonly unknown[] = ["UNSUPPORTED_OPERATION", "UNAVAILABLE"];
        if (!(error instanceof A2AError) || !reasons.includes(error.reason)) throw error;
      }
    }
  }

  /**
   * Crashes the process in the middle of its work and starts another one, which recovers interrupted tasks according to
   * the agent's `recover`. Open calls fail with UNAVAILABLE. The signal of running agents fires. Their code cannot be
   * stopped, but its events are dropped.
   */
  async crash(): Promise<void> {
    await this.#process.kill();
    this.#process = this.#begin();
  }

  /** Ends the process in order, without a grace period for running work, and starts another one. */
  async restart(): Promise<void> {
    await this.#process.end();
    this.#process = this.#begin();
  }

  /**
   * Runs the turns of an exported task again (`ExportTask` of the operator's service). The agent gets the recorded
   * messages and the stored results of its steps, so that it asks no model again; a step without a stored result runs.
   * Nothing of it is kept.
   *
   * @param lines the export
   * @throws TransferError for a text that is not a whole export; StepOrderError when the agent asks for other steps
   * than recorded, or in another order
   */
  async replay(lines: string): Promise<ReplayedTurn[]> {
    return replayTask(lines, (store, logger) => this.#begin(store, logger), this.#options.logger);
  }

  /** Ends everything. */
  async close(): Promise<void> {
    if (this.#options.ids !== undefined) useIds(undefined);
    await this.#process.end();
    await this.#store.close();
    await this.#others.close();
  }

  /** As `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #begin(store: TaskStore = this.#store, logger: Logger | undefined = this.#options.logger): SimulatedProcess {
    const { now, limits, interceptors } = this.#options;
    const clock = now instanceof Date ? () => now.getTime() : now;
    const more = { ...(limits && { limits }), ...(logger && { logger }), ...(interceptors && { interceptors }) };
    // The id of the process must not consume one of the test's ids.
    useIds(undefined);
    const { remoteAgents } = this.#others;
    const begun = new SimulatedProcess({ agent: this.#agent, remoteAgents, ...more }, store, clock);
    useIds(this.#options.ids);
    return begun;
  }

  #send(content: Content, options: TestSendOptions): Promise<SendMessageResponse> {
    const request = this.#request(content, options);
    return this.#process.unary(A2AService.method.sendMessage, request, this.#calling(options));
  }

  #request(content: Content, options: TestSendOptions): SendMessageRequest {
    const { task = "", contextId = "", messageId, referenceTaskIds = [] } = options;
    const message = agentMessage(content, { taskId: taskIdIn(task), contextId });
    message.role = Role.USER;
    message.messageId = messageId ?? message.messageId;
    message.referenceTaskIds = [...referenceTaskIds];
    return create(SendMessageRequestSchema, {
      message,
      configuration: {
        acceptedOutputModes: [...(options.acceptedOutputModes ?? [])],
        returnImmediately: options.returnImmediately === true,
      },
      ...(options.metadata === undefined ? {} : { metadata: options.metadata }),
    });
  }

  #calling(calling: TestCallOptions): TestCallOptions {
    return { caller: this.#options.caller ?? anonymous, ...calling };
  }
}

function stepOf({ name, attempts, outcome }: Step): TestStep {
  const result = outcome.case === "result" ? (JSON.parse(outcome.value) as JsonValue) : undefined;
  return { name, attempts, result, error: outcome.case === "error" ? outcome.value.message : undefined };
}

function taskIdIn(task: Task | string): string {
  return typeof task === "string" ? task : task.id;
}

/** Agents that the agent under test calls. The calls use the whole server except sockets. */
class OtherAgents {
  readonly remoteAgents: RemoteAgents;
  readonly #served: A2A[] = [];

  constructor(agents: Readonly<Record<string, Agent | RemoteAgents[string]>>) {
    this.remoteAgents = Object.fromEntries(
      Object.entries(agents).map(([name, agent], at) => [name, isAgent(agent) ? this.#serve(agent, at) : agent]),
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.#served.map((served) => served.close({ graceMs: 0 })));
  }

  #serve(agent: Agent, at: number): RemoteAgents[string] {
    const url = `http://agent-${at}.localhost`;
    const served = createA2A({ agent, store: memoryStore(), publicUrl: url, cardGrpc: "omit", audit: false });
    this.#served.push(served);
    const fetch: typeof globalThis.fetch = (input, init) => served.fetch(new Request(input, init));
    return { url, fetch };
  }
}

function isAgent(agent: Agent | RemoteAgents[string]): agent is Agent {
  return typeof agent === "object" && "execute" in agent;
}
