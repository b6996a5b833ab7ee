import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type AbortCause, TurnAborter } from "../../agent/abort.js";
import type { Agent, Turn } from "../../agent/agent.js";
import { recoveryOf, startAgent } from "../../agent/agent-calls.js";
import { InvalidAgentEvent } from "../../agent/checked-copies.js";
import { type RelayCheckpoint, type Relayed, relayCheckpoint } from "../../agent/delegation.js";
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
import { LeaseLost, notStarted, upForClaim } from "../log/lease.js";
import { logTrouble } from "../log/outage.js";
import { MessageWaits } from "../log/plan.js";
import type { TaskLog } from "../log/task-log.js";
import { closeIterator, failureText, isEvent, notAnEvent, runToEnd } from "./agent-output.js";
import type { Place } from "./execution-slots.js";
import { leaveOthers, storedCheckpoint } from "./relayed.js";
import type { PendingTurn } from "./taskless.js";
import { TurnQueue } from "./turn-queue.js";

/** Maximum bytes of events, as JSON, accepted from an agent per event-loop turn. */
const MAX_ROUND_BYTES = 256 * 1024;

/** An event with this many JSON values is accepted one event-loop turn after the agent yields it. */
const HEAVY_VALUES = 10_000;

/** Events of one task, and their bytes (4 MiB), that wait to be stored before the agent is slowed down. */
export const unstored = { maxEvents: 256, maxBytes: 4_194_304 } as const;

/** Time for an agent to return after the last event of its task; then its signal fires and the execution ends. */
export const agentCleanup = { timeoutMs: 30_000 } as const;

type TaskEvent = StatusEvent | ArtifactEvent;

/** Dependencies of executions. */
export interface ExecutionSource extends TurnSource {
  readonly store: TaskStore;
  readonly limits: Limits;
  readonly logger: Logger;
  readonly now: () => number;
  /** Returns the lease of a turn that starts now. */
  readonly lease: (turn: number) => Lease;
  /**
   * Notes that an execution was interrupted before it started any turn after a position. `next` is the turn that it was
   * about to start; all earlier turns are finished.
   */
  readonly noteUnstarted: (taskId: string, after: number, next: number | undefined) => void;
  /** Called once, when the execution ends. */
  readonly ended: (execution: Execution) => void;
}

/** Start parameters of an execution. */
export interface ExecutionStart {
  /** The stored lease. */
  readonly lease: Lease;
  /** The lease to set before the agent starts, if the stored one checkpoints the turn as queued. */
  readonly begun?: Lease | undefined;
  readonly place: Place;
}

/**
 * Runs an agent on one task, one turn at a time. Later messages wait for their turn, whichever process accepted them:
 * the log determines the next one. The execution ends when no message waits or the task is finished. The agent's events
 * are accepted into the log at once; the agent waits only if too many of them are unstored.
 */
export class Execution {
  readonly log: TaskLog;
  readonly agent: Agent;
  /** Running or queued. */
  readonly place: Place;
  /** Resolves when the execution ends, even if its agent has not returned. Never rejects. */
  readonly done: Promise<void>;
  readonly #source: ExecutionSource;
  readonly #queue: TurnQueue;
  #started: PendingTurn | undefined;
  readonly #ids: ArtifactIds;
  readonly #context: MessageContext;
  #finish: () => void = () => {};
  #over = false;
  /** The lease to set when it leaves the queue. Until then the stored lease checkpoints the turn as not started. */
  #begun: Lease | undefined;
  #aborter = new TurnAborter();
  #turn: Turn | undefined;
  #request: TurnRequest | undefined;
  #failure: unknown;
  /** Bytes of events accepted in this event-loop turn. */
  #acceptedBytes = 0;
  /** True after the agent has cleaned up after its last event. */
  #agentReturned = false;
  /** The lease of all entries of this execution. */
  #fenced: { readonly fence: Lease };
  /** Position of the turn that could not start because its lease was not stored. */
  #unstartedTurn: number | undefined;
  /** The lease set together with a message, if the previous turn's lease had been released. */
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

  /** Adds a stored message; `started` if its agent already runs, `lease` if the message set one. */
  add(request: TurnRequest, more: { readonly started?: PendingTurn; readonly lease?: Lease } = {}): void {
    this.#queue.add(request);
    this.#started ??= more.started;
    this.#leaseOfMessage = more.lease ?? this.#leaseOfMessage;
  }

  /** Runs the turns of all messages after the position `after` once the slot is held, then ends. */
  begin(after: number): void {
    this.log.turns.begin(after);
    if (this.place.isHeld) void this.#run();
    else this.place.whenHeld = () => void this.#run();
  }

  /** True while it waits for a slot. Its agent has not started. */
  get #isQueued(): boolean {
    return !this.place.isHeld;
  }

  async #run(): Promise<void> {
    try {
      if (this.#begun !== undefined) await this.#leaveQueue(this.#begun);
      for (let position = this.#next(); position !== undefined; position = this.#next()) {
        const request = this.#queue.takeKnown(position) ?? (await this.#queue.read(position));
        // The store must know the running turn before it starts, so that a crash repeats this turn and not the last.
        if (this.#request !== undefined) await this.#moveTo(position);
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

  /** The store must know that the turn runs before the agent starts. */
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

  /** Switches to the next turn's lease, after the previous turn's output is stored under the old one. */
  async #moveTo(position: number): Promise<void> {
    await this.log.stored();
    const known = this.#leaseOfMessage?.turn === position ? this.#leaseOfMessage : undefined;
    // The lease of a message that was to wait for a slot marks its turn as not started.
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

  /** Stops the execution because the server shuts down. The agent's `recover` determines the task's outcome. */
  async shutdown(graceMs: number): Promise<void> {
    this.#aborter.abort("shutdown");
    if (this.#isQueued) this.log.turns.release();
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
    const { logger } = this.#source;
    const { taskId } = this.log;
    if (cause === "lease-lost") logger.warn({ taskId }, "an execution ends, because its task was taken over");
    if (cause === "store-failed") logTrouble(logger, error, { taskId }, "an execution could not be stored");
    this.#over = true;
    this.#aborter.abort(cause);
    this.#end(true);
  }

  /** Ends the execution when one of its entries could not be stored: later ones would leave a gap. */
  #stopStoring(error: unknown): void {
    if (error instanceof LeaseLost) this.abandon("lease-lost");
    // If the task could not be created, the send fails and abandons this execution.
    else if (this.log.fold.position > 0) {
      if (!this.#over) this.#source.noteUnstarted(this.log.taskId, this.log.turns.current, this.#unstartedTurn);
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

  /** Cancels sub-tasks that this turn has not reached: those of earlier turns and of earlier attempts. */
  #leaveOthers(): Promise<void> {
    const calls = this.#turn && turnCalls(this.#turn);
    return leaveOthers(this.#source, this.log, (checkpoint) => calls?.sees(checkpoint) === true);
  }

  /** Cancels all sub-tasks before the end of the task is stored: a crash after that would leave them running. */
  async #leaveAll(): Promise<void> {
    const calls = this.#turn && turnCalls(this.#turn);
    const own = calls && within(this.#source.limits.cancelGraceMs / 2, calls.leave());
    await Promise.all([own, this.#leaveOthers()]);
  }

  /** True if the end of the task may have to wait for other agents. */
  get #mayHaveSubTasks(): boolean {
    const { relays, knowsRelays } = this.log.fold;
    const isCalling = this.#turn !== undefined && turnCalls(this.#turn) !== undefined;
    return this.#source.outgoing !== undefined && (isCalling || relays !== undefined || !knowsRelays);
  }

  /** See `CallingTurn.sending`. Stored as a status, since an entry of a task is a message, a status or an artifact. */
  async sending({ position }: TurnRequest, checkpoint: RelayCheckpoint): Promise<void> {
    const { plannedState } = this.log;
    // A question ends the turn, so no entry of it may follow.
    const isPast = this.#over || this.#request?.position !== position || endsBlockingSend(plannedState);
    if (isPast) return;
    const stored = this.log.append(relayedDraft(this.#status(TaskState.WORKING), checkpoint), this.#fenced);
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
        const { maxEvents, maxBytes } = unstored;
        if (this.log.isBehind(maxEvents, maxBytes)) await this.log.waitForDrain(maxEvents, maxBytes);
        if (this.#failure !== undefined) break;
        result = await iterator.next();
      }
      if (result.done && !this.#over && isEvent(result.value)) {
        // `return completed()` is equivalent to `yield completed()`.
        const event = this.#inTask(result.value);
        await this.#prepare(event);
        if (!this.#over) this.#accept(event);
        if (event.kind === "status") last = event.state;
      }
      // An abandoned agent may still clean up; its output is not stored.
      if (this.#over && !result.done) void closeIterator(iterator, this.#source.logger);
      if (this.#over) return;
      if (!result.done) cleanup = this.#closeAgent(iterator, last);
    } catch (error) {
      // The log may have rejected an event whose agent is suspended at its `yield`.
      void closeIterator(iterator, this.#source.logger);
      if (this.#over) return;
      if (!isPause(error, last)) return this.#agentThrew(error);
    }
    if (this.#failure !== undefined) this.#unstorable(this.#failure);
    else await this.#agentDone(last);
    if (cleanup !== undefined && !this.#agentReturned) await this.#waitForCleanup(cleanup);
  }

  /** Lets the agent clean up after its last event, which ended the task unless it could not be stored. */
  async #closeAgent(iterator: AsyncIterator<AgentEvent>, last: TaskState | undefined): Promise<void> {
    const { logger } = this.#source;
    if (last === undefined || !isTerminal(last)) await closeIterator(iterator, logger);
    else {
      const task = { taskId: this.log.taskId, state: last };
      await runToEnd(iterator, { agent: this.agent.card.name, task }, logger);
    }
    this.#agentReturned = true;
  }

  /** Waits up to `agentCleanup.timeoutMs` for an agent to return, after everything of the task is stored. */
  async #waitForCleanup(cleanup: Promise<void>): Promise<void> {
    const { logger } = this.#source;
    if (await within(agentCleanup.timeoutMs, Promise.race([cleanup, this.done]))) return;
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

  /** Replaces the execution's signal by that of an agent that already runs. */
  #adopt(started: TurnAborter): void {
    if (this.#aborter.reason !== undefined) started.abort(this.#aborter.reason.cause);
    this.#aborter = started;
  }

  /**
   * Returns an event of a task. A client that names the task of a new message always gets a task, so a direct reply
   * completes it.
   */
  #inTask(event: AgentEvent): TaskEvent {
    if (!isEvent(event)) throw notAnEvent(event);
    if (event.kind !== "reply") return event;
    if (this.log.isNamed) return completed(event.content);
    throw new InvalidAgentEvent(
      'a task is answered by status and artifact events; reply() takes `responds: "message"` or "either" of the agent',
    );
  }

  /** Validates an event. Returns a promise if the event has to wait before it is accepted. @throws InvalidAgentEvent */
  #prepare(event: TaskEvent): Promise<void> | undefined {
    const values = checkValues(event.kind === "artifact" ? event : event.content);
    if (this.#mayHaveSubTasks && isEnd(event)) return this.#leaveAll();
    return values < HEAVY_VALUES ? undefined : nextRound();
  }

  #accept(event: TaskEvent): void {
    const now = this.#source.now();
    const plain =
      event.kind === "artifact"
        ? this.#ids.draft(event, this.#context, now)
        : this.#statusDraft(event.state, event.content, now);
    const checkpoint = (event as Relayed)[relayCheckpoint];
    const draft = checkpoint === undefined ? plain : relayedDraft(plain, checkpoint);
    this.log.checkSize(draft, this.#source.limits);
    this.#acceptedBytes += draft.size;
    this.log.append(draft, this.#fenced).catch(this.#note);
  }

  /** A pause names the message that it answers, since messages of later turns may precede it in the log. */
  #statusDraft(state: TaskState, content: Content | undefined, now: number): Draft {
    const draft = statusDraft(this.#context, state, content, now);
    return isInterrupted(state) ? { ...draft, answers: this.log.turns.current } : draft;
  }

  /** Large events take time, so an agent that never waits yields to the event loop here. */
  async #letOthersRun(): Promise<void> {
    this.#acceptedBytes = 0;
    await nextRound();
  }

  readonly #note = (error: unknown): void => {
    this.#failure ??= error;
    if (!isEnded(error)) this.#stopStoring(error);
  };

  /** The agent returned: after a pause the task waits, otherwise it is completed. */
  async #agentDone(last: TaskState | undefined): Promise<void> {
    if (last !== undefined && isTerminal(last)) return this.#settle();
    const { reason } = this.#aborter;
    if (reason?.cause === "shutdown") return this.#interrupted();
    if (reason !== undefined) return this.#close(TaskState.CANCELED, undefined);
    if (last !== undefined && isInterrupted(last)) {
      await this.#settle();
      return this.#release();
    }
    await this.#complete();
  }

  /** Releases the lease of a task that waits for its client, unless a message arrived meanwhile. */
  async #release(): Promise<void> {
    const { fence } = this.#fenced;
    for (;;) {
      // A message in flight depends on this execution and its lease: no other execution would process it.
      while (this.#queue.next === undefined && !this.log.quiet) await this.log.stored();
      if (this.#queue.next !== undefined || isTerminal(this.log.plannedState)) return;
      if (await this.log.setLease(fence, null, this.log.fold.position)) return;
      if (!holds(fence, this.log.head.lease)) return;
    }
  }

  /** Completes the task, unless a message waits or is in flight: the task then continues with it. */
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

  /** Returns the lease released for a claim, minus the attempt that the claim will count. */
  #upForClaim(): Lease {
    const { fence } = this.#fenced;
    return upForClaim(this.#begun === undefined ? notStarted(fence) : fence);
  }

  async #agentThrew(error: unknown): Promise<void> {
    const { reason } = this.#aborter;
    if (reason?.cause === "shutdown") return this.#interrupted();
    if (reason !== undefined) return this.#close(TaskState.CANCELED, undefined);
    await this.#close(TaskState.FAILED, failureText(error, this.#source.logger, this.log.taskId));
  }

  /** The server shuts down before the agent returns. */
  async #interrupted(): Promise<void> {
    if (isTerminal(this.log.plannedState)) return this.#settle();
    const recover = this.#turn === undefined ? "restart" : recoveryOf(this.agent, this.#turn);
    if (recover === "fail") {
      // Its delegations left their sub-tasks to another attempt, which will not happen.
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

  /** Ignores a failure if another process ended the task. Rethrows a store failure. */
  #unstorable(failure: unknown): void {
    if (!isEnded(failure)) throw failure;
  }

  #setLease(lease: Lease | null): Promise<boolean> {
    return this.log.setLease(this.#fenced.fence, lease);
  }
}

/** Returns the draft of an event that relays another agent's task, with its checkpoint: both are stored, or neither. */
function relayedDraft(draft: Draft, checkpoint: RelayCheckpoint): Draft {
  return { ...draft, relay: storedCheckpoint(checkpoint) };
}

/** True if an event ends the task. */
function isEnd(event: TaskEvent): boolean {
  return event.kind === "status" && isTerminal(event.state);
}

/** True if an event relays another agent's question. It ends the turn; the answer arrives as a new turn. */
function isQuestionOfOther(event: TaskEvent & Relayed): boolean {
  return event[relayCheckpoint] !== undefined && event.kind === "status" && isInterrupted(event.state);
}

/** True if the turn ended because another agent's question was relayed, not because of a failure. */
function isPause(error: unknown, last: TaskState | undefined): boolean {
  return last !== undefined && isInterrupted(last) && error instanceof TurnPaused;
}

/** True if the log rejected an entry because the task is finished. */
function isEnded(error: unknown): boolean {
  return error instanceof A2AError && error.reason === "UNSUPPORTED_OPERATION";
}
