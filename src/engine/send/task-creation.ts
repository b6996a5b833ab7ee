import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { TurnRequest } from "../../agent/turn-request.js";
import { limitReached } from "../../core/error.js";
import { CauseLogger, type Logger } from "../../core/log.js";
import type { TaskStore } from "../../store/task-store.js";
import type { Draft } from "../../task/entry.js";
import type { Scope } from "../../task/task-names.js";
import { createdDraft } from "../log/draft.js";
import type { LeaseKeeper } from "../log/lease-keeper.js";
import { isOutage, TaskExists, toCallerError } from "../log/outage.js";
import type { QuotaScope } from "../quota-scope.js";
import type { TaskHandle } from "../read/task-handle.js";
import type { ExecutionSlot, OwnerSlots } from "../run/execution-slots.js";
import { abandonAgent, type PendingTurn } from "../run/first-event.js";
import type { Shutdown } from "../shutdown.js";
import type { Acceptance, AcceptanceSource } from "./acceptance.js";
import { type SendCommand, scopeOf } from "./send-command.js";

/** A task that is about to be created. */
interface NewTask {
  readonly turn: TurnRequest;
  readonly draft: Draft;
  readonly time: number;
  readonly started: PendingTurn | undefined;
}

export interface TaskCreationSource extends AcceptanceSource {
  readonly leases: LeaseKeeper;
  readonly logger: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly shutdown: Shutdown;
  readonly acceptance: Acceptance;
}

/** Creates tasks within the limit of open ones, each with the execution of its first turn. */
export class TaskCreation {
  readonly #source: TaskCreationSource;
  readonly #openTasks: OpenTasks;

  constructor(source: TaskCreationSource) {
    this.#source = source;
    this.#openTasks = new OpenTasks(source.store, source.limits.maxOpenTasksPerOwner, source.quotaScope);
  }

  /**
   * Creates the task of a turn, and runs the turn or queues it.
   * @param started the turn, if its agent already runs
   */
  async create(command: SendCommand, turn: TurnRequest, started?: PendingTurn): Promise<TaskHandle> {
    const { tasks, now, shutdown, executions } = this.#source;
    const { slots } = executions;
    const owner = slots.of(command.tenant, command.caller.owner);
    const time = now();
    const draft = createdDraft(turn, time, command.version);
    const slot = started === undefined ? slots.enter(owner, draft.size) : slots.adopt(owner);
    slot.held = command.held?.share();
    let isCounted = false;
    try {
      const counting = this.#openTasks.admit(owner, scopeOf(command));
      // If the grace period is over, this process creates no more tasks, so the count no longer matters.
      if (counting !== undefined) await shutdown.inGrace(counting);
      isCounted = true;
      // A task has one log in a process.
      if (tasks.logs.get(turn.taskId) !== undefined) throw new TaskExists(turn.taskId);
    } catch (error) {
      if (isCounted) owner.creating--;
      slots.detach(slot);
      if (started !== undefined) this.#abandon(started, command, turn);
      throw toCallerError(error);
    }
    try {
      return await this.#createAt(slot, command, { turn, draft, time, started });
    } finally {
      owner.creating--;
    }
  }

  async #createAt(
    slot: ExecutionSlot,
    command: SendCommand,
    { turn, draft, time, started }: NewTask,
  ): Promise<TaskHandle> {
    const { tasks, executions, leases, acceptance } = this.#source;
    const head = {
      taskId: turn.taskId,
      tenant: command.tenant,
      owner: command.caller.owner,
      contextId: turn.message.contextId,
      state: TaskState.UNSPECIFIED,
      statusTime: time,
      position: 0,
      generation: turn.earlier?.generation ?? 0,
      lease: null,
    };
    const log = tasks.logs.create(head, turn.message.taskId);
    const begun = leases.lease(1);
    const lease = slot.isHeld ? begun : leases.waiting(1);
    const execution = executions.create(log, command.served, {
      lease,
      begun: lease === begun ? undefined : begun,
      slot,
    });
    // An agent that decided for a task has already yielded an event: that one, and all that it yields without waiting,
    // share one commit. If the store may reject the message, for its idempotency key or its push configuration, the
    // agent continues only after the message is stored.
    const runs = started !== undefined && command.idempotency === undefined && command.pushConfig === undefined;
    try {
      const accepting = acceptance.accept(log, draft, command, { lease: () => lease, follows: runs });
      if (runs) executions.run(execution, turn, started);
      const task = await accepting;
      if (!runs) executions.run(execution, turn, started);
      return task;
    } catch (error) {
      execution.abandon("canceled");
      if (!runs && started !== undefined) this.#abandon(started, command, turn);
      if (started === undefined && isOutage(error)) {
        leases.noteInterrupted(log.taskId, { after: 0, isOutage: true });
      }
      tasks.logs.release(log);
      if (error instanceof TaskExists) throw error;
      return acceptance.repeated(command, error);
    }
  }

  #abandon(started: PendingTurn, { served }: SendCommand, turn: TurnRequest): void {
    void abandonAgent(started, new CauseLogger(this.#source.logger, turn, served.agent.card.name));
  }
}

/** The lookup and the creation of a task under a given id. */
interface Creation<T> {
  /** Resolves to undefined if the store does not have the task. */
  readonly lookup: (taskId: string) => Promise<unknown>;
  /** @throws TaskExists */
  readonly create: () => Promise<T>;
}

/** Creates tasks under given ids. Calls of this process create a task one after the other, until one succeeds. */
export class Creations<T> {
  /** Not a TransientMap: clients determine these ids. */
  readonly #pending = new Map<string, Promise<T>>();

  /** Creates a task, or resolves to undefined if it exists. */
  async create(taskId: string, { lookup, create }: Creation<T>): Promise<T | undefined> {
    for (let other = this.#pending.get(taskId); other !== undefined; other = this.#pending.get(taskId)) {
      await other.catch(() => {});
      if ((await lookup(taskId)) !== undefined) return undefined;
    }
    const creating = create();
    this.#pending.set(taskId, creating);
    try {
      return await creating;
    } catch (error) {
      if (error instanceof TaskExists) return undefined;
      throw error;
    } finally {
      this.#pending.delete(taskId);
    }
  }
}

/** Time during which an owner with too many tasks is rejected without a new count, in milliseconds. */
const REFUSED_MS = 100;

/**
 * Divisor of the tasks left: if other processes create tasks too, this one counts again after it has created that part.
 */
const GRANTED_PART = 64;

/**
 * Limits an owner's open tasks. The store counts them; it is queried again after this process has created as many tasks
 * as the last count left, so most tasks cost one counter.
 */
class OpenTasks {
  readonly #store: TaskStore;
  readonly #max: number;
  readonly #quotaScope: QuotaScope;

  /** @param quotaScope selects the scope of the count, as for the owners' slots */
  constructor(store: TaskStore, max: number, quotaScope: QuotaScope) {
    this.#store = store;
    this.#max = max;
    this.#quotaScope = quotaScope;
  }

  /**
   * Counts a task that is about to be created. The caller decrements `creating` when it is stored or has failed.
   *
   * @returns undefined if it is admitted at once
   * @throws A2AError TOO_MANY_REQUESTS; errors of the store
   */
  admit(owner: OwnerSlots, scope: Scope): Promise<void> | undefined {
    if (owner.tasksLeft === 0) return this.#admitLater(owner, scope);
    owner.tasksLeft--;
    owner.creating++;
    return undefined;
  }

  async #admitLater(owner: OwnerSlots, scope: Scope): Promise<void> {
    while (owner.tasksLeft === 0) {
      if (performance.now() < owner.fullUntil) throw this.#tooMany();
      owner.counting ??= this.#recount(owner, scope);
      await owner.counting;
    }
    owner.tasksLeft--;
    owner.creating++;
  }

  /**
   * Recounts the owner's open tasks; nothing is admitted meanwhile. The store's count may or may not include tasks
   * being created.
   */
  async #recount(owner: OwnerSlots, scope: Scope): Promise<void> {
    const { creating } = owner;
    try {
      const scopeOfCount = { owner: scope.owner, tenant: this.#quotaScope(scope.tenant, scope.owner) };
      const left = this.#max - (await this.#store.countOpen(scopeOfCount)) - creating;
      if (left <= 0) owner.fullUntil = performance.now() + REFUSED_MS;
      // Other processes create tasks as well: the fewer are left, the sooner they are counted again.
      else owner.tasksLeft = this.#store.shared ? Math.ceil(left / GRANTED_PART) : left;
    } finally {
      owner.counting = undefined;
    }
  }

  #tooMany(): Error {
    return limitReached("maxOpenTasksPerOwner", `This caller already has ${this.#max} unfinished tasks.`);
  }
}
