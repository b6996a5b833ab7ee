import { TaskExists } from "../log/task-log.js";

/** How a task is created under a given id. */
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
