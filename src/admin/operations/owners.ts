import { create } from "@bufbuild/protobuf";
import {
  DeleteOwnerResponseSchema,
  ListOwnersRequestSchema,
  ListOwnersResponseSchema,
  OwnerUsageSchema,
} from "../../../gen/parley/admin/v1/admin_pb.js";
import { A2AError, invalid } from "../../core/error.js";
import type { TaskHead } from "../../store/task-store.js";
import { timestampOf } from "../../task/entry.js";
import { isTerminal } from "../../task/state.js";
import type { AdminMethods } from "../methods.js";
import { pageOf } from "../page.js";
import type { AdminParts } from "../parts.js";

/** Tasks that one step of a deletion reads, ends and removes. */
const STEP = 64;

/** Times that a deletion begins again because new tasks have arrived. */
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
      const nextPageToken = last === undefined ? "" : page.token([last.tenant, last.owner]);
      return create(ListOwnersResponseSchema, { owners, nextPageToken });
    },
    async deleteOwner({ owner, tenant }) {
      if (owner === undefined) throw invalid([{ field: "owner", description: "is required; it may be empty" }]);
      const tasks = await deleteAll(parts, { owner, tenants: tenant === undefined ? undefined : [tenant] });
      return create(DeleteOwnerResponseSchema, { tasks: BigInt(tasks) });
    },
  };
}

interface Filter {
  readonly owner: string;
  readonly tenants: readonly string[] | undefined;
}

/**
 * Ends and removes an owner's tasks, in steps, from the newest to the oldest, until a pass finds none. With its last task
 * goes everything else of an owner. A deletion that is interrupted leaves what it has not reached, and may be repeated.
 * @returns the number of removed tasks
 * @throws A2AError UNAVAILABLE if new tasks arrive faster than they are removed
 */
async function deleteAll(parts: AdminParts, filter: Filter): Promise<number> {
  const { store } = parts;
  let removed = 0;
  for (let passes = 0; passes < MAX_PASSES; passes++) {
    let isEmpty = true;
    let page = await store.listHeads({ ...filter, limit: STEP });
    for (;;) {
      if (page.heads.length > 0) isEmpty = false;
      // Each is canceled as its client would: its agent has a moment, and is then left behind.
      await Promise.all(page.heads.filter(({ state }) => !isTerminal(state)).map((head) => end(parts, head)));
      removed += await store.removeTasks({ taskIds: page.heads.map(({ taskId }) => taskId) });
      if (page.next === undefined) break;
      page = await store.listHeads({ ...filter, after: page.next, limit: STEP });
    }
    if (isEmpty) return removed;
  }
  throw new A2AError("UNAVAILABLE", "The owner's tasks arrive faster than they are deleted. Repeat the call.");
}

/** Ends a task. One that ended or was removed meanwhile is left to the removal. */
async function end({ engine }: AdminParts, { taskId }: TaskHead): Promise<void> {
  try {
    await engine.control.cancel(taskId);
  } catch (error) {
    const isOver = error instanceof A2AError && ["TASK_NOT_FOUND", "TASK_NOT_CANCELABLE"].includes(error.reason);
    if (!isOver) throw error;
  }
}
