import { limitReached } from "../../core/error.js";
import type { TaskStore } from "../../store/task-store.js";
import type { CountedTenant } from "../counted-tenant.js";
import type { Scope } from "../read/tasks.js";
import type { OwnerSlots } from "../run/execution-slots.js";

/** For so long, in milliseconds, an owner who has too many is refused without being counted again. */
const REFUSED_MS = 100;

/**
 * How many tasks of one owner are not over. The store knows; it is asked when as many were created here as were left when it was asked
 * last, so the usual task costs one counter.
 */
export class OpenTasks {
  readonly #store: TaskStore;
  readonly #max: number;
  readonly #counted: CountedTenant;

  /** @param counted the one by which the slots of owners are told apart */
  constructor(store: TaskStore, max: number, counted: CountedTenant) {
    this.#store = store;
    this.#max = max;
    this.#counted = counted;
  }

  /**
   * Counts a task that is about to be created: the caller counts `creating` down when it is stored, or is not.
   *
   * @returns undefined where it may be at once.
   * @throws A2AError TOO_MANY_REQUESTS; what the store throws.
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

  /** Nothing of the owner is admitted meanwhile. What is being created may be in the store's count already, or not yet. */
  async #recount(owner: OwnerSlots, scope: Scope): Promise<void> {
    const { creating } = owner;
    try {
      const counted = { owner: scope.owner, tenant: this.#counted(scope.tenant, scope.owner) };
      const left = this.#max - (await this.#store.countOpen(counted)) - creating;
      if (left <= 0) owner.fullUntil = performance.now() + REFUSED_MS;
      // Other processes create tasks as well: the fewer are left, the sooner all are counted again.
      else owner.tasksLeft = this.#store.shared ? Math.ceil(left / 2) : left;
    } finally {
      owner.counting = undefined;
    }
  }

  #tooMany(): Error {
    return limitReached("maxOpenTasksPerOwner", `${this.#max} tasks of this caller are not over.`);
  }
}
