import { hash } from "node:crypto";
import { A2AError } from "../../core/error.js";
import { isStoredId, type NamedSend, type Scope, type TaskLookup, type TaskNames } from "../../task/task-names.js";

/**
 * Returns the stored id of a task whose client chose its name. The id depends only on the scope and the name, so every
 * process derives it, and never collides with another owner's task. Names used by others affect no answer, id or timing
 * (specification 13.1).
 *
 * @param incarnation number of tasks that had the name before
 */
export function namedTaskId({ tenant, owner }: Scope, name: string, incarnation = 0): string {
  const suffix = incarnation === 0 ? [] : [incarnation];
  const text = JSON.stringify(["parley named task 1", tenant, owner, name, ...suffix]);
  return `named-${hash("sha256", text, "base64url")}`;
}

/** Maximum number of attempts of a send that neither finds its task nor can create it. */
const MAX_TRIES = 3;

/** Tasks of A2A 0.1, whose clients choose the ids. */
export class ClientTaskNames implements TaskNames {
  readonly #maxReopens: number;
  readonly #keepsAll: boolean;

  /**
   * @param maxReopens maximum number of times that a message to a finished task creates another one under its name
   * @param keepsAll true if finished tasks are kept without limit: the tasks of a name then have no gaps
   */
  constructor(maxReopens: number, keepsAll: boolean) {
    this.#maxReopens = maxReopens;
    this.#keepsAll = keepsAll;
  }

  storedId(scope: Scope, id: string, lookup: TaskLookup): string | Promise<string | undefined> {
    if (!isStoredId(id)) return this.#newestId(scope, id, lookup);
    if (scope.namesTasks !== true) return id;
    return lookup(id).then((found) => (found === undefined ? this.#newestId(scope, id, lookup) : id));
  }

  /**
   * Sends a message to the newest task of a name. If that is finished, or does not exist, the message creates the next
   * one. Concurrent sends may create it, here or elsewhere, and it may finish before the message reaches it.
   */
  async send<T>(scope: Scope, name: string, { lookup, followUp, create }: NamedSend<T>): Promise<T | undefined> {
    if (isStoredId(name) && (await lookup(name)) !== undefined) {
      const sent = await followUp(name);
      if (sent !== undefined) return sent;
    }
    for (let last = -2, tries = 0; tries < MAX_TRIES; ) {
      const incarnation = await this.#newest(scope, name, lookup);
      tries = incarnation === last ? tries + 1 : 0;
      last = incarnation;
      const newest = incarnation < 0 ? undefined : namedTaskId(scope, name, incarnation);
      if (newest !== undefined) {
        const sent = await followUp(newest).catch(async (error: unknown) => {
          const isLast = incarnation >= this.#maxReopens;
          if (isLast || !isFinishedRefusal(error) || (await lookup(newest)) !== "over") throw error;
          return "over" as const;
        });
        if (sent === undefined) continue;
        if (sent !== "over") return sent;
      }
      const created = await create(namedTaskId(scope, name, incarnation + 1), newest);
      if (created !== undefined) return created;
    }
    return undefined;
  }

  #newestId(scope: Scope, name: string, lookup: TaskLookup): string | Promise<string | undefined> {
    // A name has one task, which need not be searched.
    if (this.#maxReopens === 0) return namedTaskId(scope, name);
    return this.#newest(scope, name, lookup).then((newest) =>
      newest < 0 ? undefined : namedTaskId(scope, name, newest),
    );
  }

  /** Finds the newest task of a name, regardless of older ones removed by retention; -1 if no task has it. */
  #newest(scope: Scope, name: string, lookup: TaskLookup): Promise<number> {
    const has = async (incarnation: number): Promise<boolean> =>
      (await lookup(namedTaskId(scope, name, incarnation))) !== undefined;
    return this.#keepsAll ? this.#lastOfAll(has) : this.#lastOfSome(has);
  }

  /** Finds the last task by doubling steps, then by bisection. An unused name costs one read. */
  async #lastOfAll(has: (incarnation: number) => Promise<boolean>): Promise<number> {
    let [last, free] = [-1, this.#maxReopens + 1];
    for (let next = 0; free - last > 1; ) {
      if (await has(next)) last = next;
      else free = next;
      next = free > this.#maxReopens ? Math.min(2 * last + 1, this.#maxReopens) : (last + free) >> 1;
    }
    return last;
  }

  /** Finds the last task if retention may have removed any number of the first ones. */
  async #lastOfSome(has: (incarnation: number) => Promise<boolean>): Promise<number> {
    const found = Array.from({ length: this.#maxReopens + 1 }, (_, incarnation) => has(incarnation));
    return (await Promise.all(found)).lastIndexOf(true);
  }
}

/** True if a message was, or may have been, rejected because its task is finished. */
function isFinishedRefusal(error: unknown): boolean {
  return error instanceof A2AError && error.reason === "UNSUPPORTED_OPERATION";
}
