import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type AbortCause, LazyAbortController } from "../../agent/abort.js";
import type { Agent, Turn } from "../../agent/agent.js";
import { recoveryOf, startAgent } from "../../agent/agent-calls.js";
import { InvalidAgentEvent } from "../../agent/checked-copies.js";
import { type Relayed, type RelayMark, relayMark } from "../../agent/delegation.js";
import { TurnPaused } from "../../agent/errors.js";
import { type AgentEvent, type ArtifactEvent, type Content, completed, type StatusEvent } from "../../agent/event.js";
import { checkValues } from "../../agent/event-values.js";
import type { MessageContext } from "../../agent/message.js";
import { endCalls, makeTurn, type TurnSource, turnCalls } from "../../agent/turn.js";
import type { TurnRequest } from "../../agent/turn-request.js";
import { within } from "../../core/async.js";
import { A2AError } from "../../core/error.js";
import { nextRound } from "../../core/event-loop.js";
import type { Limits } from "../../core/limits.js";
import type { Logger } from "../../core/log.js";
import { holds } from "../../store/check.js";
import type { Lease, TaskStore } from "../../store/task-store.js";
import type { Draft } from "../../task/entry.js";
import { viewTask } from "../../task/fold.js";
import { endsBlockingSend, isInterrupted, isTerminal } from "../../task/state.js";
import { ArtifactIds, statusDraft } from "../log/draft.js";
import { LeaseLost, notBegun, upForClaim } from "../log/lease.js";
import { logTrouble } from "../log/outage.js";
import { MessageWaits } from "../log/plan.js";
import type { TaskLog } from "../log/task-log.js";
import { closeIterator, failureText, isEvent, notAnEvent, runToEnd } from "./agent-output.js";
import type { Place } from "./execution-slots.js";
import { leaveOthers, storedMark } from "./relayed.js";
import type { PendingTurn } from "./taskless.js";
import { TurnQueue } from "./turn-queue.js";

/** Bytes of events, as JSON, that an agent yields in one round of the event loop. */
const MAX_ROUND_BYTES = 256 * 1024;

/** An event with this many values of JSON is accepted in a round of the event loop after the one in which the agent made it. */
const HEAVY_VALUES = 10_000;

type TaskEvent = StatusEvent | ArtifactEvent;

/** What executions need of the engine. */
export interface ExecutionSource extends TurnSource {
  readonly store: TaskStore;
  readonly limits: Limits;
  readonly logger: Logger;
  readonly now: () => number;
  /** The lease of a turn that begins now. */
  readonly lease: (turn: number) => Lease;
  /**
   * Notes that an execution is cut off which began no turn behind a position; `next` is the one that it was about to
   * begin, with all before it over.
   */
  readonly notBegun: (taskId: string, after: number, next: number | undefined) => void;
  /** Called once, when the execution is over. */
  readonly ended: (execution: Execution) => void;
}

/** How an execution starts. */
export interface ExecutionStart {
  /** The lease that is stored. */
  readonly lease: Lease;
  /** The lease to take before its agent hears of the task, where the stored one says that it waits. */
  readonly begun?: Lease | undefined;
  readonly place: Place;
}

/**
 * Runs an agent on one task, one turn at a time. Later messages wait for their turn, whichever process accepted them:
 * the log says which comes next. The execution ends when no message waits or the task is over. What the agent yields is
 * accepted into the log at once; only a log that is too far behind makes the agent wait.
 */
export class Execution {
  readonly log: TaskLog;
  readonly agent: Agent;
  /** Among those that run, or in the queue. */
  readonly place: Place;
  /** Resolves when the execution is over, also when its agent had to be left behind. Never rejects. */
  readonly done: Promise<void>;
  readonly #source: ExecutionSource;
  readonly #queue: TurnQueue;
  #started: PendingTurn | undefined;
  readonly #ids: ArtifactIds;
  readonly #context: MessageContext;
  #finish: () => void = () => {};
  #over = false;
  /** The lease that it takes when it leaves the queue; the stored one says until then that it has not begun. */
  #begun: Lease | undefined;
  #aborter = new LazyAbortController();
  #turn: Turn | undefined;
  #request: TurnRequest | undefined;
  #failure: unknown;
  /** Bytes of the events that were accepted in this round of the event loop. */
  #acceptedBytes = 0;
  /** The agent has cleaned up after its last event. */
  #agentReturned = false;
  /** The lease that all entries of this execution rely on. */
  #fenced: { readonly fence: Lease };
  /** Position of the turn that could not be begun, because its lease was not stored. */
  #unstartedTurn: number | undefined;
  /** The lease that came with a message, when the one of the turn before had been let go. */
  #leaseOfMessage: Lease | undefined;

  constructor(source: ExecutionSource, log: TaskLog, agent: Agent, { lease, begun, place }: ExecutionStart) {
    this.#source = source;
    this.#fenced = { fence: lease };
    this.#begun = begun;
    this.place = place;
    this.log = log;
    this.agent = agent;
    this.#queue = new TurnQueue(log);
    this.#ids = new ArtifactIds(log.fold);
    this.#context = log.place;
    this.done = new Promise((resolve) => {
      this.#finish = resolve;
    });
    log.beginExecution();
  }

  /** Adds a message that is stored; `started` when its agent runs already, `lease` when the message took one. */
  add(request: TurnRequest, more: { readonly started?: PendingTurn; readonly lease?: Lease } = {}): void {
    this.#queue.add(request);
    this.#started ??= more.started;
    this.#leaseOfMessage = more.lease ?? this.#leaseOfMessage;
  }

  /** Runs the turns of all messages after the position `after`, as soon as its place is among those that run, then ends. */
  begin(after: number): void {
    this.log.turns.begin(after);
    if (this.place.isHeld) void this.#run();
    else this.place.whenHeld = () => void this.#run();
  }

  /** Whether it waits for a place, and its agent has heard of nothing. */
  get #isQueued(): boolean {
    return !this.place.isHeld;
  }

  async #run(): Promise<void> {
    try {
      if (this.#begun !== undefined) await this.#leaveQueue(this.#begun);
      for (let position = this.#next(); position !== undefined; position = this.#next()) {
        const request = this.#queue.takeKnown(position) ?? (await this.#queue.read(position));
        // The store must know which turn runs before it does: a crash repeats this one, not the last.
        if (this.#request !== undefined) await this.#moveTo(position);
        if (!this.#over) await this.#runTurn(request);
      }
      // A cancel that came between two turns, or at the end of the last one.
      if (!this.#over && this.#aborter.reason?.cause === "canceled") await this.#close(TaskState.CANCELED, undefined);
    } catch (error) {
      this.#stopStoring(error);
    } finally {
      this.#end();
    }
  }

  /** The store has to know that the agent hears of the turn before it does. */
  async #leaveQueue(begun: Lease): Promise<void> {
    try {
      if (!(await this.#setLease(begun))) return this.abandon("lease-lost");
    } catch (error) {
      this.#unstartedTurn = begun.turn;
      throw error;
    }
    this.#begun = undefined;
    this.#fenced = { fence: begun };
  }

  /** Begins the next turn's lease. What the turn before yielded relies on the old one, and is stored before. */
  async #moveTo(position: number): Promise<void> {
    await this.log.stored();
    const known = this.#leaseOfMessage?.turn === position ? this.#leaseOfMessage : undefined;
    // One that came with a message which was to wait for a place says that no agent has heard of it.
    if (known !== undefined && known.attempt < 1) this.#fenced = { fence: known };
    const next = known !== undefined && known.attempt >= 1 ? known : this.#source.lease(position);
    try {
      if (next !== known && !(await this.#setLease(next))) return this.abandon("lease-lost");
    } catch (error) {
      this.#unstartedTurn = position;
      throw error;
    }
    this.#fenced = { fence: next };
  }

  /** Position of the next message whose turn is to be run; undefined when none waits, or none is to be run any more. */
  #next(): number | undefined {
    if (this.#over || this.#aborter.reason !== undefined || isTerminal(this.log.plannedState)) return undefined;
    return this.#queue.next;
  }

  /**
   * Stops the execution because the client asked for it: the agent gets `cancelGraceMs` to end by itself, then the
   * task is canceled without it (specification 3.1.5).
   */
  async cancel(): Promise<void> {
    this.#aborter.abort("canceled");
    const left = this.#leaveOthers();
    if (!this.#isQueued) await within(this.#source.limits.cancelGraceMs, this.done);
    await left;
    if (this.#over) return;
    this.#over = true;
    try {
      // Without a fence: a client may cancel a task at any time, whichever process has its lease.
      if (!isTerminal(this.log.plannedState)) await this.log.append(this.#status(TaskState.CANCELED));
    } finally {
      this.#end(true);
    }
  }

  /** Stops the execution because the server ends; `recover` says what becomes of the task. */
  async shutdown(graceMs: number): Promise<void> {
    this.#aborter.abort("shutdown");
    if (this.#isQueued) this.log.turns.letGo();
    else await within(graceMs, this.done);
    if (this.#over) return;
    this.#over = true;
    try {
      await this.#interrupted();
    } finally {
      this.#end(true);
    }
  }

  /**
   * Ends at once, whatever its agent does: nothing more of this execution is stored. The lease of the task stays, and
   * the process that claims it decides (recovery).
   */
  abandon(cause: AbortCause, error?: unknown): void {
    if (this.#over) return;
    const { logger } = this.#source;
    const { taskId } = this.log;
    if (cause === "lease-lost") logger.warn({ taskId }, "an execution ends, because its task was taken over");
    if (cause === "store-failed") logTrouble(logger, error, { taskId }, "an execution could not be stored");
    this.#over = true;
    this.#aborter.abort(cause);
    this.#end(true);
  }

  /** Ends the execution when one of its entries could not be stored: later ones would stand behind a gap. */
  #stopStoring(error: unknown): void {
    if (error instanceof LeaseLost) this.abandon("lease-lost");
    // When the task could not be created, the send fails and abandons this execution.
    else if (this.log.fold.position > 0) {
      if (!this.#over) this.#source.notBegun(this.log.taskId, this.log.turns.current, this.#unstartedTurn);
      this.abandon("store-failed", error);
    }
  }

  #end(leftBehind = false): void {
    if (this.#over && !leftBehind) return;
    this.#over = true;
    this.log.endExecution();
    this.#finish();
    this.#source.ended(this);
    this.log.wake();
  }

  async #runTurn(request: TurnRequest): Promise<void> {
    try {
      await this.#runAgent(request);
    } finally {
      if (this.#turn !== undefined) endCalls(this.#turn, isInterrupted(this.log.plannedState));
    }
  }

  /** Cancels sub-tasks that this turn has not come to: those of turns before, and those of its attempts before. */
  #leaveOthers(): Promise<void> {
    const calls = this.#turn && turnCalls(this.#turn);
    return leaveOthers(this.#source, this.log, (mark) => calls?.sees(mark) === true);
  }

  /** Cancels all sub-tasks, before the end of the task is stored: after a crash behind that nobody would. */
  async #leaveAll(): Promise<void> {
    const calls = this.#turn && turnCalls(this.#turn);
    const own = calls && within(this.#source.limits.cancelGraceMs / 2, calls.leave());
    await Promise.all([own, this.#leaveOthers()]);
  }

  /** Whether an end has to wait for other agents. */
  get #mayHaveSubTasks(): boolean {
    const { relays, knowsRelays } = this.log.fold;
    const isCalling = this.#turn !== undefined && turnCalls(this.#turn) !== undefined;
    return this.#source.outgoing !== undefined && (isCalling || relays !== undefined || !knowsRelays);
  }

  /** See `CallingTurn.sending`. A status says it, as every entry of a task is a message, a status or an artifact. */
  async sending({ position }: TurnRequest, mark: RelayMark): Promise<void> {
    const { plannedState } = this.log;
    // A question ends the turn, and nothing of it is to come behind it.
    const isPast = this.#over || this.#request?.position !== position || endsBlockingSend(plannedState);
    if (isPast) return;
    const stored = this.log.append(relayedDraft(this.#status(TaskState.WORKING), mark), this.#fenced);
    stored.catch(this.#note);
    await stored;
  }

  async #runAgent(request: TurnRequest): Promise<void> {
    const started = this.#started;
    this.#started = undefined;
    const { iterator, turn } = started ?? this.#start(request);
    if (started !== undefined) this.#adopt(started.aborter);
    this.#turn = turn;
    this.#request = request;
    this.log.turns.begin(request.position);
    let last: TaskState | undefined;
    let cleanup: Promise<void> | undefined;
    try {
      let result = started?.first ?? (await iterator.next());
      while (!result.done && !this.#over) {
        const event = this.#inTask(result.value);
        const earlier = this.#prepare(event);
        if (earlier !== undefined) await earlier;
        if (this.#over) break;
        this.#accept(event);
        if (event.kind === "status") last = event.state;
        if (last !== undefined && (isTerminal(last) || isQuestionOfOther(event))) break;
        if (this.#acceptedBytes >= MAX_ROUND_BYTES) await this.#letOthersRun();
        const { maxUnstoredEvents, maxUnstoredBytes } = this.#source.limits;
        if (this.log.isBehind(maxUnstoredEvents, maxUnstoredBytes)) {
          await this.log.waitForDrain(maxUnstoredEvents, maxUnstoredBytes);
        }
        if (this.#failure !== undefined) break;
        result = await iterator.next();
      }
      if (result.done && !this.#over && isEvent(result.value)) {
        // `return completed()` says the same as `yield completed()`.
        const event = this.#inTask(result.value);
        await this.#prepare(event);
        if (!this.#over) this.#accept(event);
        if (event.kind === "status") last = event.state;
      }
      // An agent that was left behind may still clean up; what it does then is not stored.
      if (this.#over && !result.done) void closeIterator(iterator, this.#source.logger);
      if (this.#over) return;
      if (!result.done) cleanup = this.#closeAgent(iterator, last);
    } catch (error) {
      // It may be an event that was refused, whose agent waits behind its `yield`.
      void closeIterator(iterator, this.#source.logger);
      if (this.#over) return;
      if (!isPause(error, last)) return this.#agentThrew(error);
    }
    if (this.#failure !== undefined) this.#unstorable(this.#failure);
    else await this.#agentDone(last);
    if (cleanup !== undefined && !this.#agentReturned) await this.#waitForCleanup(cleanup);
  }

  /** Lets the agent clean up behind its last event, which ended the task unless the event could not be stored. */
  async #closeAgent(iterator: AsyncIterator<AgentEvent>, last: TaskState | undefined): Promise<void> {
    const { logger } = this.#source;
    if (last === undefined || !isTerminal(last)) await closeIterator(iterator, logger);
    else {
      const task = { taskId: this.log.taskId, state: last };
      await runToEnd(iterator, { agent: this.agent.card.name, task }, logger);
    }
    this.#agentReturned = true;
  }

  /** Everything of the task is stored, and its agent is still there: it may take its time, but not for ever. */
  async #waitForCleanup(cleanup: Promise<void>): Promise<void> {
    const { limits, logger } = this.#source;
    if (await within(limits.agentCleanupMs, Promise.race([cleanup, this.done]))) return;
    const { taskId } = this.log;
    logger.warn({ taskId }, "an agent did not return after its last event; its execution ends without it");
    this.#aborter.abort("ended");
  }

  #start(request: TurnRequest): Pick<PendingTurn, "iterator" | "turn"> {
    const turn = makeTurn(request, {
      task: viewTask(this.log.fold.task),
      aborter: this.#aborter,
      source: this.#source,
    });
    return { turn, iterator: startAgent(this.agent, turn) };
  }

  /** The agent of a turn that runs already has a signal of its own, which becomes that of the execution. */
  #adopt(started: LazyAbortController): void {
    if (this.#aborter.reason !== undefined) started.abort(this.#aborter.reason.cause);
    this.#aborter = started;
  }

  /**
   * The event as one of a task. Who names a task of a new message is answered with that task, whatever its agent says: a direct
   * answer completes it.
   */
  #inTask(event: AgentEvent): TaskEvent {
    if (!isEvent(event)) throw notAnEvent(event);
    if (event.kind !== "reply") return event;
    if (this.log.isNamed) return completed(event.content);
    throw new InvalidAgentEvent(
      'a task is answered by status and artifact events; reply() takes `responds: "message"` or "either" of the agent',
    );
  }

  /** Checks an event; returns a promise where something else comes before it is accepted. @throws InvalidAgentEvent */
  #prepare(event: TaskEvent): Promise<void> | undefined {
    const values = checkValues(event.kind === "artifact" ? event : event.content, this.#source.limits);
    if (this.#mayHaveSubTasks && isEnd(event)) return this.#leaveAll();
    return values < HEAVY_VALUES ? undefined : nextRound();
  }

  #accept(event: TaskEvent): void {
    const now = this.#source.now();
    const plain =
      event.kind === "artifact"
        ? this.#ids.draft(event, this.#context, now)
        : this.#statusDraft(event.state, event.content, now);
    const mark = (event as Relayed)[relayMark];
    const draft = mark === undefined ? plain : relayedDraft(plain, mark);
    this.log.checkSize(draft, this.#source.limits);
    this.#acceptedBytes += draft.size;
    this.log.append(draft, this.#fenced).catch(this.#note);
  }

  /** A pause names the message that it answers: messages of later turns may stand before it in the log. */
  #statusDraft(state: TaskState, content: Content | undefined, now: number): Draft {
    const draft = statusDraft(this.#context, state, content, now);
    return isInterrupted(state) ? { ...draft, answers: this.log.turns.current } : draft;
  }

  /** Large events take their time: the event loop goes on before an agent that does not wait does. */
  async #letOthersRun(): Promise<void> {
    this.#acceptedBytes = 0;
    await nextRound();
  }

  readonly #note = (error: unknown): void => {
    this.#failure ??= error;
    if (!isEnded(error)) this.#stopStoring(error);
  };

  /** The agent returned: after a pause the task waits, otherwise it is done. */
  async #agentDone(last: TaskState | undefined): Promise<void> {
    if (last !== undefined && isTerminal(last)) return this.#settle();
    const { reason } = this.#aborter;
    if (reason?.cause === "shutdown") return this.#interrupted();
    if (reason !== undefined) return this.#close(TaskState.CANCELED, undefined);
    if (last !== undefined && isInterrupted(last)) {
      await this.#settle();
      return this.#letGo();
    }
    await this.#complete();
  }

  /** Ends the lease of a task that waits for its client, unless a message waits that came meanwhile. */
  async #letGo(): Promise<void> {
    const { fence } = this.#fenced;
    for (;;) {
      // A message that is on its way counts on this execution and its lease: no other execution would answer it.
      while (this.#queue.next === undefined && !this.log.quiet) await this.log.stored();
      if (this.#queue.next !== undefined || isTerminal(this.log.plannedState)) return;
      if (await this.log.setLease(fence, null, this.log.fold.position)) return;
      if (!holds(fence, this.log.head.lease)) return;
    }
  }

  /** Ends the task, unless a message waits, or is on its way: the task goes on with it. */
  async #complete(): Promise<void> {
    if (this.#mayHaveSubTasks && this.#queue.next === undefined) await this.#leaveAll();
    while (this.#queue.next === undefined && !isTerminal(this.log.plannedState)) {
      try {
        await this.log.append(this.#status(TaskState.COMPLETED), { ...this.#fenced, ifNoneWaits: true });
      } catch (error) {
        if (!(error instanceof MessageWaits)) throw error;
        await this.log.stored();
      }
    }
    if (this.#queue.next === undefined) await this.#settle();
  }

  /** The lease, up for a claim by any process; the attempt that the claim counts is taken off before. */
  #upForClaim(): Lease {
    const { fence } = this.#fenced;
    return upForClaim(this.#begun === undefined ? notBegun(fence) : fence);
  }

  async #agentThrew(error: unknown): Promise<void> {
    const { reason } = this.#aborter;
    if (reason?.cause === "shutdown") return this.#interrupted();
    if (reason !== undefined) return this.#close(TaskState.CANCELED, undefined);
    await this.#close(TaskState.FAILED, failureText(error, this.#source.logger, this.log.taskId));
  }

  /** The server ends before the agent does. */
  async #interrupted(): Promise<void> {
    if (isTerminal(this.log.plannedState)) return this.#settle();
    const recover = this.#turn === undefined ? "restart" : recoveryOf(this.agent, this.#turn);
    if (recover === "fail") {
      // Its delegations have left their sub-tasks for another attempt, which there will not be.
      if (this.#mayHaveSubTasks && !isTerminal(this.log.plannedState)) await leaveOthers(this.#source, this.log);
      return this.#close(TaskState.FAILED, "The server was shut down before the agent finished.");
    }
    // An orderly restart does not count as an attempt.
    await this.#setLease(this.#upForClaim());
  }

  async #close(state: TaskState, content: Content | undefined): Promise<void> {
    if (this.#mayHaveSubTasks) await this.#leaveAll();
    if (isTerminal(this.log.plannedState)) return this.#settle();
    await this.log.append(this.#status(state, content), this.#fenced);
  }

  #status(state: TaskState, content?: Content): ReturnType<typeof statusDraft> {
    return statusDraft(this.#context, state, content, this.#source.now());
  }

  /** Waits until everything accepted is stored. */
  async #settle(): Promise<void> {
    await this.log.stored();
    if (this.#failure !== undefined) this.#unstorable(this.#failure);
  }

  /** Another process ended the task meanwhile: nothing to do. Anything else is trouble with the store. */
  #unstorable(failure: unknown): void {
    if (!isEnded(failure)) throw failure;
  }

  #setLease(lease: Lease | null): Promise<boolean> {
    return this.log.setLease(this.#fenced.fence, lease);
  }
}

/** The draft of an event of another agent's task: both are stored, or none is. */
function relayedDraft(draft: Draft, mark: RelayMark): Draft {
  return { ...draft, relay: storedMark(mark) };
}

/** Whether an event ends the task. */
function isEnd(event: TaskEvent): boolean {
  return event.kind === "status" && isTerminal(event.state);
}

/** Whether an event passes another agent's question on, which ends the turn: the answer comes as a turn of its own. */
function isQuestionOfOther(event: TaskEvent & Relayed): boolean {
  return event[relayMark] !== undefined && event.kind === "status" && isInterrupted(event.state);
}

/** Whether the agent's turn is over because another agent's question was passed on, and not because anything failed. */
function isPause(error: unknown, last: TaskState | undefined): boolean {
  return last !== undefined && isInterrupted(last) && error instanceof TurnPaused;
}

/** Whether the log refused an entry because the task is over. */
function isEnded(error: unknown): boolean {
  return error instanceof A2AError && error.reason === "UNSUPPORTED_OPERATION";
}
