import { create } from "@bufbuild/protobuf";
import {
  ContextSummarySchema,
  DeleteOwnerResponseSchema,
  ListContextsRequestSchema,
  ListContextsResponseSchema,
  ListOwnersRequestSchema,
  ListOwnersResponseSchema,
  OwnerUsageSchema,
} from "../../../gen/parley/admin/v1/admin_pb.js";
import type { Call } from "../../core/call.js";
import { A2AError, invalid } from "../../core/error.js";
import { attempt } from "../../core/members.js";
import type { TaskHead } from "../../store/task-store.js";
import { decodeEntry, millisOf, timestampOf } from "../../task/entry.js";
import { isTerminal } from "../../task/state.js";
import type { AdminMethods } from "../methods.js";
import { pageOf } from "../page.js";
import type { AdminParts } from "../parts.js";
import { isLoggedDamage } from "./task-summary.js";

/** Tasks that one step of a deletion reads, ends and removes. */
const STEP = 64;

/** Maximum number of passes of a deletion. Two are usual. */
const MAX_PASSES = 16;

/** Lists owners and deletes all that one has. */
export function ownerOperations(parts: AdminParts): Pick<AdminMethods, "listOwners" | "deleteOwner"> {
  const { store } = parts;
  return {
    async listOwners(request) {
      const page = pageOf(ListOwnersRequestSchema, request, ["string", "string"]);
      const after = page.after && { tenant: page.after[0], owner: page.after[1] };
      const found = await store.listOwners({ tenant: request.tenant, after, limit: page.limit });
      const owners = found.map(({ tenant, owner, tasks, openTasks, pushConfigs, statusTime }) => {
        const counts = { tasks: BigInt(tasks), openTasks: BigInt(openTasks), pushConfigs: BigInt(pushConfigs) };
        return create(OwnerUsageSchema, { tenant, owner, ...counts, statusTime: timestampOf(statusTime) });
      });
      const last = found.length < page.limit ? undefined : found.at(-1);
      const nextPageToken = page.token(last && [last.tenant, last.owner]);
      return create(ListOwnersResponseSchema, { owners, nextPageToken });
    },
    async deleteOwner({ owner, tenant }, { call }) {
      if (owner === undefined) throw invalid([{ field: "owner", description: "is required; it may be empty" }]);
      const filter = { owner, tenants: tenant === undefined ? undefined : [tenant], call };
      const { removed, remaining } = await deleteAll(parts, filter);
      return create(DeleteOwnerResponseSchema, { tasks: BigInt(removed), remaining: BigInt(remaining) });
    },
  };
}

interface Filter {
  readonly owner: string;
  readonly tenants: readonly string[] | undefined;
  /** The operator's call. */
  readonly call: Call;
}

interface Deletion {
  readonly removed: number;
  /** Number of tasks that arrived meanwhile and remain. */
  readonly remaining: number;
}

/**
 * Ends and removes an owner's tasks, in passes from the newest status to the oldest, until a pass meets none that existed
 * at the beginning. A client that keeps sending therefore cannot prolong it: tasks that arrive may remain. The removal of
 * the last task also removes everything else of the owner. An interrupted deletion leaves the tasks that it has not
 * reached, and may be repeated.
 * @throws A2AError UNAVAILABLE if tasks that existed at the beginning remain after `MAX_PASSES`, which happens only if
 * the clock is set back
 */
async function deleteAll(parts: AdminParts, filter: Filter): Promise<Deletion> {
  const began = parts.engine.control.now;
  let removed = 0;
  for (let pass = 1; pass <= MAX_PASSES; pass++) {
    let isLast = true;
    for await (const heads of pagesOf(parts, filter)) {
      // The first pass may miss a task whose status changes meanwhile: it moves to the beginning of the list.
      if (isLast) isLast = pass > 1 && !(await hasOlder(parts, heads, began));
      // Cancels each as its client would. The agent gets the grace period of a cancel, and is not waited for afterwards.
      const ended = await Promise.all(heads.map((head) => endTask(parts, head, filter)));
      removed += ended.filter(Boolean).length;
      removed += await parts.store.removeTasks({ taskIds: heads.map(({ taskId }) => taskId) });
    }
    if (isLast) return { removed, remaining: await countTasks(parts, filter) };
  }
  const left = `${await countTasks(parts, filter)} of the owner's tasks remain, ${removed} were deleted.`;
  throw new A2AError("UNAVAILABLE", `${left} Repeat the call.`);
}

/** Yields the owner's tasks, newest status first. */
async function* pagesOf({ store }: AdminParts, { owner, tenants }: Filter): AsyncGenerator<readonly TaskHead[]> {
  const scope = { owner, tenants };
  let page = await store.listHeads({ ...scope, limit: STEP });
  for (;;) {
    if (page.heads.length > 0) yield page.heads;
    if (page.next === undefined) return;
    page = await store.listHeads({ ...scope, after: page.next, limit: STEP });
  }
}

async function countTasks(parts: AdminParts, filter: Filter): Promise<number> {
  let count = 0;
  for await (const heads of pagesOf(parts, filter)) count += heads.length;
  return count;
}

/** True if a task was created at or before a time, in milliseconds since the epoch. */
async function hasOlder({ store }: AdminParts, heads: readonly TaskHead[], time: number): Promise<boolean> {
  for (const { taskId } of heads) {
    const [first] = await store.read({ taskId, after: 0, limit: 1 }).catch(() => []);
    if (first !== undefined && createdAt(first) <= time) return true;
  }
  return false;
}

/** Returns the time of a first entry, in milliseconds since the epoch, or 0 if the entry does not decode. */
function createdAt(first: Uint8Array): number {
  return attempt(() => millisOf(decodeEntry(first).time)) ?? 0;
}

/**
 * Ends a task. One that ended or was removed meanwhile is left to the removal.
 * @returns true if it is removed already, because its log cannot be read
 */
async function endTask(parts: AdminParts, { taskId, tenant, state }: TaskHead, { call }: Filter): Promise<boolean> {
  if (isTerminal(state)) return false;
  const { control } = parts.engine;
  try {
    await control.cancel(taskId, call.traceParent);
  } catch (error) {
    if (isLoggedDamage(error, parts, { call, taskId, tenant })) return control.discard(taskId);
    const isOver = error instanceof A2AError && ["TASK_NOT_FOUND", "TASK_NOT_CANCELABLE"].includes(error.reason);
    if (!isOver) throw error;
  }
  return false;
}

export function contextOperations({ store }: AdminParts): Pick<AdminMethods, "listContexts"> {
  return {
    async listContexts(request) {
      const { tenant, owner } = request;
      const page = pageOf(ListContextsRequestSchema, request, ["number", "string"]);
      const after = page.after && { statusTime: page.after[0], taskId: page.after[1] };
      const tenants = tenant === undefined ? undefined : [tenant];
      const found = await store.listContexts({ tenants, owner, after, limit: page.limit });
      const contexts = found.contexts.map(({ statusTime, tasks, openTasks, stateBytes, ...of }) => {
        const counts = { tasks: BigInt(tasks), openTasks: BigInt(openTasks), stateBytes: BigInt(stateBytes) };
        return create(ContextSummarySchema, { ...of, ...counts, statusTime: timestampOf(statusTime) });
      });
      const nextPageToken = page.token(found.next && [found.next.statusTime, found.next.taskId]);
      return create(ListContextsResponseSchema, { contexts, nextPageToken });
    },
  };
}
