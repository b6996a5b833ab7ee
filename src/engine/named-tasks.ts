import { hash } from "node:crypto";
import { A2AError } from "../core/error.js";
import { isOf } from "../store/check.js";
import type { TaskScope, TaskStore } from "../store/task-store.js";
import { unavailable } from "./log/outage.js";
import { TaskExists } from "./log/task-log.js";

/**
 * Returns the stored id of a task whose client chose its name (which older protocol versions allow). The id depends
 * only on the scope and the name, so every process derives it, and never collides with another owner's task. Names used
 * by others affect no answer, id or timing (specification 13.1).
 *
 * @param life number of times that the name was reused before
 */
export function namedTaskId({ tenant, owner }: TaskScope, name: string, life = 0): string {
  const text = JSON.stringify(["parley named task 1", tenant, owner, name, ...(life === 0 ? [] : [life])]);
  return `named-${hash("sha256", text, "base64url")}`;
}

/** The task that a name refers to. */
export interface NamedTask {
  readonly taskId: string;
  /** Number of times that the name was reused after its task finished; -1 if no task has it. */
  readonly life: number;
}

/** Finds tasks by the names that their clients chose. */
export class TaskNames {
  /** Maximum number of times that a name is reused after its task finished. */
  readonly maxReopens: number;
  readonly #store: Pick<TaskStore, "head">;
  readonly #keepsAll: boolean;

  /** @param keepsAll true if finished tasks are kept without limit: the tasks of a name then have no gaps */
  constructor(store: Pick<TaskStore, "head">, maxReopens: number, keepsAll: boolean) {
    this.#store = store;
    this.maxReopens = maxReopens;
    this.#keepsAll = keepsAll;
  }

  /** Finds the newest task of a name, regardless of older ones removed by retention. @throws StoreError */
  async find(scope: TaskScope, name: string): Promise<NamedTask> {
    // The common case adds no store read.
    if (this.maxReopens === 0) return { taskId: namedTaskId(scope, name), life: 0 };
    const life = this.#keepsAll ? await this.#lastOfAll(scope, name) : await this.#lastOfSome(scope, name);
    return { taskId: namedTaskId(scope, name, Math.max(0, life)), life };
  }

  /** Finds the last task by doubling steps, then by bisection. An unused name costs one read. */
  async #lastOfAll(scope: TaskScope, name: string): Promise<number> {
    let [last, free] = [-1, this.maxReopens + 1];
    for (let next = 0; free - last > 1; ) {
      if (await this.#has(scope, name, next)) last = next;
      else free = next;
      next = free > this.maxReopens ? Math.min(2 * last + 1, this.maxReopens) : (last + free) >> 1;
    }
    return last;
  }

  /** Finds the last task if retention may have removed any number of the first ones. */
  async #lastOfSome(scope: TaskScope, name: string): Promise<number> {
    const lives = Array.from({ length: this.maxReopens + 1 }, (_, life) => this.#has(scope, name, life));
    return (await Promise.all(lives)).lastIndexOf(true);
  }

  async #has(scope: TaskScope, name: string, life: number): Promise<boolean> {
    const head = await this.#store.head({ taskId: namedTaskId(scope, name, life) });
    return head !== undefined && isOf(head, scope);
  }
}

/** Maximum number of attempts of a send that neither finds its task nor can create it. */
const MAX_TRIES = 3;

/** Handlers of a message to a named task. */
export interface Ways<T> {
  /** Sends it to the existing task. @throws A2AError TASK_NOT_FOUND */
  readonly followUp: () => Promise<T>;
  /** Creates the task. @throws TaskExists */
  readonly create: () => Promise<T>;
}

/** Sends messages to client-named tasks. The first message creates its task; concurrent ones wait for that. */
export class NamedSends {
  /** Not a TransientMap: clients choose these names. */
  readonly #creating = new Map<string, Promise<unknown>>();

  /**
   * Sends a message to the task, or creates it. @throws A2AError UNAVAILABLE if other processes keep creating and
   * removing it
   */
  async send<T>(taskId: string, { followUp, create }: Ways<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await followUp();
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
      const other = this.#creating.get(taskId);
      if (other !== undefined) {
        await other.catch(() => {});
        continue;
      }
      try {
        return await this.#create(taskId, create);
      } catch (error) {
        // Another process created the task first: the message goes to that task.
        if (!(error instanceof TaskExists)) throw error;
        if (tries === MAX_TRIES) throw unavailable(error);
      }
    }
  }

  async #create<T>(taskId: string, create: () => Promise<T>): Promise<T> {
    const creating = create();
    this.#creating.set(taskId, creating);
    try {
      return await creating;
    } finally {
      this.#creating.delete(taskId);
    }
  }
}

/** True if a task does not exist for its caller. */
export function isNotFound(error: unknown): boolean {
  return error instanceof A2AError && error.reason === "TASK_NOT_FOUND";
}
