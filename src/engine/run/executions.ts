import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { OutgoingCalls } from "../../agent/delegation.js";
import type { TurnRequest } from "../../agent/turn-request.js";
import type { AgentRegistration } from "../../card/agents.js";
import type { Limits } from "../../core/limits.js";
import { CauseLogger, type LogCause, type Logger, logFacts } from "../../core/log.js";
import type { TransientMap } from "../../core/maps.js";
import type { SignalMember } from "../../signals/signals.js";
import { NO_HOLDER, type TaskStore } from "../../store/task-store.js";
import { isInterrupted } from "../../task/state.js";
import type { Metrics } from "../../telemetry/metrics.js";
import type { Tracing } from "../../telemetry/tracing.js";
import type { LeaseKeeper } from "../log/lease-keeper.js";
import { isOutage, readForAgent } from "../log/outage.js";
import type { TaskLog } from "../log/task-log.js";
import type { TaskLogCache } from "../log/task-log-cache.js";
import type { QuotaScope } from "../quota-scope.js";
import type { Tasks } from "../read/tasks.js";
import { logLate } from "./agent-end.js";
import { Execution } from "./execution.js";
import { type ExecutionSlot, ExecutionSlots } from "./execution-slots.js";
import type { ExecutionSource, ExecutionStart } from "./execution-source.js";
import type { PendingTurn } from "./first-event.js";
import { contextBefore, messageAt, questionBefore, relayedBefore } from "./relayed.js";
import { AgentConversation } from "./turn-conversation.js";

export interface ExecutionsSource {
  /** The executions of this process, by task. */
  readonly running: TransientMap<Execution>;
  readonly leases: LeaseKeeper;
  readonly logs: TaskLogCache;
  /** The name under which this process holds its leases. */
  readonly holder: string;
  readonly signals: SignalMember | undefined;
  readonly limits: Limits;
  readonly quotaScope: QuotaScope;
  readonly logger: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Logs a line at `info` for each execution that ends. */
  readonly logsEnds: boolean;
  readonly store: TaskStore;
  readonly tasks: Pick<Tasks, "referenced" | "relays" | "conversation">;
  readonly metrics: Metrics | undefined;
  /** Calls of agents to other agents. Undefined if disabled. */
  readonly outgoing: OutgoingCalls | undefined;
  /** Creates spans of turns. Undefined to create none. */
  readonly tracing: Tracing | undefined;
  /** Claims released leases now rather than in the next round. */
  readonly claimSoon: () => void;
}

/** The executions of this process: starts them, queues their messages, and cleans up after them. */
export class Executions {
  readonly source: ExecutionSource;
  readonly slots: ExecutionSlots;
  readonly #source: ExecutionsSource;

  constructor(source: ExecutionsSource) {
    const { limits, quotaScope, logger, now, leases, logs, outgoing, tracing, store, tasks, metrics } = source;
    this.#source = source;
    this.slots = new ExecutionSlots(limits, quotaScope, source.signals);
    this.source = {
      limits,
      logger,
      now,
      lease: (turn) => leases.lease(turn),
      interrupted: (log, next, error) => {
        const isAway = isOutage(error) && !log.isAnsweredMeanwhile;
        leases.noteInterrupted(log.taskId, { after: log.turns.current, next, isOutage: isAway });
      },
      referencedTasks: (turn) => tasks.referenced(turn, this.#causeOf(turn)),
      relayed: (turn, signal) => readForAgent(() => relayedBefore(store, logs.get(turn.taskId), turn), signal),
      contextBefore: (turn, { agent, delegation, signal }) =>
        readForAgent(() => contextBefore({ store, tasks }, turn, agent, delegation), signal),
      messageAt: (turn, position, signal) => readForAgent(() => messageAt(store, turn, position), signal),
      isOutage,
      question: (turn) => questionBefore(store, turn),
      conversation: (turn, progress) => {
        const log = (): TaskLog | undefined => logs.get(turn.taskId);
        return new AgentConversation(
          { store, reads: tasks.conversation(turn, this.#causeOf(turn)), log, progress },
          turn,
        );
      },
      sending: async (turn, checkpoint) => this.get(turn.taskId)?.sending(turn, checkpoint),
      late: (turn, event) => logLate(event, new CauseLogger(logger, turn)),
      outgoing,
      tracing,
      store,
      metrics,
      ended: (execution) => this.#ended(execution),
    };
  }

  /** Number of tasks with an execution here, running or queued. */
  get size(): number {
    return this.#source.running.size;
  }

  /** Returns the cause of log lines about a turn. A direct reply has no execution, which knows the agent's name. */
  #causeOf(turn: TurnRequest): LogCause {
    return this.get(turn.taskId)?.cause ?? turn;
  }

  get(taskId: string): Execution | undefined {
    return this.#source.running.get(taskId);
  }

  has(taskId: string): boolean {
    return this.#source.running.has(taskId);
  }

  get signals(): SignalMember | undefined {
    return this.#source.signals;
  }

  /** True if another process may be running the task's turn. */
  mayRunElsewhere(log: TaskLog): boolean {
    return !isInterrupted(log.fold.state) && this.holderElsewhere(log) !== undefined;
  }

  /** The other process that has the task's lease. */
  holderElsewhere({ head: { lease } }: TaskLog): string | undefined {
    const { store, holder } = this.#source;
    if (!store.shared || lease === null || lease.holder === NO_HOLDER || lease.holder === holder) return undefined;
    return lease.holder;
  }

  values(): readonly Execution[] {
    return this.#source.running.values();
  }

  /** Creates the execution of a task under a lease. It runs when it has its first turn and a slot. */
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
   * Queues a stored message's turn if this process has the lease. If another process is running a turn, or died in one,
   * the message waits: the process that holds or claims that lease reaches it.
   *
   * @param slot the slot reserved for a new execution; released if it is not needed
   */
  queue(log: TaskLog, served: AgentRegistration, turn: TurnRequest, slot?: ExecutionSlot): void {
    const { lease, tenant, owner } = log.head;
    const own = lease?.holder === this.#source.holder && lease.turn === turn.position;
    const running = this.get(log.taskId);
    if (running === undefined && own) {
      const begun = lease.attempt < 1 ? this.#source.leases.lease(lease.turn) : undefined;
      // The execution was interrupted while the accepted message was in flight: it is queued even if the queue is full.
      const taken = slot ?? this.slots.enterAccepted(this.slots.of(tenant, owner));
      this.run(this.create(log, served, { lease, begun, slot: taken }), turn);
      return;
    }
    if (slot !== undefined) this.slots.detach(slot);
    if (running !== undefined) running.add(turn, own ? { lease } : {});
    else if (lease?.holder === NO_HOLDER) this.#source.claimSoon();
  }

  #ended(execution: Parameters<ExecutionSource["ended"]>[0]): void {
    const { running, leases, logs, logger, logsEnds, metrics } = this.#source;
    const { taskId, plannedState } = execution.log;
    if (running.get(taskId) === execution) running.delete(taskId);
    this.slots.detach(execution.slot);
    leases.ended(taskId);
    logs.evict(execution.log);
    if (logsEnds) logger.info({ ...logFacts(execution.cause), state: TaskState[plannedState] }, "an execution ended");
    if (metrics === undefined) return;
    metrics.executions.add(metrics.executions.sets.at(TaskState[plannedState]?.toLowerCase()));
    metrics.executionDuration.observe((performance.now() - execution.slot.began) / 1_000);
  }
}
