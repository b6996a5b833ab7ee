import { A2AError, limitReached } from "../../core/error.js";
import type { Logger } from "../../core/log.js";
import { StoreError } from "../../store/task-store.js";

/** Trouble with the store as callers may see it. What they asked for may have been done or not. */
export function unavailable(cause: unknown): A2AError {
  return new A2AError("UNAVAILABLE", "The task store is not available.", { cause, retryAfterMs: 1_000 });
}

/** A push configuration is one too many, of its task or of those that its owner has. */
export function tooManyPushConfigs(of: "task" | "owner"): A2AError {
  const [who, limit] =
    of === "task"
      ? (["The task has", "maxPushConfigsPerTask"] as const)
      : (["The caller has", "maxPushConfigsPerOwner"] as const);
  return limitReached(limit, `${who} as many push notification configurations as it may have.`);
}

/** Whether an error only repeats what the store's health reports; what was asked for may be done all the same. */
export function isOutage(error: unknown): boolean {
  const cause = error instanceof A2AError ? error.cause : error;
  return cause instanceof StoreError && cause.kind === "unavailable";
}

/** Whether another process wrote first. */
export function isConflict(error: unknown): boolean {
  return error instanceof StoreError && (error.kind === "conflict" || error.kind === "finished");
}

/** Logs trouble with the store: at `debug` when one line in the log covers all of it already, otherwise at `error`. */
export function logTrouble(logger: Logger, error: unknown, facts: object, message: string): void {
  logger[isOutage(error) ? "debug" : "error"]({ err: error, ...facts }, message);
}

/** What a caller is to see of an error: trouble with the store is logged, and is "unavailable" to callers. */
export function toCallerError(logger: Logger, error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  if (error.kind === "too-many-push-configs") return tooManyPushConfigs(error.tooManyOf ?? "task");
  logTrouble(logger, error, {}, "the task store failed");
  return unavailable(error);
}
