import { create } from "@bufbuild/protobuf";
import type { Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import {
  CancelTaskResponseSchema,
  DeleteTaskResponseSchema,
  FailTaskResponseSchema,
  type GetTaskRequest,
  type GetTaskResponse,
  GetTaskResponseSchema,
  type ListEntriesResponse,
} from "../../../gen/parley/admin/v1/admin_pb.js";
import type { Call } from "../../core/call.js";
import { A2AError, invalid, taskNotFound } from "../../core/error.js";
import type { StoredTask } from "../../engine/control.js";
import type { OutgoingBudget } from "../../service/outgoing-budget.js";
import type { AdminMethods } from "../methods.js";
import type { AdminParts } from "../parts.js";
import { deliveryOf } from "./deliveries.js";
import { ChangePoll, followTasks } from "./task-changes.js";
import { followTask, listEntries } from "./task-entries.js";
import { listTasks } from "./task-list.js";
import { isLoggedDamage, storedSummary, summaryOf, withWeight } from "./task-summary.js";

/** Maximum length of the text of a task that an operator fails, in characters. */
const MAX_MESSAGE = 1_000;

/** Maximum number of push configurations in the answer about a task. `ListDeliveries` has all. */
const MAX_DELIVERIES = 100;

const failed = "The task was ended by an operator of the server.";

/** Reads, follows and ends tasks of all owners. */
export function taskOperations(
  parts: AdminParts,
  budget: OutgoingBudget,
): Pick<
  AdminMethods,
  "listTasks" | "getTask" | "listEntries" | "followTask" | "followTasks" | "cancelTask" | "failTask" | "deleteTask"
> {
  const { store, engine } = parts;
  const poll = new ChangePoll(store);
  return {
    listTasks: (request, { call }) => listTasks(parts, request, call),
    async getTask(request, { call }) {
      const read = (): Promise<GetTaskResponse> => getTask(parts, request, call);
      return budget.admitAnswer(call, await read(), read);
    },
    async listEntries(request, { call }) {
      const read = (): Promise<ListEntriesResponse> => listEntries(parts, request);
      return budget.admitAnswer(call, await read(), read);
    },
    followTask: (request, { call }) => followTask(parts, request, call, budget),
    followTasks: (request, context) => followTasks(parts, poll, request, context),
    async cancelTask({ taskId }, { call }) {
      await engine.control.cancel(taskId, call.traceParent);
      return create(CancelTaskResponseSchema, { task: await storedSummary(parts, taskId) });
    },
    async failTask({ taskId, message }, { call }) {
      if (message.length > MAX_MESSAGE) {
        throw invalid([{ field: "message", description: `must have at most ${MAX_MESSAGE} characters` }]);
      }
      await engine.control.fail(taskId, message === "" ? failed : message, call.traceParent);
      return create(FailTaskResponseSchema, { task: await storedSummary(parts, taskId) });
    },
    async deleteTask({ taskId }, { call }) {
      if ((await store.removeTasks({ taskIds: [taskId] })) === 0) {
        const isDamaged = await engine.control.checkReadable(taskId).then(
          () => false,
          (error) => isLoggedDamage(error, parts, { call, taskId }) || Promise.reject(error),
        );
        if (!isDamaged) {
          const metadata = { taskId };
          throw new A2AError("UNSUPPORTED_OPERATION", "The task has not ended. Cancel or fail it first.", { metadata });
        }
        if (!(await engine.control.discard(taskId))) throw taskNotFound(taskId);
      }
      return create(DeleteTaskResponseSchema);
    },
  };
}

interface ShownTask extends Pick<StoredTask, "head" | "bytes"> {
  readonly task?: Task;
  readonly damaged: boolean;
}

/**
 * Reads a task; only the row of one whose log cannot be read or is too long.
 * @throws A2AError TASK_NOT_FOUND, UNAVAILABLE
 */
async function readTask(
  parts: AdminParts,
  { taskId, maxEntries }: Pick<GetTaskRequest, "taskId" | "maxEntries">,
  call: Call,
): Promise<ShownTask> {
  const { store, engine } = parts;
  try {
    const row = maxEntries === 0 ? undefined : await store.head({ taskId });
    if (row !== undefined && row.position > maxEntries) return { bytes: 0, head: row, damaged: false };
    const { task, bytes, head } = await engine.control.get(taskId);
    return { task, bytes, head, damaged: false };
  } catch (error) {
    const head = isLoggedDamage(error, parts, { call, taskId }) ? await store.head({ taskId }) : undefined;
    if (head === undefined) throw error;
    return { bytes: 0, head, damaged: true };
  }
}

async function getTask(parts: AdminParts, request: GetTaskRequest, call: Call): Promise<GetTaskResponse> {
  const { task, bytes, head, damaged } = await readTask(parts, request, call);
  const { deliveries } = await parts.store.listDeliveries({ taskId: request.taskId, limit: MAX_DELIVERIES });
  const summary = summaryOf(parts, head);
  const answer = { summary, task, bytes: BigInt(bytes), deliveries: deliveries.map(deliveryOf), damaged };
  return withWeight(create(GetTaskResponseSchema, answer), bytes);
}
