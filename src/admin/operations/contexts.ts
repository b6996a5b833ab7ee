import { create } from "@bufbuild/protobuf";
import {
  ContextSummarySchema,
  ListContextsRequestSchema,
  ListContextsResponseSchema,
} from "../../../gen/parley/admin/v1/admin_pb.js";
import { timestampOf } from "../../task/entry.js";
import type { AdminMethods } from "../methods.js";
import { pageOf } from "../page.js";
import type { AdminParts } from "../parts.js";

/** Lists conversations of all owners. */
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
      const nextPageToken = found.next === undefined ? "" : page.token([found.next.statusTime, found.next.taskId]);
      return create(ListContextsResponseSchema, { contexts, nextPageToken });
    },
  };
}
