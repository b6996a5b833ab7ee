import { create } from "@bufbuild/protobuf";
import {
  type ListTasksRequest,
  type ListTasksResponse,
  ListTasksResponseSchema,
  type Task,
  TaskState,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Call } from "../../core/call.js";
import type { Engine, Scope } from "../../engine/engine.js";
import type { View } from "../../task/fold.js";
import { LARGE_BYTES, mark, weightOf } from "../../wire/marks.js";
import { type Filters, pageToken, positionOf } from "../page-token.js";
import { longPoll, withGeneration } from "../resume.js";
import { pageSizes } from "../rules.js";
import { type OperationParts, type ServiceMethods, scopeOf } from "./operation.js";

/** Reads, lists and cancels tasks (specification 3.1.3, 3.1.4, 3.1.5). */
export function taskOperations({
  options,
  budget,
}: OperationParts): Pick<ServiceMethods, "getTask" | "listTasks" | "cancelTask"> {
  const { engine } = options;
  return {
    async getTask(request, context) {
      const { call } = context;
      const view = { historyLength: request.historyLength };
      const poll = longPoll(call);
      if (poll !== undefined) {
        const handle = await engine.open(scopeOf(call), request.id);
        try {
          await handle.whenPast(poll.after, call.cancellation, poll.waitMs);
        } finally {
          handle.release();
        }
      }
      const answer = await taskOf(engine, call, request.id, view);
      if (weightOf(answer) === undefined) return answer;
      return budget.admitAnswer(call, answer, () => taskOf(engine, call, request.id, view));
    },

    async listTasks(request, { call }) {
      const filters = filtersOf(request, scopeOf(call));
      const limit = request.pageSize ?? pageSizes.default;
      const after = request.pageToken === "" ? {} : { after: positionOf(request.pageToken, filters) };
      const view = { historyLength: request.historyLength, artifacts: request.includeArtifacts === true };
      const read = async (): Promise<ListTasksResponse> => {
        const page = await engine.list({ ...filters, ...after, limit }, view, call);
        const response = create(ListTasksResponseSchema);
        response.tasks = page.views.map(({ task, generation }) => withGeneration(call, task, generation));
        response.nextPageToken = page.next === undefined ? "" : pageToken(page.next, filters);
        response.pageSize = limit;
        response.totalSize = page.total;
        return page.bytes < LARGE_BYTES
          ? response
          : mark(response, { weight: { bytes: page.bytes, source: response } });
      };
      const response = await read();
      return weightOf(response) === undefined ? response : budget.admitAnswer(call, response, read);
    },

    async cancelTask(request, { call }) {
      const { task, generation } = await engine.cancel(scopeOf(call), request.id, call.traceParent);
      const weight = weightOf(task);
      if (weight !== undefined) await budget.hold(call, weight);
      return withGeneration(call, task, generation);
    },
  };
}

async function taskOf(engine: Engine, call: Call, taskId: string, view: View): Promise<Task> {
  const { task, generation } = await engine.get(scopeOf(call), taskId, view);
  return withGeneration(call, task, generation);
}

function filtersOf(request: ListTasksRequest, scope: Scope): Filters {
  const { contextId, status, statusTimestampAfter: from } = request;
  return {
    ...scope,
    ...(contextId === "" ? {} : { contextId }),
    ...(status === TaskState.UNSPECIFIED ? {} : { state: status }),
    // Status times are whole milliseconds. The filter keeps tasks at or after the given instant.
    ...(from === undefined ? {} : { statusFrom: Number(from.seconds) * 1_000 + Math.ceil(from.nanos / 1_000_000) }),
  };
}
