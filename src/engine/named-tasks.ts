import { hash } from "node:crypto";
import { A2AError } from "../core/error.js";
import type { TaskScope } from "../store/task-store.js";
import { unavailable } from "./outage.js";
import { TaskExists } from "./task-log.js";

/**
 * The id under which a task is kept whose client has chosen its name (which older versions of the protocol let it do): of the
 * scope and the name alone, so that every process finds it, and of nobody else's task. What others have called theirs
 * makes no difference to it, in an answer, an id or a time (specification 13.1).
 */
export function namedTaskId({ tenant, owner }: TaskScope, name: string): string {
  return `named-${hash("sha256", JSON.stringify(["parley named task 1", tenant, owner, name]), "base64url")}`;
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

function isNotFound(error: unknown): boolean {
  return error instanceof A2AError && error.reason === "TASK_NOT_FOUND";
}
