import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type AbortCause, TurnAborter } from "../../agent/abort.js";
import type { Agent, Turn } from "../../agent/agent.js";
import { recoveryOf, startAgent } from "../../agent/agent-calls.js";
import type { Take } from "../../agent/agent-events.js";
import type { RelayCheckpoint } from "../../agent/delegation.js";
import { type AgentEvent, type Content, isEvent, working } from "../../agent/event.js";
import { makeTurn, storeSteps } from "../../agent/turn.js";
import type { TurnRequest } from "../../agent/turn-request.js";
import { within } from "../../core/async.js";
import { yieldToEventLoop } from "../../core/event-loop.js";
import { CauseLogger, type LogCause } from "../../core/log.js";
import type { Lease } from "../../store/task-store.js";
import type { Draft } from "../../task/entry.js";
import { viewTask } from "../../task/fold.js";
import { endsBlockingSend, isInterrupted, isTerminal } from "../../task/state.js";
import { LeaseLost } from "../log/lease-keeper.js";
import { isEnded, isOutage, logTrouble } from "../log/outage.js";
import { MessageWaits } from "../log/plan.js";
import { StateChangeFailed } from "../log/state-changes.js";
import type { TaskLog } from "../log/task-log.js";
import { AgentCleanup, closeIterator, failureText, isPause, limitIn } from "./agent-end.js";
import { ExecutionLease } from "./execution-lease.js";
import type { ExecutionSlot } from "./execution-slots.js";
import type { ExecutionSource, ExecutionStart } from "./execution-source.js";
import type { PendingTurn } from "./first-event.js";
import { cancelOpenSubTasks, SubTasks } from "./relayed.js";
import { TaskSteps } from "./step-journal.js";
import { isEnd, isHeavy, isLastOfTurn, isProgress, type TaskEvent, TaskOutput } from "./task-output.js";
import { TurnQueue } from "./turn-queue.js";

/** Result in place of an event that `#take` has already accepted. */
const taken: IteratorResult<AgentEvent> = { done: false, value: working() };

/**
 * Runs an agent on one task, one turn at a time. Later messages wait for their turn, whichever process accepted them:
 * the log determines the next one. The execution ends when no message waits or the task is finished. The agent's events
 * are accepted into the log at once; the agent waits only if too many of them are unstored.
 */
export class Execution {
  readonly log: TaskLog;
  readonly agent: Agent;
  /** Running or queued. */
  readonly slot: ExecutionSlot;
  /** Resolves when the execution ends, even if its agent has not returned. Never rejects. */
  readonly done: Promise<void>;
  readonly #source: ExecutionSource;
  readonly #queue: TurnQueue;
  #started: PendingTurn | undefined;
  readonly #lease: ExecutionLease;
  readonly #output: TaskOutput;
  readonly #subTasks: SubTasks;
  readonly #steps: TaskSteps;
  #finish: () => void = () => {};
  #over = false;
  #aborter = new TurnAborter();
  #turn: Turn | undefined;
  #request: TurnRequest | undefined;
  #lastState: TaskState | undefined;
  #failure: unknown;

  constructor(source: ExecutionSource, log: TaskLog, agent: Agent, start: ExecutionStart) {
    this.#source = source;
    this.slot = start.slot;
    this.log = log;
    this.agent = agent;
    this.#queue = new TurnQueue(log);
    this.#lease = new ExecutionLease(log, source.lease, start);
    this.#output = new TaskOutput(source, log);
    this.#subTasks = new SubTasks(source, log);
    this.#steps = new TaskSteps(source, log, (draft, onStored) => this.#append(draft, onStored));
    this.done = new Promise((resolve) => {
      this.#finish = resolve;
    });
    log.beginExecution();
  }

  /** Adds a stored message; `started` if its agent already runs, `lease` if the message set one. */
  add(request: TurnRequest, more: { readonly started?: PendingTurn; readonly lease?: Lease } = {}): void {
    this.#queue.add(request);
    this.#started ??= more.started;
    this.#lease.noteMessage(more.lease);
  }

  /** Runs the turns of all messages after the position `after` once the slot is held, then ends. */
  begin(after: number): void {
    this.log.turns.begin(after);
    if (this.slot.isHeld) void this.#run();
    else this.slot.whenHeld = () => void this.#run();
  }

  /** The request of the running or last turn, else of the first one, for log lines. */
  get cause(): LogCause {
    const { requestId, traceParent } = this.#request ?? this.#queue.first ?? {};
    return { requestId, traceParent, taskId: this.log.taskId, agent: this.agent.card.name };
  }

  get #logger(): CauseLogger {
    return new CauseLogger(this.#source.logger, this.cause);
  }

  async #run(): Promise<void> {
    try {
      if (this.#lease.isQueued && !(await this.#lease.leaveQueue())) this.abandon("lease-lost");
      for (let position = this.#next(); position !== undefined; position = this.#next()) {
        const request = this.#queue.takeKnown(position) ?? (await this.#queue.read(position));
        if (this.#request !== undefined && !(await this.#lease.moveTo(position))) this.abandon("lease-lost");
        if (!this.#over) await this.#runTurn(request);
      }
      // A cancel may have come between two turns, or at the end of the last one.
      if (!this.#over && this.#aborter.reason?.cause === "canceled") await this.#close(TaskState.CANCELED, undefined);
    } catch (error) {
      this.#stopStoring(error);
    } finally {
      this.#end();
    }
  }

  /** Position of the next message to run; undefined if none waits or the execution is stopping. */
  #next(): number | undefined {
    if (this.#over || this.#aborter.reason !== undefined || isTerminal(this.log.plannedState)) return undefined;
    return this.#queue.next;
  }

  /**
   * Stops the execution on a client's cancel: the agent gets `cancelGraceMs` to end by itself, then the task is
   * canceled without it (specification 3.1.5).
   */
  async cancel(): Promise<void> {
    this.#aborter.abort("canceled");
    const left = this.#subTasks.cancelEarlier();
    if (this.slot.isHeld) await within(this.#source.limits.cancelGraceMs, this.done);
    await left;
    if (this.#over) return;
    this.#over = true;
    try {
      // Appends without a fence: a client may cancel a task at any time, whichever process has its lease.
      if (!isTerminal(this.log.plannedState)) await this.log.append(this.#output.status(TaskState.CANCELED));
    } finally {
      this.#end(true);
    }
  }

  /** Stops the execution because the server shuts down. The agent's `recover` determines the task's outcome. */
  async shutdown(graceMs: number): Promise<void> {
    this.#aborter.abort("shutdown");
    if (!this.slot.isHeld) this.log.turns.release();
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
   * Ends immediately, without waiting for the agent, and stores nothing more. The task's lease remains, and the process
   * that claims it recovers the task.
   */
  abandon(cause: AbortCause, error?: unknown): void {
    if (this.#over) return;
    if (cause === "lease-lost") this.#logger.warn({}, "an execution ends, because its task was taken over");
    if (cause === "store-failed") logTrouble(this.#logger, error, {}, "an execution could not be stored");
    this.#over = true;
    this.#aborter.abort(cause);
    this.#end(true);
  }

  /** Ends the execution when one of its entries could not be stored: later ones would leave a gap. */
  #stopStoring(error: unknown): void {
    if (error instanceof LeaseLost) this.abandon("lease-lost");
    // If the task could not be created, the send fails and abandons this execution. An ended task accepts nothing more.
    else if (this.log.fold.position > 0 && !isEnded(error)) {
      if (!this.#over) this.#source.interrupted(this.log, this.#lease.unstartedTurn, error);
      this.abandon("store-failed", error);
    }
  }

  #end(leftBehind = false): void {
    if (this.#over && !leftBehind) return;
    this.#over = true;
    this.#subTasks.endSpan();
    this.#steps.endTurn();
    this.log.endExecution();
    this.#finish();
    this.#source.ended(this);
    this.log.wake();
  }

  async #runTurn(request: TurnRequest): Promise<void> {
    try {
      await this.#runAgent(request);
    } finally {
      this.#subTasks.endTurn();
    }
  }

  /** See `CallingTurn.sending`. Stored as a status, since an entry of a task is a message, a status or an artifact. */
  async sending({ position }: TurnRequest, checkpoint: RelayCheckpoint): Promise<void> {
    // A question of this turn ends it, so no entry may follow. This turn answers any question of an earlier one.
    const isPast = this.#over || this.#request?.position !== position || isTerminal(this.log.plannedState);
    if (isPast || (this.#lastState !== undefined && endsBlockingSend(this.#lastState))) return;
    await this.#append(this.#output.withCheckpoint(TaskState.WORKING, checkpoint));
  }

  /** Stores an entry of the current turn that is not an event of its agent. */
  #append(draft: Draft, onStored: () => void = () => {}): Promise<void> {
    const stored = this.log.appendAnd(draft, this.#lease.fenced, onStored);
    stored.catch(this.#note);
    return stored;
  }

  async #runAgent(request: TurnRequest): Promise<void> {
    const started = this.#started;
    this.#started = undefined;
    const { iterator, turn } = started ?? this.#start(request);
    if (started !== undefined) this.#adopt(started.aborter);
    this.#turn = turn;
    this.#output.beginTurn(turn);
    this.#lease.beginTurn(turn);
    this.#request = request;
    this.#steps.beginTurn(request.position, turn, this.#logger);
    if (started !== undefined) storeSteps(turn, this.#steps);
    this.#subTasks.beginTurn(turn);
    this.log.turns.begin(request.position);
    this.#lastState = undefined;
    let cleanup: AgentCleanup | undefined;
    try {
      let result = started?.first ?? (await iterator.next(this.#take));
      while (!result.done && !this.#over) {
        if (result !== taken) {
          const event = this.#output.eventOf(result.value);
          const earlier = this.#prepare(event);
          if (earlier !== undefined) await earlier;
          if (this.#over || this.#accept(event)) break;
        }
        if (this.#output.isAhead) await this.#output.slowDown();
        if (this.#failure !== undefined) break;
        result = await iterator.next(this.#take);
      }
      if (result.done && !this.#over && isEvent(result.value)) {
        // `return completed()` is equivalent to `yield completed()`.
        const event = this.#output.eventOf(result.value);
        await this.#prepare(event);
        if (!this.#over) this.#accept(event);
      }
      // An abandoned agent may still clean up; its output is not stored.
      if (this.#over && !result.done) void closeIterator(iterator, this.#logger);
      if (this.#over) return;
      this.#steps.endTurn();
      if (!result.done) cleanup = new AgentCleanup(iterator, this.#lastState, this.#logger);
    } catch (error) {
      this.#steps.endTurn();
      // The log may have rejected an event whose agent is suspended at its `yield`.
      void closeIterator(iterator, this.#logger);
      if (this.#over) return;
      if (!isPause(error, this.#lastState)) return this.#agentThrew(error);
    }
    await this.#endTurn();
    // Everything of the task is stored by now.
    if (cleanup === undefined || (await cleanup.over(this.done))) return;
    this.#logger.warn({}, "an agent did not return after its last event; its execution ends without it");
    this.#aborter.abort("ended");
  }

  /** Accepts an event. @returns true if it ends the turn */
  #accept(event: TaskEvent): boolean {
    this.#output.accept(event, this.#lastState, this.#lease.fenced).catch(this.#note);
    if (event.kind === "status") this.#lastState = event.state;
    return this.#lastState !== undefined && (isTerminal(this.#lastState) || isLastOfTurn(event));
  }

  /** Accepts progress events while `#runAgent` reads, which costs less than passing them on. Returns the others. */
  readonly #take: Take = (result) => {
    const event: unknown = result.done || this.#over ? undefined : result.value;
    if (!isEvent(event) || !isProgress(event) || isHeavy(event)) return result;
    this.#accept(event);
    return this.#failure !== undefined || this.#output.isAhead ? taken : undefined;
  };

  #start(request: TurnRequest): Pick<PendingTurn, "iterator" | "turn"> {
    const { task, initialMetadata } = this.log.fold;
    const turn = makeTurn(request, {
      task: viewTask(task),
      initialMetadata,
      aborter: this.#aborter,
      source: this.#source,
      journal: this.#steps,
    });
    return { turn, iterator: this.#output.begun(startAgent(this.agent, turn)) };
  }

  /** Replaces the execution's signal by that of an agent that already runs. */
  #adopt(started: TurnAborter): void {
    if (this.#aborter.reason !== undefined) started.abort(this.#aborter.reason.cause);
    this.#aborter = started;
  }

  /** Validates an event. Returns a promise if the event has to wait before it is accepted. @throws InvalidAgentEvent */
  #prepare(event: TaskEvent): Promise<void> | undefined {
    const isLarge = isHeavy(event);
    if (this.#subTasks.mayBeOpen && isEnd(event)) return this.#subTasks.cancelAll();
    return isLarge ? yieldToEventLoop() : undefined;
  }

  readonly #note = (error: unknown): void => {
    this.#failure ??= error;
    if (!(error instanceof StateChangeFailed)) this.#stopStoring(error);
  };

  /** Ends the turn. A change of the conversation's state that fails on a newer one counts as an agent's error. */
  async #endTurn(): Promise<void> {
    try {
      if (this.#failure === undefined) await this.#agentDone(this.#lastState);
      // The task may have been ended by another process.
      else if (!isEnded(this.#failure)) throw this.#failure;
    } catch (error) {
      if (!(error instanceof StateChangeFailed)) throw error;
      this.#failure = undefined;
      await this.#agentThrew(error.cause);
    }
  }

  /** Ends a turn whose agent has returned: after a pause the task waits, otherwise it is completed. */
  async #agentDone(last: TaskState | undefined): Promise<void> {
    if (last !== undefined && isTerminal(last)) return this.#settle();
    const { reason } = this.#aborter;
    if (reason?.cause === "shutdown") return this.#interrupted();
    if (reason !== undefined) return this.#close(TaskState.CANCELED, undefined);
    const { state } = this.#lease.fenced;
    if (state !== undefined) await state.settled();
    if (last !== undefined && isInterrupted(last)) {
      await this.#noteChanges();
      await this.#settle();
      return this.#lease.release(this.#queue);
    }
    await this.#complete();
  }

  /** Completes the task, unless a message waits or is in flight: the task then continues with it. */
  async #complete(): Promise<void> {
    if (this.#subTasks.mayBeOpen && this.#queue.next === undefined) await this.#subTasks.cancelAll();
    while (this.#queue.next === undefined && !isTerminal(this.log.plannedState)) {
      try {
        await this.log.append(this.#output.status(TaskState.COMPLETED), { ...this.#lease.fenced, ifNoneWaits: true });
      } catch (error) {
        if (!(error instanceof MessageWaits)) throw error;
        await this.log.stored();
      }
    }
    if (this.#queue.next === undefined) await this.#settle();
    else await this.#noteChanges();
  }

  /** Stores the changes of the conversation's state that no entry of the turn has taken along. */
  async #noteChanges(): Promise<void> {
    if (this.#lease.fenced.state === undefined) return;
    await this.log.stored();
    const { fenced } = this.#lease;
    if (fenced.state?.unstored !== undefined) await this.log.append(this.#output.note(), fenced);
  }

  async #agentThrew(error: unknown): Promise<void> {
    const { reason } = this.#aborter;
    if (reason?.cause === "shutdown") return this.#interrupted();
    if (reason !== undefined) return this.#close(TaskState.CANCELED, undefined);
    if (isOutage(error)) throw error;
    // Another process has ended the task, so the agent's step or event was rejected. The agent has not failed.
    if (isTerminal(this.log.plannedState)) return this.#settle();
    this.#source.metrics?.limitRefused(limitIn(error));
    await this.#close(TaskState.FAILED, failureText(error, this.#logger));
  }

  /** Ends a turn that the shutdown of the server has interrupted. */
  async #interrupted(): Promise<void> {
    if (isTerminal(this.log.plannedState)) return this.#settle();
    const recover = this.#turn === undefined ? "restart" : recoveryOf(this.agent, this.#turn);
    if (recover === "fail") {
      // The agent's delegations left their sub-tasks to another attempt, which will not happen.
      if (this.#subTasks.mayBeOpen) await cancelOpenSubTasks(this.#source, this.log);
      return this.#close(TaskState.FAILED, "The server was shut down before the agent finished.");
    }
    await this.#lease.offer();
  }

  async #close(state: TaskState, content: Content | undefined): Promise<void> {
    if (this.#subTasks.mayBeOpen) await this.#subTasks.cancelAll();
    if (isTerminal(this.log.plannedState)) return this.#settle();
    await this.log.append(this.#output.status(state, content), this.#lease.fenced);
  }

  /** Waits until everything accepted is stored. */
  async #settle(): Promise<void> {
    await this.log.stored();
    if (this.#failure !== undefined && !isEnded(this.#failure)) throw this.#failure;
  }
}
