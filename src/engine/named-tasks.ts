import { hash } from "node:crypto";
import { A2AError } from "../core/error.js";
import { isOf } from "../store/check.js";
import type { TaskScope, TaskStore } from "../store/task-store.js";
import { unavailable } from "./log/outage.js";
import { TaskExists } from "./log/task-log.js";

/**
 * The id under which a task is kept whose client has chosen its name (which older versions of the protocol let it do): of the
 * scope and the name alone, so that every process finds it, and of nobody else's task. What others have called theirs
 * makes no difference to it, in an answer, an id or a time (specification 13.1).
 *
 * @param life how often the name was given anew before
 */
export function namedTaskId({ tenant, owner }: TaskScope, name: string, life = 0): string {
  const text = JSON.stringify(["parley named task 1", tenant, owner, name, ...(life === 0 ? [] : [life])]);
  return `named-${hash("sha256", text, "base64url")}`;
}

/** The task that a name stands for. */
export interface NamedTask {
  readonly taskId: string;
  /** How often the name was given anew, since its task was over; -1 where no task has it. */
  readonly life: number;
}

/** Finds the tasks that their clients have named. */
export class TaskNames {
  /** How often a name may be given to another task when its task is over. */
  readonly maxReopens: number;
  readonly #store: Pick<TaskStore, "head">;
  readonly #keepsAll: boolean;

  /** @param keepsAll whether finished tasks are kept for ever: those of a name then have no gaps */
  constructor(store: Pick<TaskStore, "head">, maxReopens: number, keepsAll: boolean) {
    this.#store = store;
    this.maxReopens = maxReopens;
    this.#keepsAll = keepsAll;
  }

  /** The newest task of a name. Which of those before it retention has removed makes no difference. @throws StoreError */
  async find(scope: TaskScope, name: string): Promise<NamedTask> {
    // The usual case asks the store nothing that its caller does not ask anyway.
    if (this.maxReopens === 0) return { taskId: namedTaskId(scope, name), life: 0 };
    const life = this.#keepsAll ? await this.#lastOfAll(scope, name) : await this.#lastOfSome(scope, name);
    return { taskId: namedTaskId(scope, name, Math.max(0, life)), life };
  }

  /** Looks for the last one in steps that double, and halve behind it: a name that no task has costs one read. */
  async #lastOfAll(scope: TaskScope, name: string): Promise<number> {
    let [last, free] = [-1, this.maxReopens + 1];
    for (let next = 0; free - last > 1; ) {
      if (await this.#has(scope, name, next)) last = next;
      else free = next;
      next = free > this.maxReopens ? Math.min(2 * last + 1, this.maxReopens) : (last + free) >> 1;
    }
    return last;
  }

  /** The same where retention may have removed any number of the first ones. */
  async #lastOfSome(scope: TaskScope, name: string): Promise<number> {
    const lives = Array.from({ length: this.maxReopens + 1 }, (_, life) => this.#has(scope, name, life));
    return (await Promise.all(lives)).lastIndexOf(true);
  }

  async #has(scope: TaskScope, name: string, life: number): Promise<boolean> {
    const head = await this.#store.head({ taskId: namedTaskId(scope, name, life) });
    return head !== undefined && isOf(head, scope);
  }
}

/** How often a send looks again for a task that it found neither there nor free to be created. */
const MAX_TRIES = 3;

/** The two ways of a message. */
export interface Ways<T> {
  /** To the task that is there. @throws A2AError TASK_NOT_FOUND */
  readonly followUp: () => Promise<T>;
  /** To a new one. @throws TaskExists */
  readonly create: () => Promise<T>;
}

/** Messages to tasks that their clients have named: the first one creates its task, and of several at once one does. */
export class NamedSends {
  /** Not a TransientMap: clients choose these names. */
  readonly #creating = new Map<string, Promise<unknown>>();

  /** Sends a message to the task, or creates it. @throws A2AError UNAVAILABLE when it comes and goes */
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
        // Another process was first: the message goes to its task.
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

/** Whether a task is not there for its caller. */
export function isNotFound(error: unknown): boolean {
  return error instanceof A2AError && error.reason === "TASK_NOT_FOUND";
}
