import { type Message, type Task, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { OutgoingCalls, RelayedEvent } from "../../agent/delegation.js";
import type { TurnRequest } from "../../agent/turn-request.js";
import type { AgentRegistration } from "../../card/agents.js";
import { A2AError } from "../../core/error.js";
import type { Limits } from "../../core/limits.js";
import type { Logger } from "../../core/log.js";
import type { TransientMap } from "../../core/maps.js";
import { NO_HOLDER, type TaskStore } from "../../store/task-store.js";
import { isInterrupted, isTerminal } from "../../task/state.js";
import type { CountedTenant } from "../counted-tenant.js";
import { statusDraft } from "../log/draft.js";
import type { LeaseKeeper } from "../log/lease.js";
import { unavailable } from "../log/outage.js";
import type { TaskLog } from "../log/task-log.js";
import type { TaskLogCache } from "../log/task-log-cache.js";
import { type TaskView, taskViewOf } from "../read/task-handle.js";
import { Execution, type ExecutionSource, type ExecutionStart } from "./execution.js";
import { ExecutionSlots, type Place } from "./execution-slots.js";
import { leaveOthers } from "./relayed.js";
import type { PendingTurn } from "./taskless.js";

/** What the executions of a process need of its engine. */
export interface ExecutionsSource {
  /** What runs in this process, by task. */
  readonly running: TransientMap<Execution>;
  readonly leases: LeaseKeeper;
  readonly logs: TaskLogCache;
  /** The name under which this process has its leases. */
  readonly holder: string;
  readonly limits: Limits;
  readonly counted: CountedTenant;
  readonly logger: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Logs a line for each execution that ends, at `info`. */
  readonly logsEnds: boolean;
  readonly referencedTasks: (turn: TurnRequest) => Promise<Task[]>;
  readonly relayed: (turn: TurnRequest) => Promise<readonly RelayedEvent[]>;
  readonly messageAt: (turn: TurnRequest, position: number) => Promise<Message>;
  readonly store: TaskStore;
  /** How agents call others. Undefined: they cannot. */
  readonly outgoing: OutgoingCalls | undefined;
  /** Claims what is up for a claim now, not in the next round. */
  readonly claimSoon: () => void;
}

/** The executions of this process: begins them, hands them their messages, and clears up behind them. */
export class Executions {
  /** What every execution needs of this engine. */
  readonly source: ExecutionSource;
  /** How many run, and what waits. */
  readonly slots: ExecutionSlots;
  readonly #source: ExecutionsSource;

  constructor(source: ExecutionsSource) {
    const { limits, counted, logger, now, leases, referencedTasks, relayed, messageAt, outgoing, store } = source;
    this.#source = source;
    this.slots = new ExecutionSlots(limits, counted);
    this.source = {
      limits,
      logger,
      now,
      lease: (turn) => leases.lease(turn),
      notBegun: (taskId, after, next) => leases.unheard(taskId, after, next),
      referencedTasks,
      relayed,
      messageAt,
      sending: async (turn, mark) => this.get(turn.keptAs ?? turn.message.taskId)?.sending(turn, mark),
      outgoing,
      store,
      ended: (execution) => this.#ended(execution),
    };
  }

  /** How many tasks have an execution here, running or waiting. */
  get size(): number {
    return this.#source.running.size;
  }

  get(taskId: string): Execution | undefined {
    return this.#source.running.get(taskId);
  }

  has(taskId: string): boolean {
    return this.#source.running.has(taskId);
  }

  /** Whether another process may have the turn of a task in work. */
  mayRunElsewhere({ head: { lease }, fold }: TaskLog): boolean {
    const { store, holder } = this.#source;
    if (!store.shared || lease === null || isInterrupted(fold.state)) return false;
    return lease.holder !== NO_HOLDER && lease.holder !== holder;
  }

  /** The executions of this moment. */
  values(): readonly Execution[] {
    return this.#source.running.values();
  }

  /** Makes the execution of a task under a lease; it runs when it has its first turn, and a place. */
  create(log: TaskLog, served: AgentRegistration, start: ExecutionStart): Execution {
    const execution = new Execution(this.source, log, served.agent, start);
    this.#source.running.set(log.taskId, execution);
    this.#source.leases.begun(log.taskId);
    return execution;
  }

  run(execution: Execution, turn: TurnRequest, started?: PendingTurn): void {
    execution.add(turn, started === undefined ? {} : { started });
    execution.begin(turn.position - 1);
  }

  /**
   * Gives a stored message its turn, if this process has the lease. Behind a turn that another process has in work, or
   * died over, the message waits: the process that has that lease, or claims it, comes to the message.
   *
   * @param place what was kept for an execution, in case that there is none; given back where it is not needed
   */
  queue(log: TaskLog, served: AgentRegistration, turn: TurnRequest, place?: Place): void {
    const { lease, tenant, owner } = log.head;
    const own = lease?.holder === this.#source.holder && lease.turn === turn.position;
    const running = this.get(log.taskId);
    if (running === undefined && own) {
      const begun = lease.attempt < 1 ? this.#source.leases.lease(lease.turn) : undefined;
      // Its execution was cut off while the message was on its way, which is accepted by now: it waits, whatever room there is.
      const taken = place ?? this.slots.enterAccepted(this.slots.of(tenant, owner));
      this.run(this.create(log, served, { lease, begun, place: taken }), turn);
      return;
    }
    if (place !== undefined) this.slots.leave(place);
    if (running !== undefined) running.add(turn, own ? { lease } : {});
    else if (lease?.holder === NO_HOLDER) this.#source.claimSoon();
  }

  #ended(execution: Execution): void {
    const { running, leases, logs, logger, logsEnds } = this.#source;
    const { taskId, plannedState } = execution.log;
    if (running.get(taskId) === execution) running.delete(taskId);
    this.slots.leave(execution.place);
    leases.ended(taskId);
    logs.evict(execution.log);
    if (logsEnds) logger.info({ taskId, state: TaskState[plannedState] }, "an execution ended");
  }
}

/** How often a cancel is tried that an end which was under way kept from being stored. */
const MAX_TRIES = 3;

/**
 * Cancels a task and returns it as it is then: canceled, or ended by its agent within the grace (specification 3.1.5).
 * @param now milliseconds since the epoch
 * @throws A2AError TASK_NOT_CANCELABLE, UNAVAILABLE
 */
export async function cancelTask(log: TaskLog, executions: Executions, now: () => number): Promise<TaskView> {
  const { taskId } = log;
  const shown = log.place.taskId;
  try {
    // Over is what is stored as over.
    if (isTerminal(log.plannedState)) await log.stored();
    if (isTerminal(log.fold.state)) throw notCancelable(shown);
    // Sub-tasks are canceled first: a client whose cancel was cut off by a crash sends it again, and it reaches all of them. An agent at work
    // in another process is not to see that, and to end the task before its client does.
    const isElsewhere = executions.mayRunElsewhere(log);
    if (executions.get(taskId) === undefined && !isElsewhere) await leaveOthers(executions.source, log);
    await executions.get(taskId)?.cancel();
    // An end that is under way may yet be refused, as when its execution has let go of the lease: then this one counts.
    for (let tries = 0; tries < MAX_TRIES && !isTerminal(log.fold.state); tries++) {
      const ends = isTerminal(log.plannedState);
      if (!ends) await log.append(statusDraft(log.place, TaskState.CANCELED, undefined, now()));
      await log.stored();
    }
    if (!isTerminal(log.fold.state)) throw unavailable(undefined);
    // That process may be dead.
    if (isElsewhere && log.fold.state === TaskState.CANCELED) await leaveOthers(executions.source, log);
    return taskViewOf(log);
  } catch (error) {
    // The task was ended between the look and the act.
    if (error instanceof A2AError && error.reason === "UNSUPPORTED_OPERATION") throw notCancelable(shown);
    throw error;
  }
}

function notCancelable(taskId: string): A2AError {
  return new A2AError("TASK_NOT_CANCELABLE", "The task is over and cannot be canceled.", { metadata: { taskId } });
}
