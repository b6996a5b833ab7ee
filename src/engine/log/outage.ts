import { backoffMs, pause, share } from "../../core/async.js";
import { A2AError, limitReached } from "../../core/error.js";
import type { Logger } from "../../core/log.js";
import { StoreError } from "../../store/task-store.js";

/** Retries of an agent's read: at most a second and a half in total. */
const retries = { most: 5, firstMs: 50, maxMs: 1_000, jitter: 0.5 };

/** Returns the error that callers see when the store fails. The requested operation may have been performed. */
export function unavailable(cause: unknown): A2AError {
  return new A2AError("UNAVAILABLE", "The task store is not available.", { cause, retryAfterMs: 1_000 });
}

/** Returns the error for a push configuration beyond the limit of its task or of its owner. */
export function tooManyPushConfigs(of: "task" | "owner"): A2AError {
  const [who, limit] =
    of === "task"
      ? (["The task has", "maxPushConfigsPerTask"] as const)
      : (["The caller has", "maxPushConfigsPerOwner"] as const);
  return limitReached(limit, `${who} the maximum number of push notification configurations.`);
}

/** Returns the error for a task whose last entries were lost when the store moved to another server. */
export function lost(taskId: string): StoreError {
  const message = `The last entries of task ${taskId} were lost when the store moved to another server.`;
  return new StoreError("unavailable", message);
}

/** True if an error only repeats the store's health status. The requested operation may have been performed. */
export function isOutage(error: unknown): boolean {
  try {
    const cause = error instanceof A2AError ? error.cause : error;
    return cause instanceof StoreError && cause.kind === "unavailable";
  } catch {
    // An agent may throw any value, even one whose properties throw.
    return false;
  }
}

/**
 * Reads from the store for an agent, and waits out a short outage. A longer one ends the execution, if the agent lets
 * the error through: the task is recovered later.
 *
 * @param signal returns the turn's signal, which ends the wait
 */
export async function readForAgent<T>(read: () => Promise<T>, signal: () => AbortSignal): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await read();
    } catch (error) {
      if (failures > retries.most || !isOutage(error) || signal().aborted) throw error;
      share(signal());
      await pause(backoffMs(failures, retries), signal());
    }
  }
}

/** True if the log rejected an entry because the task is finished. */
export function isEnded(error: unknown): boolean {
  return error instanceof A2AError && error.reason === "UNSUPPORTED_OPERATION";
}

/** True if another turn has changed the state of the conversation. */
export function isMoved(error: unknown): boolean {
  return error instanceof StoreError && error.kind === "conversation-moved";
}

/** True if another process wrote first. */
export function isConflict(error: unknown): boolean {
  return error instanceof StoreError && (error.kind === "conflict" || error.kind === "finished");
}

/** Logs a store failure: at `debug` if the outage is already logged once for all calls, otherwise at `error`. */
export function logTrouble(logger: Logger, error: unknown, facts: object, message: string): void {
  logger[isOutage(error) ? "debug" : "error"]({ err: error, ...facts }, message);
}

/** Maps an error for callers: a store failure becomes UNAVAILABLE. Bindings log it with the facts of its call. */
export function toCallerError(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  if (error.kind === "too-many-push-configs") return tooManyPushConfigs(error.tooManyOf ?? "task");
  return unavailable(error);
}

/** True if an error concerns the whole store rather than one task. */
export function isTrouble(error: unknown): boolean {
  return error instanceof StoreError && error.kind !== "damaged";
}

/** Returns the error for a task whose stored data does not decode. */
export function damaged(taskId: string, cause: unknown): A2AError {
  return new A2AError("TASK_DAMAGED", "The task cannot be read: its stored data is damaged.", {
    cause,
    metadata: { taskId },
  });
}

/** Maps an error of reading one task. An error that does not concern the whole store becomes TASK_DAMAGED. */
export function readError(taskId: string, error: unknown): unknown {
  return error instanceof A2AError || isTrouble(error) ? toCallerError(error) : damaged(taskId, error);
}

/** True if an error says that a task's stored data does not decode. */
export function isDamaged(error: unknown): boolean {
  return error instanceof A2AError && error.reason === "TASK_DAMAGED";
}

/** Thrown when a task is created under an id that exists in the store. */
export class TaskExists extends Error {
  override name = "TaskExists";

  constructor(taskId: string, cause?: unknown) {
    super(`Task ${taskId} exists.`, { cause });
  }
}

/** True if the store rejected a send because of its own key or configuration, which affects no other entry. */
export function isRejection(error: unknown): boolean {
  if (error instanceof TaskExists) return true;
  return error instanceof StoreError && (error.kind === "duplicate" || error.kind === "too-many-push-configs");
}
