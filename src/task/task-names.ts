import { isNewId } from "../core/ids.js";

/** True if a text has the form of a stored id: one of this server, or one that is derived from a client's name. */
export function isStoredId(id: string): boolean {
  return isNewId(id) || /^named-[\w-]{43}$/.test(id);
}

/** The tasks that a call may see: those of one owner under one tenant (specification 13.1). */
export interface Scope {
  readonly tenant: string;
  readonly owner: string;
  /** True if the call's ids are names that its client chose. Default false. */
  readonly namesTasks?: boolean | undefined;
}

/** Reads a task of the scope by its stored id: unfinished, finished, or undefined if it does not exist. */
export type TaskLookup = (taskId: string) => Promise<"open" | "over" | undefined>;

/** Handlers of a message to a client-named task, by the stored id of the task. */
export interface NamedSend<T> {
  readonly lookup: TaskLookup;
  /** Sends it to an existing task; resolves to undefined if the task does not exist. @throws A2AError */
  readonly followUp: (taskId: string) => Promise<T | undefined>;
  /**
   * Creates the task, in the context and with the newest messages of a previous one; resolves to undefined if the task
   * exists. @throws A2AError
   */
  readonly create: (taskId: string, previous: string | undefined) => Promise<T | undefined>;
}

/**
 * Names that clients choose for their tasks, which are unique within a scope only. A task has its name in messages and
 * events, and is stored under another id.
 */
export interface TaskNames {
  /**
   * Returns the stored id for an id in a request, or undefined if the scope has no such task. The task need not exist.
   * @throws StoreError
   */
  storedId(scope: Scope, id: string, lookup: TaskLookup): string | Promise<string | undefined>;
  /**
   * Sends a message to a task by its name: to the existing one, or to one that it creates. Resolves to undefined if the
   * task can repeatedly be neither found nor created.
   * @throws A2AError, StoreError
   */
  send<T>(scope: Scope, name: string, send: NamedSend<T>): Promise<T | undefined>;
}
