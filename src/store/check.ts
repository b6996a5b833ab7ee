import type { TaskRow } from "./task-head.js";
import {
  type AppendRequest,
  type ConversationWrite,
  type Fence,
  type IdempotencyRecord,
  StoreError,
  type TaskScope,
} from "./task-store.js";

/** The stored task, as seen by an append. */
export interface StoredTask extends Pick<TaskRow, "tenant" | "owner" | "contextId" | "position"> {
  /** True if the state is terminal. */
  readonly finished: boolean;
  readonly lease: Fence | null;
}

/**
 * Rejects a request that contradicts itself, before anything is stored.
 * @throws StoreError `failed`.
 */
export function checkRequest(request: AppendRequest): void {
  const { head, expected, entries, creates = false, conversation } = request;
  if (entries.length === 0) throw new StoreError("failed", "An append needs at least one entry.");
  if (!Number.isSafeInteger(expected) || expected < 0) {
    throw new StoreError("failed", `The expected position must be a whole number from 0, and is ${expected}.`);
  }
  if (creates !== (expected === 0)) {
    const what = creates ? "creates a task" : "does not create a task";
    throw new StoreError("failed", `An append that ${what} was expected at position ${expected}.`);
  }
  if (head.position !== expected + entries.length) {
    throw new StoreError(
      "failed",
      `The head says position ${head.position}, but ${expected} and ${entries.length} entries more were named.`,
    );
  }
  if (conversation !== undefined) checkVersions(conversation);
}

function checkVersions({ expected, version }: ConversationWrite): void {
  if (Number.isSafeInteger(expected) && expected >= 0 && Number.isSafeInteger(version) && version > 0) {
    if (version !== expected) return;
  }
  throw new StoreError("failed", `A conversation cannot go from version ${expected} to ${version}.`);
}

/**
 * Returns the reason to reject an append, or undefined. All stores share one order of checks: the idempotency key, so
 * that a retry always learns its outcome; the end of the task; the lease; the expected position.
 */
export function appendRejection(
  request: Pick<AppendRequest, "head" | "expected" | "fence" | "lease">,
  stored: StoredTask | undefined,
  remembered: IdempotencyRecord | undefined,
): StoreError | undefined {
  const { head, expected, fence } = request;
  if (remembered !== undefined) {
    return new StoreError("duplicate", "The idempotency key is taken.", { remembered });
  }
  if (stored?.finished === true) {
    return new StoreError("finished", `Task ${head.taskId} is finished and accepts no more entries.`);
  }
  if (fence !== undefined && !holds(fence, stored === undefined ? request.lease : stored.lease)) {
    return new StoreError("fenced", `${fence.holder} no longer holds the lease of task ${head.taskId}.`);
  }
  const position = stored?.position ?? 0;
  if (position !== expected) {
    return new StoreError("conflict", `The log of task ${head.taskId} ends at ${position}, not at ${expected}.`);
  }
  if (stored !== undefined && !sameOwner(head, stored)) {
    return new StoreError("failed", `Tenant, owner and context of task ${head.taskId} never change.`);
  }
  return undefined;
}

/** Returns the reason to reject an append whose conversation has the stored version, 0 if it has no state. */
export function conversationRejection(write: ConversationWrite, stored: number): StoreError | undefined {
  if (write.expected === stored) return undefined;
  const message = `The state of the conversation has version ${stored}, not ${write.expected}.`;
  return new StoreError("conversation-moved", message);
}

/** The error of an append whose push configuration exceeds a limit. */
export function tooManyPushConfigs(taskId: string, tooManyOf: "task" | "owner"): StoreError {
  const whose = tooManyOf === "task" ? `Task ${taskId}` : `The owner of task ${taskId}`;
  return new StoreError("too-many-push-configs", `${whose} already has the maximum number of push configurations.`, {
    tooManyOf,
  });
}

function sameOwner(head: AppendRequest["head"], stored: StoredTask): boolean {
  return head.tenant === stored.tenant && head.owner === stored.owner && head.contextId === stored.contextId;
}

/** True if a lease is the one that a fence names. */
export function holds(fence: Fence, lease: Fence | null | undefined): boolean {
  return lease?.holder === fence.holder && lease.attempt === fence.attempt;
}

export function isOf(task: TaskScope, scope: TaskScope): boolean {
  return task.tenant === scope.tenant && task.owner === scope.owner;
}
