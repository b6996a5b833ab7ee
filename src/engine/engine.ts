import type { OutgoingCalls } from "../agent/delegation.js";
import type { AgentRegistration } from "../card/agents.js";
import { within } from "../core/async.js";
import { yieldToEventLoop } from "../core/event-loop.js";
import { newId } from "../core/ids.js";
import { defaultLimits, type Limits } from "../core/limits.js";
import { guardedLogger, type LogCause, type Logger, silentLogger } from "../core/log.js";
import { TransientMap } from "../core/maps.js";
import type { SignalMember, Signals } from "../signals/signals.js";
import type { ListRequest, TaskStore } from "../store/task-store.js";
import type { View } from "../task/fold.js";
import type { Scope, TaskNames } from "../task/task-names.js";
import type { Metrics } from "../telemetry/metrics.js";
import type { Tracing } from "../telemetry/tracing.js";
import { TaskControl } from "./control.js";
import { StoreAnswers } from "./log/hooks.js";
import { LeaseKeeper } from "./log/lease-keeper.js";
import { PushConfigs } from "./push-configs.js";
import { type EnginePushes, Pushes } from "./pushes.js";
import { quotaScopeFor } from "./quota-scope.js";
import type { TaskHandle, TaskView } from "./read/task-handle.js";
import type { TaskPage } from "./read/task-reader.js";
import { Tasks } from "./read/tasks.js";
import { answerCancels, cancelTask } from "./run/cancel.js";
import type { Execution } from "./run/execution.js";
import { Executions } from "./run/executions.js";
import { ClockWatch, Maintenance } from "./run/maintenance.js";
import { Sender } from "./send/send.js";
import type { SendCommand, SendResult } from "./send/send-command.js";
import { DirectCalls, Shutdown, shuttingDown } from "./shutdown.js";

export type { Scope } from "../task/task-names.js";
export type { EnginePushes, EntriesRequest } from "./pushes.js";
export type { SendCommand, SendResult } from "./send/send-command.js";

export interface EngineOptions {
  readonly store: TaskStore;
  /** Signals to and from other processes. Default: those of the store, if it has any. */
  readonly signals?: Signals | undefined;
  /** Returns the agent of a tenant. Used for tasks whose process crashed. */
  readonly agentOf: (tenant: string) => AgentRegistration | undefined;
  readonly limits?: Limits;
  /**
   * True if callers may name any tenant: an owner's limits are then counted across all tenants. Default false: per
   * tenant.
   */
  readonly openTenants?: boolean;
  readonly logger?: Logger;
  /** Tasks of a crashed process are taken over after this time, in milliseconds. Default 15 seconds. */
  readonly leaseMs?: number;
  /** Maximum number of times that one turn is rerun after crashes before its task fails. Default 3. */
  readonly maxRestarts?: number;
  /** Names that clients choose for tasks. Default: none. */
  readonly names?: TaskNames;
  /** Retention of finished tasks, in milliseconds. Default: unlimited. */
  readonly retentionMs?: number;
  /** Calls of agents to other agents. Default: agents cannot call others. */
  readonly outgoing?: OutgoingCalls;
  /** Logs a line at `info` for each execution that ends. Default false. */
  readonly logsEnds?: boolean;
  /** Creates spans of turns. Default: none. */
  readonly tracing?: Tracing;
  /** Counts executions, appends and readers. Default: nothing is counted. */
  readonly metrics?: Metrics | undefined;
  /** Milliseconds since the epoch. Default: the system's clock. */
  readonly now?: () => number;
}

interface ExecutionView {
  readonly taskId: string;
  /** True while its agent runs, false while it waits for a slot. */
  readonly isRunning: boolean;
  /** When it began or was queued, in milliseconds since the epoch. */
  readonly since: number;
}

/**
 * Accepts messages into tasks, runs agents on them and lets calls read the results. The engine is independent of
 * protocol and wire formats. This class is the facade; the implementation is in the files beside it.
 */
export class Engine {
  /** Open calls whose agent runs before a task exists. */
  readonly directCalls: DirectCalls = new DirectCalls();
  /** Creates and reads push notification configurations. */
  readonly pushConfigs: PushConfigs;
  /** The engine's interface for operators. */
  readonly control: TaskControl;
  /** The engine's interface for push delivery. */
  readonly pushes: EnginePushes;
  /** Signals to and from other processes, until the engine ends. Undefined on a store of one process. */
  readonly signals: SignalMember | undefined;
  readonly #limits: Limits;
  readonly #shutdown = new Shutdown();
  readonly #tasks: Tasks;
  readonly #executions: Executions;
  readonly #leases: LeaseKeeper;
  readonly #sender: Sender;
  readonly #maintenance: Maintenance;

  constructor(options: EngineOptions) {
    const { store, agentOf, names, metrics, tracing, leaseMs = 15_000 } = options;
    const limits = options.limits ?? defaultLimits;
    const logger = guardedLogger(options.logger ?? silentLogger);
    const now = options.now ?? Date.now;
    // An injected clock is not checked for jumps.
    const watch = options.now === undefined ? new ClockWatch(logger) : undefined;
    const holder = newId();
    const quotaScope = quotaScopeFor(options.openTenants === true);
    const signals = joinSignals(options, holder, logger);
    this.signals = signals;
    const committed = signals && ((taskId: string): void => signals.changed(taskId));
    const running = new TransientMap<Execution>();
    const shutdown = this.#shutdown;
    const pushed = (taskId: string): void => this.pushes.notify(taskId);
    const { maxOutgoingBytesPerCaller: maxKeptBytes } = limits;
    const answers = new StoreAnswers();
    const hooks = { pushed, committed, writer: holder, metrics, answers };
    const tasks = new Tasks({ store, names, logger, shutdown, maxKeptBytes, ...hooks });
    const { logs } = tasks;
    const leases = new LeaseKeeper({
      ...{ store, holder, leaseMs, logger, answers },
      maxStallMs: limits.maxStallMs,
      executions: running,
      writing: (taskId) => logs.get(taskId)?.quiet === false,
      recover: (...interrupted) => this.#maintenance.recover(...interrupted),
      resumeSoon: () => this.#maintenance.resumeSoon(),
    });
    const isSteady = (): boolean => watch?.isSteady ?? true;
    this.pushConfigs = new PushConfigs({ store, tasks, quotaScope, now, notify: pushed });
    this.pushes = new Pushes({ store, holder, leaseMs, leases, logs, isSteady });
    const shared = { store, logs, leases, logger, now, tracing, signals };
    const { logsEnds = false, outgoing } = options;
    const executions = new Executions({
      ...{ ...shared, running, holder, limits, quotaScope, logsEnds, tasks, metrics, outgoing },
      claimSoon: () => this.#maintenance.claimSoon(),
    });
    this.control = new TaskControl({ store, holder, tasks, executions, shutdown, limits, now });
    this.#limits = limits;
    this.#tasks = tasks;
    this.#leases = leases;
    this.#executions = executions;
    const sending = { store, names, tasks, executions, leases, limits, quotaScope, logger, now, shutdown, metrics };
    this.#sender = new Sender(sending);
    this.#maintenance = new Maintenance({
      ...shared,
      executions,
      leaseMs,
      retentionMs: options.retentionMs,
      maxInterruptedMs: limits.maxInterruptedMs,
      maxRestarts: options.maxRestarts ?? 3,
      agentOf,
      isSteady,
    });
    if (signals !== undefined) answerCancels(signals, executions, this.#maintenance.noteTrouble);
    // Waiting calls check again whether they should keep waiting.
    store.health.onChange(() => this.#wakeAll());
    store.history?.onMove(() => reloadAll({ tasks, executions, leases, logger }));
  }

  /**
   * Resolves when the engine is ready. Tasks of a crashed process are recovered in the background. Until then they keep
   * their stored state, and messages to them wait for their turn.
   */
  start(): Promise<void> {
    return this.#maintenance.start();
  }

  get executions(): number {
    return this.#executions.size;
  }

  /** Resolves when all tasks that were interrupted before the start are settled or running. */
  get recovered(): Promise<void> {
    return this.#maintenance.recovered;
  }

  get running(): number {
    return this.#executions.values().filter(({ slot }) => slot.isHeld).length;
  }

  /** The executions of this process, running and waiting, in any order. */
  executionViews(): ExecutionView[] {
    const all = this.#executions.values();
    const passed = performance.now();
    const now = Date.now();
    return all.map(({ log, slot }) => ({
      taskId: log.taskId,
      isRunning: slot.isHeld,
      since: now - (passed - slot.began),
    }));
  }

  /** Name under which this process holds leases. */
  get holder(): string {
    return this.pushes.holder;
  }

  /** Number of entries that the slowest open reader is behind; 0 without metrics. */
  get readerLag(): number {
    return this.#tasks.readerLag;
  }

  /** Number of tasks and direct replies that wait for a slot. */
  get queued(): number {
    return this.#executions.slots.waiting;
  }

  /**
   * Takes over the tasks of ended processes at once, by their names as holders. Pass only processes whose parent has
   * seen them exit: the tasks of a live process would run twice until its next append.
   */
  takeOver(holders: readonly string[]): void {
    this.#leases.noteEnded(holders);
    this.#maintenance.claimSoon();
  }

  /**
   * Shuts down in order: streams end with an error that invites clients to resume, and running work gets `graceMs`.
   * Work that is still running then is stopped and recovered as its agent specifies. The store stays open.
   */
  async drain(graceMs: number): Promise<void> {
    this.#shutdown.drain();
    this.#wakeAll();
    await this.#maintenance.stop();
    // Direct calls are registered one event-loop tick after they begin.
    await yieldToEventLoop();
    // Queued executions are left to the next process.
    this.#executions.slots.stop();
    const all = this.#executions.values();
    const waiting = all.filter(({ slot }) => !slot.isHeld).map((execution) => execution.shutdown(0));
    await within(graceMs, Promise.all([this.#idle(), Promise.allSettled(waiting)]));
    this.#shutdown.close();
    this.#wakeAll();
    this.directCalls.stop();
    const grace = Math.min(1_000, this.#limits.cancelGraceMs);
    const stopped = this.#executions.values().map((execution) => execution.shutdown(grace));
    await Promise.allSettled([within(grace, Promise.resolve(this.directCalls.none())), ...stopped]);
    this.directCalls.refuse(shuttingDown);
    await this.#leases.releaseUnstarted().catch(this.#maintenance.noteTrouble);
    this.#maintenance.end();
  }

  /**
   * Resolves when no call waits for an agent and no agent works. A call that began before the drain may still create a
   * task.
   */
  async #idle(): Promise<void> {
    for (;;) {
      const running = this.#executions.values().flatMap(({ slot, done }) => (slot.isHeld ? done : []));
      const open = [this.directCalls.none(), this.#shutdown.settled(), ...running];
      if (open.every((each) => each === undefined)) return;
      await Promise.all(open);
      // A call continues in later event-loop turns after its agent or the store has answered.
      await yieldToEventLoop();
    }
  }

  /**
   * Stops immediately when `drain` cannot finish because the store does not respond. Stores and starts nothing more.
   * @returns the number of executions left for the process that claims them
   */
  abandon(): number {
    this.#shutdown.close();
    this.#maintenance.end();
    this.directCalls.stop();
    this.directCalls.refuse(shuttingDown);
    const running = this.#executions.values();
    for (const execution of running) execution.abandon("shutdown");
    return running.length;
  }

  /**
   * Accepts a message. Resolves with a direct reply or with a task that is already stored.
   * @throws A2AError TASK_NOT_FOUND, UNSUPPORTED_OPERATION (the task is finished), INVALID_PARAMS (contexts differ),
   * IDEMPOTENCY_KEY_REUSED, GENERATION_MISMATCH, TOO_MANY_REQUESTS (too many messages wait), UNAVAILABLE
   */
  send(command: SendCommand): Promise<SendResult> {
    return this.#sender.send(command);
  }

  /** Opens a task that the scope may see, to follow it. The caller releases it. @throws A2AError TASK_NOT_FOUND */
  open(scope: Scope, taskId: string): Promise<TaskHandle> {
    return this.#tasks.open(scope, taskId);
  }

  /** Returns the current task and its generation. @throws A2AError TASK_NOT_FOUND */
  get(scope: Scope, taskId: string, view?: View): Promise<TaskView> {
    return this.#tasks.get(scope, taskId, view);
  }

  /**
   * Returns a page of the scope's tasks, newest status first (specification 3.1.4).
   * @param cause of the log lines about tasks that are left out
   */
  list(request: ListRequest, view: View, cause: LogCause = {}): Promise<TaskPage> {
    return this.#tasks.list(request, view, cause);
  }

  /**
   * Cancels a task and returns it: canceled, or ended by its agent within the grace period (specification 3.1.5).
   * @param traceParent of the client's call
   * @throws A2AError TASK_NOT_FOUND, TASK_NOT_CANCELABLE, UNAVAILABLE
   */
  async cancel(scope: Scope, taskId: string, traceParent = ""): Promise<TaskView> {
    const log = await this.#tasks.acquire(scope, taskId);
    try {
      return await cancelTask(log, this.#executions, traceParent);
    } finally {
      this.#tasks.logs.release(log);
    }
  }

  #wakeAll(): void {
    for (const log of this.#tasks.logs.all()) log.wake();
  }
}

/** Joins the signals of a store that other processes may have open. */
function joinSignals({ store, signals }: EngineOptions, holder: string, logger: Logger): SignalMember | undefined {
  if (store.shared) return (signals ?? store.signals)?.join(holder);
  if (signals !== undefined) logger.warn({}, "signals are not used: no other process can have the store open");
  return undefined;
}

interface Moving {
  readonly tasks: Tasks;
  readonly executions: Executions;
  readonly leases: LeaseKeeper;
  readonly logger: Logger;
}

/** Compares the tasks in memory with those of the server to which the store has moved. @throws StoreError */
async function reloadAll({ tasks, executions, leases, logger }: Moving): Promise<void> {
  let lost = 0;
  const compared = await tasks.reloadLogs((log) => {
    lost++;
    const execution = executions.get(log.taskId);
    if (execution === undefined) return;
    // If the lease is stored, the task is recovered from its stored entries as soon as the store takes writes.
    leases.noteInterrupted(log.taskId, { after: log.turns.current, isOutage: true });
    execution.abandon("lease-lost");
  });
  logger.warn({ compared, lost }, "tasks were reloaded from another server of the store");
}

/** Creates an engine over a store. Call `start` before use. */
export function createEngine(options: EngineOptions): Engine {
  return new Engine(options);
}
