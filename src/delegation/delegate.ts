import { create } from "@bufbuild/protobuf";
import { type Message, type Task, TaskSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { AbortReason } from "../agent/abort.js";
import { isSend, type SubTask } from "../agent/delegation.js";
import { DelegationError, TurnPaused } from "../agent/errors.js";
import { type AgentEvent, authRequired } from "../agent/event.js";
import { isOwnRefusal } from "../client/credentials/own-refusal.js";
import { orAborted } from "../core/async.js";
import { A2AError, toA2AError } from "../core/error.js";
import type { Update } from "../task/answer.js";
import { isInterrupted, isTerminal } from "../task/state.js";
import type { SubTaskClient, SubTaskMessage } from "./client.js";
import { findExistingSend } from "./existing-send.js";
import { namingForm } from "./form-answer.js";
import type { DelegationJob } from "./job.js";
import { checkAgent, originPosition } from "./origin.js";
import { answeringPosition } from "./pending-answers.js";
import { inputOf, Relay, statusId, subTaskOf } from "./relay.js";
import { type Relayed, type RelayPlace, relayedOf, type SendNames, sendNames } from "./relayed.js";
import { retryWhileUnavailable } from "./retry-while-unavailable.js";
import { SubTaskCancellation } from "./sub-task-cancellation.js";

/** Delegates a sub-task to another agent and relays it. See `Turn.delegate`. */
export async function* delegate(given: DelegationJob): AsyncGenerator<AgentEvent, SubTask, undefined> {
  const { turn, agent, name, remote } = given;
  // A checkpoint that only announces a message has not reached our task.
  const events = given.events.filter(({ checkpoint }) => !isSend(checkpoint));
  const job = { ...given, events };
  const origin = await originPosition(job);
  const place: RelayPlace = { delegation: name, origin, turn: turn.request.position, agent };
  const have = relayedOf(given.events, turn.task, place);
  checkAgent(job, have);
  job.seen(place);
  const answered = have.last !== undefined && have.taskId === "" && have.last.checkpoint.state === TaskState.COMPLETED;
  if (answered) return subTaskOf(agent, { message: have.last?.message });
  const relay = new Relay(place, have, job.options.artifacts === "hide");
  if (remote.lacksCaller) return yield* askForCaller(job, relay, LACKS_CALLER);
  const stop = new SubTaskCancellation(turn.signal, { pause: job.pause.signal, over: job.end }, job.cancelMs);
  const answering = answeringPosition(events, have.asked, place);
  const course = new DelegationRun(job, { place, have, relay, stop, answering });
  // The task store's own outage: the turn runs again, and continues with the sub-task.
  let isAway = false;
  try {
    return yield* course.run();
  } catch (error) {
    turn.signal.throwIfAborted();
    if (error instanceof TurnPaused || error instanceof AbortReason) throw error;
    isAway = turn.isOutage(error);
    if (isAway) throw error;
    if (job.answers.question !== undefined) {
      // An empty result would be mistaken for that of the sub-task.
      await job.answers.question;
      throw new TurnPaused();
    }
    // The turn is over. The author may have stopped reading, so the error is dropped.
    if (job.pause.signal.aborted || job.end.aborted) return subTaskOf(agent, {});
    const failure = toA2AError(error);
    if (failure.metadata.arrival !== "unknown") course.noteRejection();
    if (failure.reason !== "UNAUTHENTICATED" || !remote.passesCaller || isOwnRefusal(error)) {
      job.logger.warn({ err: error, remote: agent }, "a delegation failed");
      throw new DelegationError(agent, failure);
    }
    course.arrived();
    return yield* askForCaller(job, relay, REFUSED_CALLER);
  } finally {
    stop.end();
    course.arrived();
    const isLeft = !course.isOver && !isAway && !job.pause.signal.aborted;
    if (isLeft && have.taskId !== "" && !stop.isStopped) job.cancelSubTask(relay.checkpoint);
    if (isLeft && have.taskId === "" && have.sent !== undefined && stop.mayLeave) job.cancelSubTask(have.sent);
  }
}

const LACKS_CALLER = "Another agent must be called on your behalf: send a message with your credentials to continue.";
const REFUSED_CALLER = "Another agent did not accept your credentials: send a message with new ones to continue.";

/** Ends the turn with a question of our own for the caller's credentials. */
async function* askForCaller(
  job: DelegationJob,
  relay: Relay,
  question: string,
): AsyncGenerator<AgentEvent, never, undefined> {
  const { turn } = job;
  await orAborted(turn.mayAsk(), turn.signal);
  return yield* pauseTurn(job, relay.pause(authRequired(question), TaskState.AUTH_REQUIRED));
}

/**
 * Ends the turn with a question, and with it the other delegations that the author waits for. The question is the next
 * event of the turn even if the author stops reading. It is also yielded, so that the author's generator ends there.
 */
async function* pauseTurn(job: DelegationJob, question: AgentEvent): AsyncGenerator<AgentEvent, never, undefined> {
  job.answers.noteQuestion(() => job.turn.ask(question));
  job.pause.abort();
  yield question;
  throw new TurnPaused();
}

type Question = Extract<AgentEvent, { kind: "status" }>;

/** The generation of a task that was only created. */
const CREATED = 1;

/** Dependencies of a run, besides its job. */
interface DelegationParts {
  readonly place: RelayPlace;
  readonly have: Relayed;
  readonly relay: Relay;
  readonly stop: SubTaskCancellation;
  /** Position of the message that answers the sub-task's question; undefined if it waits for none. */
  readonly answering: number | undefined;
}

/** Runs one sub-task from its current state to its end or its question. */
class DelegationRun {
  #isOver = false;
  readonly #job: DelegationJob;
  readonly #parts: DelegationParts;
  #task: Task | undefined;
  #message: Message | undefined;
  /** True if events relayed earlier are missing from the folded task. */
  #isPartial = false;
  /** True if the message that starts the sub-task was sent in this run. */
  #hasSent = false;
  /** The context in which the sub-task is begun because the agent worked there before. */
  #keptContext: string | undefined;
  /** True if our task records the sub-task and that the sub-task received this turn's message. */
  #isKnown: boolean;
  /** Reports that the answer to the sub-task's question has arrived or failed. */
  readonly arrived: () => void;

  constructor(job: DelegationJob, parts: DelegationParts) {
    this.#job = job;
    this.#parts = parts;
    this.#isKnown = parts.have.taskId !== "";
    this.arrived = parts.answering === undefined ? () => {} : job.answers.sending();
  }

  /** True if the sub-task needs no cancel, because it has ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Notes that the other agent rejected the message sent in this run. */
  noteRejection(): void {
    if (this.#hasSent) this.#parts.have.sent = undefined;
  }

  async *run(): AsyncGenerator<AgentEvent, SubTask, undefined> {
    const { agent, remote } = this.#job;
    const { stop, have } = this.#parts;
    const client = await stop.race(this.#retryWhileUnavailable(() => remote.client()));
    // A URL may be internal.
    if (/^https?:/.test(agent)) this.#parts.relay.nameAgent(client.card.name);
    stop.canCancel(() => client.cancelTask({ id: have.taskId }, { headers: remote.headers() }));
    if (have.taskId !== "") stop.begun();
    try {
      yield* this.#relay(client, await this.#updates(client));
    } catch (error) {
      const other = await this.#otherWay(client, error);
      if (other === undefined) throw error;
      yield* this.#relay(client, other);
    }
    await stop.done();
    if (this.#message !== undefined) {
      this.#isOver = true;
      return subTaskOf(agent, { message: this.#message });
    }
    const state = this.#task?.status?.state ?? TaskState.UNSPECIFIED;
    if (isInterrupted(state)) yield* this.#ask(this.#questionAgain(state));
    if (!isTerminal(state)) throw new A2AError("UNAVAILABLE", "The stream of the sub-task ended before it did.");
    this.#isOver = true;
    const task = this.#isPartial ? await this.#get(client) : this.#task;
    return subTaskOf(agent, { task });
  }

  /** Sends the pending message, if any, and returns the updates. */
  async #updates(client: SubTaskClient): Promise<AsyncIterable<Update>> {
    const { have, answering } = this.#parts;
    if (have.taskId === "") return this.#begin(client);
    if (answering === undefined) return this.#follow(client);
    // The user has answered our task's question, and our task runs again.
    this.#isKnown = false;
    const task = await this.#get(client);
    const { state = TaskState.UNSPECIFIED } = task.status ?? {};
    const wentOn = isTerminal(state) || (have.asked?.state === TaskState.AUTH_REQUIRED && !isInterrupted(state));
    if (wentOn || (await this.#hasMessage(task))) return this.#follow(client);
    return this.#send(client, { ...(await this.#answer(answering)), taskId: task.id, contextId: task.contextId });
  }

  /**
   * The author's `answer` is derived from the message of this turn. The message of an earlier turn is sent unchanged.
   */
  async #answer(position: number): Promise<Omit<SubTaskMessage, "messageId">> {
    const { turn, options } = this.#job;
    const message = namingForm(await turn.messageAt(position), turn.task, this.#parts.have.taskId);
    return inputOf(position === turn.request.position ? (options.answer ?? message) : message);
  }

  /** Returns the names of this delegation's sends. Those of the first message are the same in all turns. */
  async #names(): Promise<SendNames> {
    const { turn } = this.#job;
    const { place, answering = place.origin } = this.#parts;
    return sendNames(turn.request, place, await turn.messageAt(answering));
  }

  #get(client: SubTaskClient): Promise<Task> {
    return this.#retryWhileUnavailable(() => client.getTask({ id: this.#parts.have.taskId }, this.#calling()));
  }

  /** Tells whether a sub-task contains the message of this turn. */
  async #hasMessage({ history }: Task): Promise<boolean> {
    const { messageId } = await this.#names();
    return history.some((message) => message.messageId === messageId);
  }

  /** Sends the first message, unless a sub-task exists from before a crash or before another delegation's question. */
  async #begin(client: SubTaskClient): Promise<AsyncIterable<Update>> {
    const { place } = this.#parts;
    const mayBeThere = this.#job.turn.request.attempt > 1 || place.origin < place.turn;
    const begun = mayBeThere ? await this.#findExistingSend(client) : undefined;
    return begun ?? this.#send(client, await this.#firstMessage(await this.#context()));
  }

  /**
   * Returns the context of a new sub-task: the author's, that of an earlier attempt, or that in which the agent worked
   * before.
   */
  async #context(): Promise<string | undefined> {
    const { options, contextBefore } = this.#job;
    if (options.contextId !== undefined) return options.contextId;
    const { sent } = this.#parts.have;
    this.#keptContext = sent === undefined ? await contextBefore() : sent.contextId || undefined;
    return this.#keptContext;
  }

  /** Finds the sub-task of the first message if its answer was lost; undefined if none is found. */
  async #findExistingSend(client: SubTaskClient): Promise<AsyncIterable<Update> | undefined> {
    const { have, stop } = this.#parts;
    const { messageId } = await this.#names();
    const sought = { messageId, contextId: this.#job.options.contextId };
    const begun = await this.#retryWhileUnavailable(() => findExistingSend(client, sought, this.#calling())).catch(
      noList,
    );
    stop.check();
    if (begun === undefined) return undefined;
    have.taskId = begun.id;
    return client.resume(begun.id, 0, this.#calling());
  }

  async *#send(client: SubTaskClient, message: Omit<SubTaskMessage, "messageId">): AsyncGenerator<Update> {
    const { messageId, key } = await this.#names();
    if (message.taskId === undefined) await this.#noteSend(messageId, message.contextId);
    this.#parts.stop.sending();
    const { options, turn } = this.#job;
    const { acceptedOutputModes = turn.request.acceptedOutputModes, metadata } = options;
    yield* client.begin(
      { ...message, messageId },
      { ...this.#calling(), idempotencyKey: key, acceptedOutputModes, ...(metadata !== undefined && { metadata }) },
    );
  }

  /** Records the message id, so that the sub-task can be found whatever ends this process or turn. */
  async #noteSend(messageId: string, contextId = ""): Promise<void> {
    const { have, place, stop } = this.#parts;
    if (have.sent !== undefined) return;
    this.#hasSent = true;
    have.sent = { ...place, taskId: "", contextId, generation: 0, messageId, state: TaskState.SUBMITTED };
    await this.#job.turn.sending(have.sent);
    stop.check();
  }

  #follow(client: SubTaskClient): AsyncIterable<Update> {
    this.arrived();
    const { taskId, generation, last } = this.#parts.have;
    // Without a recorded sub-task, every event after its creation is requested.
    const after = last === undefined ? CREATED : generation;
    this.#isPartial = after > 0;
    return client.resume(taskId, after, this.#calling());
  }

  #calling(): { signal: AbortSignal; headers: Headers } {
    return { signal: this.#parts.stop.signal, headers: this.#job.remote.headers() };
  }

  /** Retries while the other agent is unreachable. */
  #retryWhileUnavailable<T>(call: () => Promise<T>): Promise<T> {
    return retryWhileUnavailable(call, this.#job.outageMs, this.#parts.stop.signal);
  }

  async #firstMessage(contextId: string | undefined): Promise<Omit<SubTaskMessage, "messageId">> {
    const { message, turn } = this.#job;
    const input = inputOf(message ?? (await turn.messageAt(this.#parts.place.origin)));
    return contextId === undefined ? input : { ...input, contextId };
  }

  /** Follows the sub-task after a failed send whose message has arrived or is not needed. */
  async #otherWay(client: SubTaskClient, error: unknown): Promise<AsyncIterable<Update> | undefined> {
    if (!(error instanceof A2AError)) return undefined;
    const { have } = this.#parts;
    const { taskId, arrival } = error.metadata;
    if (arrival === "unknown") {
      if (have.taskId === "") return this.#findExistingSend(client);
      return (await this.#hasMessage(await this.#get(client))) ? this.#follow(client) : undefined;
    }
    // The author's content differed in an earlier run of this turn; the message already sent counts.
    if (error.reason === "IDEMPOTENCY_KEY_REUSED" && taskId !== undefined) have.taskId = taskId;
    else if (this.#keptContext !== undefined && have.taskId === "" && rejectsContext.has(error.reason)) {
      // The other agent may not know the context any more. A rejected message is not stored, so it can be sent again.
      return this.#send(client, await this.#firstMessage(undefined));
    } else if (error.reason !== "UNSUPPORTED_OPERATION" || have.taskId === "") return undefined;
    return this.#follow(client);
  }

  async *#relay(client: SubTaskClient, updates: AsyncIterable<Update>): AsyncGenerator<AgentEvent, void, undefined> {
    for await (const update of updates) {
      this.arrived();
      if (this.#hasBegunBefore(update)) {
        this.#isKnown = true;
        yield* this.#parts.relay.begin(existenceOf(update.task), CREATED);
        this.#begun();
        return yield* this.#relay(client, this.#follow(client));
      }
      if (update.kind === "message" && update.message !== undefined) {
        this.#message = update.message;
        this.#job.worksIn(update.message.contextId);
        yield this.#parts.relay.answer(update.message);
        return;
      }
      this.#task = update.task ?? this.#task;
      for (const event of this.#eventsOf(update)) {
        this.#parts.stop.check();
        if (event.kind === "status" && isInterrupted(event.state)) yield* this.#ask(event);
        yield event;
      }
    }
  }

  /**
   * True for a repeated send whose first answer was lost: its answer is the current task, whose events were not relayed
   * yet.
   */
  #hasBegunBefore({ kind, generation = 0 }: Update): boolean {
    return kind === "task" && !this.#isKnown && this.#parts.have.last === undefined && generation > CREATED;
  }

  #begun(): void {
    const { stop, have } = this.#parts;
    stop.begun();
    this.#job.worksIn(have.contextId);
  }

  #eventsOf({ kind, task, event, generation }: Update): AgentEvent[] {
    const { relay } = this.#parts;
    const events: AgentEvent[] = [];
    if (!this.#isKnown && task !== undefined) {
      this.#isKnown = true;
      const isWhole = kind === "task" || kind === "snapshot";
      events.push(...(isWhole ? relay.begin(task, generation) : relay.begin(existenceOf(task))));
      this.#begun();
      if (isWhole) return events;
    }
    if (kind === "task" || kind === "snapshot") {
      if (task !== undefined) events.push(...relay.snapshot(task, generation));
    } else if (event !== undefined) {
      const made = relay.event(event, generation);
      if (made !== undefined) events.push(made);
    }
    return events;
  }

  /** Ends the turn with this question; those of other delegations are asked in later turns. */
  async *#ask(event: AgentEvent): AsyncGenerator<AgentEvent, never, undefined> {
    const { turn, answers } = this.#job;
    await this.#parts.stop.race(turn.mayAsk().then(() => answers.arrived()));
    return yield* pauseTurn(this.#job, event);
  }

  /** Returns the sub-task's question if it was asked before. */
  #questionAgain(state: Question["state"]): AgentEvent {
    const { relay } = this.#parts;
    const { status } = this.#task ?? {};
    const statusMessage = status?.message;
    const event: Question = { kind: "status", state, content: statusMessage && relay.contentOf(statusMessage) };
    return relay.pause(event, state, status && statusId(status));
  }
}

/** Reasons for which an agent may reject the context of a message (specification 3.4.1). */
const rejectsContext: ReadonlySet<string> = new Set(["INVALID_PARAMS", "TASK_NOT_FOUND", "UNSUPPORTED_OPERATION"]);

/** Returns the sub-task without its content. */
function existenceOf({ id = "", contextId = "" }: Partial<Task> = {}): Task {
  return create(TaskSchema, { id, contextId });
}

/** Ignores the error of an agent that cannot list its tasks; the send will report other problems. */
function noList(error: unknown): undefined {
  if (!(error instanceof A2AError)) throw error;
}
