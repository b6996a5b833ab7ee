import { create } from "@bufbuild/protobuf";
import { type Message, MessageSchema, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { TurnRequest } from "../../agent/turn-request.js";
import { neverCanceled, orAborted } from "../../core/async.js";
import { A2AError, invalid } from "../../core/error.js";
import { newId } from "../../core/ids.js";
import { CauseLogger } from "../../core/log.js";
import type { Lease } from "../../store/task-store.js";
import type { TaskFold } from "../../task/fold.js";
import { messageSize } from "../../task/size.js";
import { isTerminal } from "../../task/state.js";
import type { Scope, TaskLookup, TaskNames } from "../../task/task-names.js";
import type { Metrics } from "../../telemetry/metrics.js";
import { messageDraft } from "../log/draft.js";
import { isOutage, toCallerError, unavailable } from "../log/outage.js";
import type { TaskHandle } from "../read/task-handle.js";
import type { ExecutionSlot, OwnerSlots } from "../run/execution-slots.js";
import {
  abandonAgent,
  askToAccept,
  asTask,
  checkedReply,
  directReply,
  firstEvent,
  isReply,
  type PendingTurn,
} from "../run/first-event.js";
import { shuttingDown } from "../shutdown.js";
import { Acceptance, isNotFound, SendsUnderWay } from "./acceptance.js";
import { type SendCommand, type SendResult, scopeOf } from "./send-command.js";
import { Creations, TaskCreation, type TaskCreationSource } from "./task-creation.js";

/** A client-named task: its stored id, and what it continues. */
type NamedTask = Pick<TurnRequest, "taskId" | "earlier">;

/** Timeout of an agent's `accept`, in milliseconds. */
export const acceptance = { timeoutMs: 30_000 } as const;

/** Maximum size of a conversation copied from the previous task, in bytes as JSON: it is stored with each of them. */
const EARLIER_BYTES = 1024 * 1024;

interface SenderSource extends Omit<TaskCreationSource, "acceptance"> {
  readonly metrics: Metrics | undefined;
  readonly names: TaskNames | undefined;
}

/** Accepts messages: calls the agent's `accept`, stores the message, and starts or queues its turn. */
export class Sender {
  readonly #source: SenderSource;
  readonly #keyed: SendsUnderWay;
  readonly #acceptance: Acceptance;
  readonly #creation: TaskCreation;
  readonly #creations = new Creations<TaskHandle>();

  constructor(source: SenderSource) {
    this.#source = source;
    this.#keyed = new SendsUnderWay(source.limits.cancelGraceMs);
    this.#acceptance = new Acceptance(source);
    this.#creation = new TaskCreation({ ...source, acceptance: this.#acceptance });
  }

  /** See `Engine.send`. */
  send(command: SendCommand): Promise<SendResult> {
    // Most messages do not wait here, and each async function would add a promise.
    try {
      this.#source.shutdown.checkOpen();
      const { held, idempotency } = command;
      const sending = idempotency === undefined ? this.#send(command) : this.#sendOnce(command, idempotency.key);
      // The send holds the memory of the request until it ends, even if the call ends before.
      return held?.share() === undefined ? sending : sending.finally(() => held.release());
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #sendOnce(command: SendCommand, key: string): Promise<SendResult> {
    return this.#keyed.once(JSON.stringify([command.tenant, command.caller.owner, key]), command, async () => {
      const known = await this.#source.shutdown.inGrace(this.#acceptance.remembered(command));
      if (known === undefined) return this.#send(command);
      const task = await this.#acceptance.open(command, known);
      return command.served.agent.responds === "message" ? this.#remembered(task) : { kind: "task", task };
    });
  }

  #send(command: SendCommand): Promise<SendResult> {
    if (command.admit === undefined) return this.#sendAdmitted(command);
    return this.#source.shutdown.inGrace(command.admit()).then(() => this.#sendAdmitted(command));
  }

  #sendAdmitted(command: SendCommand): Promise<SendResult> {
    const message = command.request.message ?? create(MessageSchema);
    if (message.taskId === "") return this.#sendNew(command, message);
    const { names } = this.#source;
    const isNamed = names !== undefined && command.namesTasks === true;
    const task = isNamed ? this.#sendNamed(names, command, message) : this.#followUp(command, message);
    return task.then(taskResult);
  }

  /** Sends a message to a client-named task. @throws A2AError UNAVAILABLE if it can neither find nor create it */
  async #sendNamed(names: TaskNames, command: SendCommand, message: Message): Promise<TaskHandle> {
    const scope = scopeOf(command);
    const lookup: TaskLookup = (taskId) => this.#source.tasks.lookup(scope, taskId);
    try {
      const task = await names.send(scope, message.taskId, {
        lookup,
        followUp: (taskId) => this.#followUp(command, message, taskId).catch(ignoreNotFound),
        create: (taskId, previous) => {
          const create = (): Promise<TaskHandle> => this.#createNamed(command, message, taskId, previous);
          return this.#creations.create(taskId, { lookup, create });
        },
      });
      return task ?? Promise.reject(unavailable(undefined));
    } catch (error) {
      throw toCallerError(error);
    }
  }

  /** @param previous a finished task, whose context and messages the new one continues */
  async #createNamed(command: SendCommand, message: Message, taskId: string, previous?: string): Promise<TaskHandle> {
    const reading = previous === undefined ? Promise.resolve(undefined) : this.#contextOf(scopeOf(command), previous);
    const before = await this.#source.shutdown.inGrace(reading);
    const contextId = before?.contextId ?? message.contextId;
    const sent = await this.#sendNew(command, { ...message, contextId }, { taskId, earlier: before });
    if (sent.kind === "task") return sent.task;
    throw new TypeError("A task that is named is never answered directly.");
  }

  /** Returns the context and the newest messages of a task and its predecessors, and the generation that it reached. */
  async #contextOf(
    scope: Scope,
    taskId: string,
  ): Promise<{ readonly contextId: string; readonly messages: Message[]; readonly generation: number }> {
    const { tasks, limits } = this.#source;
    const { task, generation } = await tasks.get(scope, taskId, { artifacts: false });
    const last = task.status?.message;
    const all = last === undefined ? task.history : [...task.history, last];
    const messages = newest(all, Math.min(EARLIER_BYTES, limits.maxTaskBytes / 4));
    return { contextId: task.contextId, messages, generation };
  }

  #sendNew(command: SendCommand, message: Message, named?: NamedTask): Promise<SendResult> {
    if (command.ifGeneration !== undefined) {
      throw invalid([
        { field: "message.taskId", description: "a generation can be expected of an existing task only" },
      ]);
    }
    if (command.served.agent.accept === undefined) return this.#sendAccepted(command, message, named);
    // Checks the queue first: an agent is not asked about a message that could not be taken.
    const { slots } = this.#source.executions;
    slots.checkCapacity(slots.of(command.tenant, command.caller.owner));
    return this.#ask(command, message, named).then(() => this.#sendAccepted(command, message, named));
  }

  #sendAccepted(command: SendCommand, message: Message, named: NamedTask | undefined): Promise<SendResult> {
    const kind = command.served.agent.responds ?? "task";
    const hasTask = kind !== "message" || command.served.agent.remembers === true;
    const taskId = named !== undefined ? message.taskId : hasTask ? newId() : "";
    const turn = turnOf(command, { ...message, taskId, contextId: message.contextId || newId() }, named);
    if (kind !== "task") return this.#begin(command, turn, kind === "message");
    return this.#creation.create(command, turn).then(taskResult);
  }

  /** Runs an agent that replies directly or decides by its first event. It takes a slot, like an execution. */
  async #begin(command: SendCommand, turn: TurnRequest, isMessage: boolean): Promise<SendResult> {
    const { shutdown, executions } = this.#source;
    const logger = new CauseLogger(this.#source.logger, turn, command.served.agent.card.name);
    const { slots } = executions;
    const owner = slots.of(command.tenant, command.caller.owner);
    if (!slots.tryTake(owner)) await this.#waitForSlot(owner, command);
    let isHeld = true;
    try {
      const began = performance.now();
      const started = await firstEvent(this.#taskless(command, turn));
      if (started.first !== undefined) this.#source.metrics?.firstEvent.observe((performance.now() - began) / 1_000);
      const isDirect = isReply(started);
      // A client that named a task gets one: a direct reply completes it.
      const makesTask = isDirect ? turn.taskId !== turn.message.taskId : !isMessage;
      const remembers = isDirect && command.served.agent.remembers === true;
      if (remembers) checkedReply(started, started.first.value, turn.message.contextId, logger);
      if (!makesTask && !remembers) {
        const reply = directReply(started, turn.message.contextId, logger);
        return { kind: "message", message: reply instanceof Promise ? await reply : reply };
      }
      if (started.refusal !== undefined) throw started.refusal;
      started.aborter.unfollow();
      if (shutdown.closing) {
        void abandonAgent(started, logger);
        throw shuttingDown();
      }
      // The execution owns the slot from here on.
      isHeld = false;
      if (!makesTask && remembers) return await this.#remember(command, turn, asTask(started));
      const task = await this.#creation.create(isDirect ? { ...command, capture: undefined } : command, turn, started);
      return { kind: "task", task: isDirect ? await this.#answered(task) : task };
    } finally {
      if (isHeld) slots.release(owner);
    }
  }

  /** Stores a direct reply with its message as a completed task. No client follows it, so nothing is pushed. */
  async #remember(command: SendCommand, turn: TurnRequest, started: PendingTurn): Promise<SendResult> {
    const plain = { ...command, capture: undefined, pushConfig: undefined };
    return this.#remembered(await this.#creation.create(plain, turn, started));
  }

  /** Returns the direct reply that a task stores. */
  async #remembered(stored: TaskHandle): Promise<SendResult> {
    const task = await this.#answered(stored);
    try {
      const { status } = task.now({ historyLength: 0 }).task;
      if (status?.state !== TaskState.COMPLETED || status.message === undefined) throw unavailable(undefined);
      return { kind: "message", message: create(MessageSchema, { ...status.message, taskId: "" }) };
    } finally {
      task.release();
    }
  }

  /** Waits until a task whose agent has already replied is completed, so that it is returned that way. */
  async #answered(task: TaskHandle): Promise<TaskHandle> {
    try {
      await task.whenIdle(neverCanceled, this.#source.limits.maxBlockingMs);
      return task;
    } catch (error) {
      task.release();
      throw error;
    }
  }

  /** Queues a call for a slot. Nothing of it is stored, so it ends when its client disconnects. */
  async #waitForSlot(owner: OwnerSlots, { client }: SendCommand): Promise<void> {
    const { shutdown, executions } = this.#source;
    const { slots } = executions;
    // A stopped queue does not end the calls that enter it later.
    shutdown.checkOpen();
    const slot = slots.enter(owner, 0);
    const held = new Promise<void>((resolve, reject) => {
      slot.whenHeld = resolve;
      slot.whenStopped = () => reject(shuttingDown());
    });
    const left = (): A2AError => new A2AError("CANCELLED", "The client went away before the agent was asked.");
    try {
      await orAborted(held, client.signal, left);
      shutdown.checkOpen();
    } catch (error) {
      slots.detach(slot);
      throw error;
    }
  }

  /** Lets the agent reject a message before anything is stored. @throws A2AError the agent's rejection */
  async #ask(command: SendCommand, message: Message, named?: NamedTask, fold?: TaskFold): Promise<void> {
    const { logger } = this.#source;
    const how = { logger, timeoutMs: acceptance.timeoutMs, ...(fold && { fold }) };
    await this.#source.shutdown.inGrace(askToAccept(this.#taskless(command, turnOf(command, message, named)), how));
  }

  #taskless(command: SendCommand, turn: TurnRequest): Parameters<typeof firstEvent>[0] {
    return { agent: command.served.agent, turn, client: command.client, source: this.#source.executions.source };
  }

  async #followUp(command: SendCommand, message: Message, taskId: string = message.taskId): Promise<TaskHandle> {
    const { tasks, executions, leases, now } = this.#source;
    const { slots } = executions;
    const log = await tasks.acquire(scopeOf(command), taskId);
    let slot: ExecutionSlot | undefined;
    try {
      if (isTerminal(log.plannedState)) await log.stored();
      const { contextId } = log.head;
      if (message.contextId !== "" && message.contextId !== contextId) {
        throw invalid([{ field: "message.contextId", description: "differs from the context of the task" }]);
      }
      if (command.admitToTask !== undefined) {
        await this.#source.shutdown.inGrace(command.admitToTask(log.fold.task));
      }
      if (command.served.agent.accept !== undefined && !isTerminal(log.plannedState)) {
        await this.#ask(command, message, log, log.fold);
      }
      const turn = turnOf(command, { ...message, ...log.messageContext }, log);
      const draft = messageDraft(turn, now());
      // A new execution is not needed if one exists, here or elsewhere, or if the task is finished.
      if (!executions.has(log.taskId) && log.head.lease === null && !isTerminal(log.plannedState)) {
        slot = slots.enter(slots.of(command.tenant, command.caller.owner), draft.size);
        slot.held = command.held?.share();
      }
      const waits = slot !== undefined && !slot.isHeld;
      const lease = (at: number): Lease => (waits ? leases.waiting(at) : leases.lease(at));
      return await this.#acceptance.accept(log, draft, command, { lease, followUp: { turn, slot } });
    } catch (error) {
      if (slot !== undefined) slots.detach(slot);
      // An execution here finds the message by itself.
      if (isOutage(error) && !executions.has(log.taskId)) {
        leases.noteInterrupted(log.taskId, { after: log.fold.position, isOutage: true });
      }
      tasks.logs.release(log);
      // A rejected message may be the retry of one that another process has just accepted.
      const known = isStateRefusal(error) ? await this.#acceptance.remembered(command) : undefined;
      return known === undefined ? this.#acceptance.repeated(command, error) : this.#acceptance.open(command, known);
    }
  }
}

function taskResult(task: TaskHandle): SendResult {
  return { kind: "task", task };
}

function turnOf(command: SendCommand, message: Message, named?: NamedTask): TurnRequest {
  return {
    taskId: named?.taskId ?? message.taskId,
    message,
    position: 1,
    attempt: 1,
    caller: command.caller,
    tenant: command.tenant,
    extensions: command.extensions,
    acceptedOutputModes: command.request.configuration?.acceptedOutputModes ?? [],
    metadata: command.request.metadata ?? {},
    traceParent: command.traceParent,
    traceState: command.traceState ?? "",
    span: command.span,
    requestId: command.requestId,
    delegationDepth: command.delegationDepth ?? 0,
    bearer: command.bearer,
    earlier: named?.earlier,
  };
}

/** Returns the newest messages that together are at most `bytes` as JSON. */
function newest(messages: readonly Message[], bytes: number): Message[] {
  let left = bytes;
  const first = messages.findLastIndex((message) => {
    left -= messageSize(message);
    return left < 0;
  });
  return messages.slice(first + 1);
}

function ignoreNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

/** True if a message was rejected because of its task's state. */
function isStateRefusal(error: unknown): boolean {
  const refusals: readonly string[] = ["GENERATION_MISMATCH", "TOO_MANY_REQUESTS", "UNSUPPORTED_OPERATION"];
  return error instanceof A2AError && refusals.includes(error.reason);
}
