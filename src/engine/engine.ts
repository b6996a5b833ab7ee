import { create } from "@bufbuild/protobuf";
import {
  type Message,
  MessageSchema,
  type SendMessageRequest,
  type Task,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Client } from "../agent/abort.js";
import type { TurnRequest } from "../agent/turn.js";
import type { AgentRegistration } from "../card/agents.js";
import type { Caller } from "../core/caller.js";
import { A2AError, invalid, taskNotFound } from "../core/error.js";
import { newId } from "../core/ids.js";
import { defaultLimits, type Limits } from "../core/limits.js";
import { guardedLogger, type Logger, silentLogger } from "../core/log.js";
import { TransientMap } from "../core/transient.js";
import { within } from "../core/within.js";
import {
  type IdempotencyKey,
  type IdempotencyRecord,
  type Lease,
  type ListRequest,
  nobody,
  StoreError,
  type TaskHead,
  type TaskStore,
} from "../store/task-store.js";
import { type TaskFold, type View, viewTask } from "../task/fold.js";
import { isTerminal } from "../task/state.js";
import type { CursorSource } from "./cursor/reader.js";
import { createdDraft, messageDraft, statusDraft } from "./draft.js";
import { IdempotentSends, keyReused } from "./idempotent-sends.js";
import { giveUpInterrupted } from "./interrupted.js";
import { LeaseKeeper } from "./lease.js";
import { Maintenance } from "./maintenance.js";
import { isOutage, logTrouble, unavailable } from "./outage.js";
import { recoverTask } from "./recovery.js";
import { Execution, type PendingTurn, type RunnerSource } from "./runner.js";
import { TaskHandle, type TaskView, taskViewOf } from "./task-handle.js";
import type { TaskLog } from "./task-log.js";
import { TaskLogCache } from "./task-log-cache.js";
import { type TaskPage, TaskReader } from "./task-reader.js";
import { askToAccept, directReply, firstEvent, giveUp, isReply } from "./taskless.js";

/** What an engine is made of. */
export interface EngineOptions {
  readonly store: TaskStore;
  /** The agent of a tenant, for tasks that a crash left behind. */
  readonly agentOf: (tenant: string) => AgentRegistration | undefined;
  readonly limits?: Limits;
  readonly logger?: Logger;
  /** A crashed process's tasks are taken over after this time, in milliseconds. Default 15 seconds. */
  readonly leaseMs?: number;
  /** How often one turn is run again after crashes before its task fails. Default 3. */
  readonly maxRestarts?: number;
  /** How long finished tasks are kept, in milliseconds. Default: for ever. */
  readonly retentionMs?: number;
  /** Logs a line for each execution that ends, at `info`. Default false. */
  readonly logsEnds?: boolean;
  /** Milliseconds since the epoch. Default: the system's clock. */
  readonly now?: () => number;
}

/** Whose tasks a call may see. Everything else does not exist for it (specification 13.1). */
export interface Scope {
  readonly tenant: string;
  readonly owner: string;
}

/** One message to be sent, with what the interceptors found out about its call. */
export interface SendCommand {
  readonly served: AgentRegistration;
  readonly request: SendMessageRequest;
  readonly caller: Caller;
  readonly tenant: string;
  readonly extensions: ReadonlySet<string>;
  readonly traceParent: string;
  /** Its signal fires when the client is gone: a direct answer is then not worth finishing. */
  readonly client: Client;
  /** What the caller wants to see of the task as of the accepted message, for a stream; undefined for nothing. */
  readonly capture?: View | undefined;
  /** Key and fingerprint under which the send is remembered. */
  readonly idempotency?: { readonly key: string; readonly fingerprint: string } | undefined;
  /** Refuses the send unless its task is at this generation. */
  readonly ifGeneration?: number | undefined;
}

/** What became of a message: a direct answer, or a task that goes on. */
export type SendResult =
  | { readonly kind: "message"; readonly message: Message }
  | { readonly kind: "task"; readonly task: TaskHandle };

/**
 * The engine: it accepts messages into tasks, runs agents on them, and lets calls read what happens. Protocol and
 * wire know nothing of it; it knows nothing of them.
 */
export class Engine {
  readonly #options: EngineOptions;
  readonly #store: TaskStore;
  readonly #limits: Limits;
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #holder = newId();
  readonly #taskLogs: TaskLogCache;
  readonly #tasks: TaskReader;
  readonly #executions = new TransientMap<Execution>();
  readonly #keyed = new IdempotentSends();
  readonly #leases: LeaseKeeper;
  readonly #maintenance: Maintenance;
  /** What every execution needs of this engine. */
  readonly #runner: RunnerSource;
  #draining = false;
  #closing = false;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#limits = options.limits ?? defaultLimits;
    this.#logger = guardedLogger(options.logger ?? silentLogger);
    this.#now = options.now ?? Date.now;
    const leaseMs = options.leaseMs ?? 15_000;
    this.#taskLogs = new TaskLogCache(options.store, (log) => this.#tasks.keepLarge(log));
    this.#tasks = new TaskReader({
      store: options.store,
      logger: this.#logger,
      live: (taskId, position) => this.#live(taskId, position),
      caughtUp: (taskId, position) => this.#caughtUp(taskId, position),
      maxPageBytes: this.#limits.maxPageBytes,
    });
    this.#leases = new LeaseKeeper({
      store: options.store,
      holder: this.#holder,
      leaseMs,
      maxStallMs: this.#limits.maxStallMs,
      maxRecovered: this.#limits.maxRecovered,
      logger: this.#logger,
      executions: this.#executions,
      writing: (taskId) => this.#taskLogs.get(taskId)?.quiet === false,
      recover: (taskId, lease) => this.#recover(taskId, lease),
    });
    this.#runner = this.#makeRunner();
    // Whoever waits looks again whether there is still something to wait for.
    options.store.health.onChange(() => {
      for (const log of this.#taskLogs.all()) log.wake();
    });
    this.#maintenance = new Maintenance({
      store: options.store,
      leases: this.#leases,
      leaseMs,
      retentionMs: options.retentionMs,
      maxInterruptedMs: this.#limits.maxInterruptedMs,
      giveUp: (head) => this.#giveUp(head),
      logger: this.#logger,
      now: this.#now,
      refresh: () => this.#refresh(),
    });
  }

  /**
   * Is ready when this resolves. What a crash left behind is taken over in the background: until then it is as it was
   * left, and messages to it wait for their turn.
   */
  start(): Promise<void> {
    return this.#maintenance.start();
  }

  /** Executions that live in this process. */
  get executions(): number {
    return this.#executions.size;
  }

  /** Resolves when all that was cut off at the start is in order, or runs. */
  get recovered(): Promise<void> {
    return this.#maintenance.recovered;
  }

  /** How many agents are at work for a task. */
  get running(): number {
    return this.#executions.size;
  }

  /**
   * Ends everything in order: streams end with an invitation to resume, running work gets `graceMs`, what is not
   * done then is stopped and recovered as its agent says. The store is not closed.
   */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    for (const log of this.#taskLogs.all()) log.wake();
    await this.#maintenance.stop();
    const running = this.#executions.values();
    await within(graceMs, Promise.all(running.map((execution) => execution.done)));
    this.#closing = true;
    for (const log of this.#taskLogs.all()) log.wake();
    const grace = Math.min(1_000, this.#limits.cancelGraceMs);
    await Promise.allSettled(this.#executions.values().map((execution) => execution.shutdown(grace)));
    await this.#leases.leave().catch(this.#noteTrouble);
    this.#maintenance.end();
  }

  /**
   * Ends at once what `drain` could not, because the store does not answer: nothing more is stored or begun.
   * @returns how many executions are left for whoever claims them
   */
  abandon(): number {
    this.#draining = true;
    this.#closing = true;
    this.#maintenance.end();
    const running = this.#executions.values();
    for (const execution of running) execution.abandon("shutdown");
    return running.length;
  }

  /**
   * Accepts a message: the answer of an agent that needs no task, or a task that was stored before this resolves.
   * @throws A2AError TASK_NOT_FOUND, UNSUPPORTED_OPERATION (the task is over), INVALID_PARAMS (contexts differ),
   * IDEMPOTENCY_KEY_REUSED, GENERATION_MISMATCH, TOO_MANY_REQUESTS (too many messages wait), UNAVAILABLE
   */
  async send(order: SendCommand): Promise<SendResult> {
    if (this.#draining) throw shuttingDown();
    const { idempotency, tenant, caller } = order;
    if (idempotency === undefined) return this.#send(order);
    const key = JSON.stringify([tenant, caller.owner, idempotency.key]);
    return this.#keyed.once(key, order, async () => {
      const known = await this.#remembered(order);
      return known === undefined ? this.#send(order) : { kind: "task", task: await this.#hold(order, known) };
    });
  }

  async #send(order: SendCommand): Promise<SendResult> {
    const message = order.request.message ?? create(MessageSchema);
    if (message.taskId !== "") return { kind: "task", task: await this.#followUp(order, message) };
    const kind = order.served.agent.responds ?? "task";
    if (order.ifGeneration !== undefined) {
      throw invalid([
        { field: "message.taskId", description: "a generation can be expected of an existing task only" },
      ]);
    }
    if (order.served.agent.accept !== undefined) await this.#ask(order, message);
    const taskId = kind === "message" ? "" : newId();
    const turn = this.#turnOf(order, { ...message, taskId, contextId: message.contextId || newId() });
    if (kind === "task") return { kind: "task", task: await this.#create(order, turn) };
    const started = await firstEvent(this.#directSource(order, turn));
    if (kind === "message" || isReply(started)) {
      return { kind: "message", message: await directReply(started, turn.message.contextId, this.#runner) };
    }
    if (started.refusal !== undefined) throw started.refusal;
    started.aborter.unfollow();
    if (this.#draining) {
      void giveUp(started, this.#logger);
      throw shuttingDown();
    }
    return { kind: "task", task: await this.#create(order, turn, started) };
  }

  /** Lets the agent refuse a message that nothing was stored of. @throws A2AError what it refuses with */
  async #ask(order: SendCommand, message: Message, task?: () => Task): Promise<void> {
    await askToAccept(this.#directSource(order, this.#turnOf(order, message)), this.#logger, task);
    if (this.#draining) throw shuttingDown();
  }

  /** Takes hold of a task that the scope may see. @throws A2AError TASK_NOT_FOUND */
  async open(scope: Scope, taskId: string): Promise<TaskHandle> {
    const log = await this.#take(scope, taskId);
    // No message of this call is to be answered.
    return this.#held(log, Number.POSITIVE_INFINITY);
  }

  /** A task as it stands, with its generation. @throws A2AError TASK_NOT_FOUND */
  async get(scope: Scope, taskId: string, view?: View): Promise<TaskView> {
    return taskViewOf(await this.#visible(scope, taskId), view);
  }

  /** A task that the scope may see, to be looked at and copied. @throws A2AError TASK_NOT_FOUND */
  async #visible(scope: Scope, taskId: string): Promise<{ readonly fold: TaskFold }> {
    const found = await this.#tasks.get(taskId).catch((error: unknown) => Promise.reject(this.#trouble(error)));
    if (found === undefined || found.fold.position === 0 || !isOf(found.head, scope)) throw taskNotFound(taskId);
    return found;
  }

  /** A page of the scope's tasks, newest status first (specification 3.1.4). */
  list(request: ListRequest, view: View): Promise<TaskPage> {
    return this.#tasks.list(request, view).catch((error: unknown) => Promise.reject(this.#trouble(error)));
  }

  /**
   * Cancels a task and returns it as it is then: canceled, or ended by its agent within the grace (specification
   * 3.1.5). @throws A2AError TASK_NOT_FOUND, TASK_NOT_CANCELABLE, UNAVAILABLE
   */
  async cancel(scope: Scope, taskId: string): Promise<TaskView> {
    const log = await this.#take(scope, taskId);
    try {
      // Over is what is stored as over.
      if (isTerminal(log.plannedState)) await log.stored();
      if (isTerminal(log.fold.state)) throw notCancelable(taskId);
      const execution = this.#executions.get(taskId);
      if (execution !== undefined) await execution.cancel();
      // An end that is under way may yet be refused, as when its execution has let go of the lease: then this one counts.
      for (let tries = 0; tries < 3 && !isTerminal(log.fold.state); tries++) {
        const place = { taskId, contextId: log.head.contextId };
        const ends = isTerminal(log.plannedState);
        if (!ends) await log.append(statusDraft(place, TaskState.CANCELED, undefined, this.#now()));
        await log.stored();
      }
      if (!isTerminal(log.fold.state)) throw unavailable(undefined);
      return taskViewOf(log);
    } catch (error) {
      // Somebody else ended it between the look and the act.
      if (error instanceof A2AError && error.reason === "UNSUPPORTED_OPERATION") throw notCancelable(taskId);
      throw error;
    } finally {
      this.#taskLogs.release(log);
    }
  }

  /** A task in memory, unless it is behind a position that the store has: its commit is told of a moment later. */
  #live(taskId: string, position: number): TaskLog | undefined {
    const log = this.#store.shared ? undefined : this.#taskLogs.get(taskId);
    return log !== undefined && !log.uncertain && log.fold.position >= position ? log : undefined;
  }

  /** A task in memory that is behind a position, once it is there: a large one is not read for so short a time. */
  async #caughtUp(taskId: string, position: number): Promise<TaskLog | undefined> {
    const log = this.#store.health.status.healthy ? this.#taskLogs.get(taskId) : undefined;
    if (log === undefined || !(await log.caughtUp(position))) return undefined;
    return this.#live(taskId, position);
  }

  async #take(scope: Scope, taskId: string): Promise<TaskLog> {
    let log: TaskLog | undefined;
    try {
      log = await this.#taskLogs.acquire(taskId);
      if (log === undefined) throw taskNotFound(taskId);
      // Somebody may have read in the store what this process has not been told of yet.
      if (log.fold.position === 0) await Promise.race([log.stored(), log.changed()]);
      else if (this.#store.shared || log.uncertain) await log.refresh();
      // A log without a stored entry belongs to a task that nobody was told of yet.
      if (log.fold.position > 0 && isOf(log.head, scope)) return log;
      throw taskNotFound(taskId);
    } catch (error) {
      if (log !== undefined) this.#taskLogs.release(log);
      throw this.#trouble(error);
    }
  }

  #held(log: TaskLog, since: number, accepted?: TaskView): TaskHandle {
    const draining = (): boolean => this.#draining;
    const closing = (): boolean => this.#closing;
    const source: CursorSource = { log, draining, closing, outage: this.#outage };
    return new TaskHandle(source, since, accepted, () => this.#taskLogs.release(log));
  }

  async #create(order: SendCommand, turn: TurnRequest, started?: PendingTurn): Promise<TaskHandle> {
    const now = this.#now();
    const log = this.#taskLogs.create({
      taskId: turn.message.taskId,
      tenant: order.tenant,
      owner: order.caller.owner,
      contextId: turn.message.contextId,
      state: TaskState.UNSPECIFIED,
      statusTime: now,
      position: 0,
      generation: 0,
      lease: null,
    });
    const execution = this.#execution(log, order.served, this.#leases.lease(1));
    // The agent that decided for a task has said something already: it goes into the same commit. Under a key it does
    // not go on before the store has said that this is the key's task.
    const runs = started !== undefined && order.idempotency === undefined;
    try {
      const accepting = this.#accept(log, createdDraft(turn, now), order);
      if (runs) this.#run(execution, turn, started);
      const held = await accepting;
      if (!runs) this.#run(execution, turn, started);
      return held;
    } catch (error) {
      execution.abandon("canceled");
      if (!runs && started !== undefined) void giveUp(started, this.#logger);
      if (started === undefined && isOutage(error)) this.#leases.unheard(log.taskId, 0);
      this.#taskLogs.release(log);
      return this.#repeated(order, error);
    }
  }

  async #followUp(order: SendCommand, message: Message): Promise<TaskHandle> {
    const log = await this.#take({ tenant: order.tenant, owner: order.caller.owner }, message.taskId);
    try {
      if (isTerminal(log.plannedState)) await log.stored();
      const { contextId } = log.head;
      if (message.contextId !== "" && message.contextId !== contextId) {
        throw invalid([{ field: "message.contextId", description: "differs from the context of the task" }]);
      }
      if (order.served.agent.accept !== undefined && !isTerminal(log.plannedState)) {
        await this.#ask(order, message, () => viewTask(log.fold.task));
      }
      const turn = this.#turnOf(order, { ...message, contextId });
      return await this.#accept(log, messageDraft(turn, this.#now()), order, turn);
    } catch (error) {
      // An execution that lives here finds the message by itself.
      if (isOutage(error) && !this.#executions.has(log.taskId)) this.#leases.unheard(log.taskId, log.fold.position);
      this.#taskLogs.release(log);
      // What is refused now may be what was accepted a moment ago, at another process.
      const known = isRefusal(error) ? await this.#remembered(order) : undefined;
      return known === undefined ? this.#repeated(order, error) : this.#hold(order, known);
    }
  }

  /** Stores a message. For a follow-up its turn is queued in the same moment, so that no pause comes between. */
  async #accept(
    log: TaskLog,
    draft: ReturnType<typeof createdDraft>,
    order: SendCommand,
    followUp?: TurnRequest,
  ): Promise<TaskHandle> {
    let held: TaskHandle | undefined;
    const { caller, tenant, idempotency, ifGeneration } = order;
    if (draft.size > this.#limits.maxMessageBytes) throw messageTooLarge(this.#limits.maxMessageBytes);
    await log.append(draft, {
      sizes: this.#limits,
      ifGeneration,
      ...(followUp === undefined ? {} : { maxWaiting: this.#limits.maxWaitingTurns }),
      ...(idempotency === undefined ? {} : { send: { tenant, owner: caller.owner, ...idempotency } }),
      // A task at rest begins to be executed in the transaction that accepts its message; so does one whose execution
      // lets go of it in this moment. A lease that is there covers this message, too: after the turn it is for.
      lease: (position) => this.#leases.lease(position),
      onStored: (entry) => {
        const accepted = order.capture === undefined ? undefined : taskViewOf(log, order.capture);
        held = this.#held(log, entry.position, accepted);
        if (followUp !== undefined) this.#queue(log, order.served, { ...followUp, position: entry.position });
      },
    });
    if (held === undefined) throw new A2AError("INTERNAL", "Internal error.");
    return held;
  }

  /**
   * Whoever has the lease gives a message its turn. Behind one that another process has in work, or died over, it
   * waits: whoever has that one, or claims it, comes to the message.
   */
  #queue(log: TaskLog, served: AgentRegistration, turn: TurnRequest): void {
    const { lease } = log.head;
    const own = lease?.holder === this.#holder && lease.turn === turn.position;
    const running = this.#executions.get(log.taskId);
    if (running !== undefined) running.add(turn, own ? { lease } : {});
    else if (own) this.#run(this.#execution(log, served, lease), turn);
    else if (lease?.holder === nobody) this.#maintenance.claimSoon();
  }

  #execution(log: TaskLog, served: AgentRegistration, lease: Lease): Execution {
    const execution = new Execution(this.#runner, log, served.agent, lease);
    this.#executions.set(log.taskId, execution);
    this.#leases.begun(log.taskId);
    return execution;
  }

  #run(execution: Execution, turn: TurnRequest, started?: PendingTurn): void {
    execution.add(turn, started === undefined ? {} : { started });
    void execution.run(turn.position - 1);
  }

  #makeRunner(): RunnerSource {
    return {
      limits: this.#limits,
      logger: this.#logger,
      now: this.#now,
      lease: (turn) => this.#leases.lease(turn),
      notBegun: (taskId, after, next) => this.#leases.unheard(taskId, after, next),
      referencedTasks: (turn) => this.#referenced(turn),
      ended: (execution) => {
        if (this.#executions.get(execution.log.taskId) === execution) this.#executions.delete(execution.log.taskId);
        this.#leases.ended(execution.log.taskId);
        this.#taskLogs.evict(execution.log);
        if (this.#options.logsEnds === true) {
          const { taskId, plannedState } = execution.log;
          this.#logger.info({ taskId, state: TaskState[plannedState] }, "an execution ended");
        }
      },
    };
  }

  #directSource(order: SendCommand, turn: TurnRequest): Parameters<typeof firstEvent>[0] {
    return { agent: order.served.agent, turn, client: order.client, source: this.#runner };
  }

  #turnOf(order: SendCommand, message: Message): TurnRequest {
    return {
      message,
      position: 1,
      attempt: 1,
      caller: order.caller,
      tenant: order.tenant,
      extensions: order.extensions,
      acceptedOutputModes: order.request.configuration?.acceptedOutputModes ?? [],
      metadata: order.request.metadata ?? {},
      traceParent: order.traceParent,
    };
  }

  async #referenced(turn: TurnRequest): Promise<Task[]> {
    const scope = { tenant: turn.tenant, owner: turn.caller.owner };
    const found = await Promise.all(
      turn.message.referenceTaskIds.map((taskId) => this.#visible(scope, taskId).catch(() => undefined)),
    );
    // A copy of its own: what large tasks show is shared by calls, and an agent may do with this what it likes.
    return found.flatMap((result) => (result === undefined ? [] : [viewTask(result.fold.task)]));
  }

  async #remembered(order: SendCommand): Promise<IdempotencyRecord | undefined> {
    const { idempotency, tenant, caller } = order;
    if (idempotency === undefined) return undefined;
    const key: IdempotencyKey = { tenant, owner: caller.owner, key: idempotency.key };
    const known = await this.#store.findSend(key).catch((error: unknown) => Promise.reject(this.#trouble(error)));
    if (known !== undefined && known.fingerprint !== idempotency.fingerprint) throw keyReused();
    return known;
  }

  /** The same send came twice at once: the second one gets the first one's task. */
  #repeated(order: SendCommand, error: unknown): Promise<TaskHandle> {
    const { remembered } = error instanceof StoreError ? error : {};
    if (remembered === undefined) throw this.#trouble(error);
    if (remembered.fingerprint !== order.idempotency?.fingerprint) throw keyReused();
    return this.#hold(order, remembered);
  }

  async #hold(order: SendCommand, known: IdempotencyRecord): Promise<TaskHandle> {
    const log = await this.#take({ tenant: order.tenant, owner: order.caller.owner }, known.taskId);
    const accepted = order.capture === undefined ? undefined : taskViewOf(log, order.capture);
    // A retry waits for what its first attempt waited for.
    return this.#held(log, known.position, accepted);
  }

  async #recover(taskId: string, lease: Lease): Promise<void> {
    // Whatever of it ran here does not have the lease that was claimed.
    this.#executions.get(taskId)?.abandon("lease-lost");
    let log: TaskLog | undefined;
    try {
      const known = this.#taskLogs.get(taskId) !== undefined;
      log = await this.#taskLogs.acquire(taskId);
      if (log === undefined) return;
      if (known) await log.refresh();
      await this.#recoverLog(log, lease);
    } catch (error) {
      const what = "a task could not be recovered; it is tried again";
      logTrouble(this.#logger, error, { taskId }, what);
    } finally {
      if (log !== undefined) this.#taskLogs.release(log);
    }
  }

  #recoverLog(log: TaskLog, lease: Lease): Promise<void> {
    return recoverTask({
      log,
      lease,
      store: this.#store,
      served: this.#options.agentOf(log.head.tenant),
      maxRestarts: this.#options.maxRestarts ?? 3,
      runner: this.#runner,
      logger: this.#logger,
      leases: this.#leases,
      begin: (served, lease) => this.#execution(log, served, lease),
    });
  }

  async #giveUp(head: TaskHead): Promise<void> {
    const { taskId } = head;
    let log: TaskLog | undefined;
    try {
      log = await this.#taskLogs.acquire(taskId);
      if (log === undefined) return;
      if (this.#store.shared || log.uncertain) await log.refresh();
      if (await giveUpInterrupted(log, head, this.#now())) {
        this.#logger.info({ taskId }, "a task that waited for its client for too long is canceled");
      }
    } catch (error) {
      // The others are not to wait for one that cannot be read.
      logTrouble(this.#logger, error, { taskId }, "a task that waits for its client could not be canceled");
    } finally {
      if (log !== undefined) this.#taskLogs.release(log);
    }
  }

  /** Looks for what other processes have stored, and for what was stored here without anybody being told. */
  async #refresh(): Promise<void> {
    for (const log of this.#taskLogs.all()) {
      if (!this.#store.shared && !log.uncertain) continue;
      try {
        await log.refresh();
      } catch (error) {
        // The others' news are not to wait for a task that cannot be read.
        this.#logger.error({ err: error, taskId: log.taskId }, "news of a task could not be read; it is tried again");
        continue;
      }
      // Canceled, or ended, by another process: the agent here works for nobody any more.
      if (isTerminal(log.fold.state)) this.#executions.get(log.taskId)?.cancel().catch(this.#noteTrouble);
    }
  }

  readonly #outage = (): boolean => !this.#store.health.status.healthy;

  readonly #noteTrouble = (error: unknown): void => {
    logTrouble(this.#logger, error, {}, "an execution could not be ended");
  };

  #trouble(error: unknown): unknown {
    if (!(error instanceof StoreError)) return error;
    logTrouble(this.#logger, error, {}, "the task store failed");
    return unavailable(error);
  }
}

/** An engine over a store. `start` it before use. */
export function createEngine(options: EngineOptions): Engine {
  return new Engine(options);
}

function isOf(head: TaskHead, scope: Scope): boolean {
  return head.tenant === scope.tenant && head.owner === scope.owner;
}

/** Whether a message was refused for what became of its task. */
function isRefusal(error: unknown): boolean {
  const refusals: readonly string[] = ["GENERATION_MISMATCH", "TOO_MANY_REQUESTS", "UNSUPPORTED_OPERATION"];
  return error instanceof A2AError && refusals.includes(error.reason);
}

function shuttingDown(): A2AError {
  return new A2AError("UNAVAILABLE", "The server is shutting down.", { retryAfterMs: 1_000 });
}

function notCancelable(taskId: string): A2AError {
  return new A2AError("TASK_NOT_CANCELABLE", "The task is over and cannot be canceled.", { metadata: { taskId } });
}

function messageTooLarge(maxMessageBytes: number): A2AError {
  const message = `The message is larger than it may be, ${maxMessageBytes} bytes as JSON.`;
  return new A2AError("REQUEST_TOO_LARGE", message, { metadata: { maxMessageBytes: String(maxMessageBytes) } });
}
