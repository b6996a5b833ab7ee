import { create } from "@bufbuild/protobuf";
import {
  CancelTaskResponseSchema,
  DeleteTaskResponseSchema,
  FailTaskResponseSchema,
  GetTaskResponseSchema,
} from "../../../gen/parley/admin/v1/admin_pb.js";
import { A2AError, invalid, taskNotFound } from "../../core/error.js";
import type { AdminMethods } from "../methods.js";
import type { AdminParts } from "../parts.js";
import { deliveryOf } from "./deliveries.js";
import { followTasks } from "./task-changes.js";
import { followTask, listEntries } from "./task-entries.js";
import { listTasks } from "./task-list.js";
import { storedSummary, summaryOf } from "./task-summary.js";

/** Maximum length of the text of a task that an operator fails, in characters. */
const MAX_MESSAGE = 1_000;

/** Maximum number of push configurations in the answer about a task. `ListDeliveries` has all. */
const MAX_DELIVERIES = 100;

const failed = "The task was ended by an operator of the server.";

/** Reads, follows and ends tasks of all owners. */
export function taskOperations(
  parts: AdminParts,
): Pick<
  AdminMethods,
  "listTasks" | "getTask" | "listEntries" | "followTask" | "followTasks" | "cancelTask" | "failTask" | "deleteTask"
> {
  const { store, engine } = parts;
  return {
    listTasks: (request) => listTasks(parts, request),
    async getTask({ taskId }) {
      const { task, bytes, head } = await engine.control.get(taskId);
      const { deliveries } = await store.listDeliveries({ taskId, limit: MAX_DELIVERIES });
      return create(GetTaskResponseSchema, {
        summary: summaryOf(parts, head),
        task,
        bytes: BigInt(bytes),
        deliveries: deliveries.map(deliveryOf),
      });
    },
    listEntries: (request) => listEntries(parts, request),
    followTask: (request, { call }) => followTask(parts, request, call.cancellation),
    followTasks: (request, { call }) => followTasks(parts, request, call.cancellation),
    async cancelTask({ taskId }) {
      await engine.control.cancel(taskId);
      return create(CancelTaskResponseSchema, { task: await storedSummary(parts, taskId) });
    },
    async failTask({ taskId, message }) {
      if (message.length > MAX_MESSAGE) {
        throw invalid([{ field: "message", description: `must have at most ${MAX_MESSAGE} characters` }]);
      }
      await engine.control.fail(taskId, message === "" ? failed : message);
      return create(FailTaskResponseSchema, { task: await storedSummary(parts, taskId) });
    },
    async deleteTask({ taskId }) {
      if ((await store.removeTasks({ taskIds: [taskId] })) === 0) {
        if ((await store.head({ taskId })) === undefined) throw taskNotFound(taskId);
        const metadata = { taskId };
        throw new A2AError("UNSUPPORTED_OPERATION", "The task has not ended. Cancel or fail it first.", { metadata });
      }
      return create(DeleteTaskResponseSchema);
    },
  };
}
