import { limitReached } from "../../core/error.js";
import type { Scope } from "../../core/task-names.js";
import type { TaskStore } from "../../store/task-store.js";
import type { QuotaScope } from "../quota-scope.js";
import type { OwnerSlots } from "../run/execution-slots.js";

/** Time during which an owner with too many tasks is rejected without a new count, in milliseconds. */
const REFUSED_MS = 100;

/** If other processes create tasks too, this one counts again after it has created a 64th of the tasks left. */
const GRANTED_PART = 64;

/**
 * Limits an owner's open tasks. The store counts them; it is queried again after this process has created as many tasks
 * as the last count left, so most tasks cost one counter.
 */
export class OpenTasks {
  readonly #store: TaskStore;
  readonly #max: number;
  readonly #counted: QuotaScope;

  /** @param counted selects the scope of the count, as for the owners' slots */
  constructor(store: TaskStore, max: number, counted: QuotaScope) {
    this.#store = store;
    this.#max = max;
    this.#counted = counted;
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
      const counted = { owner: scope.owner, tenant: this.#counted(scope.tenant, scope.owner) };
      const left = this.#max - (await this.#store.countOpen(counted)) - creating;
      if (left <= 0) owner.fullUntil = performance.now() + REFUSED_MS;
      // Other processes create tasks as well: the fewer are left, the sooner they are counted again.
      else owner.tasksLeft = this.#store.shared ? Math.ceil(left / GRANTED_PART) : left;
    } finally {
      owner.counting = undefined;
    }
  }

  #tooMany(): Error {
    return limitReached("maxOpenTasksPerOwner", `${this.#max} tasks of this caller are not over.`);
  }
}
