import { create, type Message } from "@bufbuild/protobuf";
import { LeaseSchema, type TaskSummary, TaskSummarySchema } from "../../../gen/parley/admin/v1/admin_pb.js";
import type { Call } from "../../core/call.js";
import { taskNotFound } from "../../core/error.js";
import { logFacts } from "../../core/log.js";
import { runsOf } from "../../engine/log/attempts.js";
import { isDamaged } from "../../engine/log/outage.js";
import type { TaskHead } from "../../store/task-store.js";
import { timestampOf } from "../../task/entry.js";
import { LARGE_BYTES, mark } from "../../wire/marks.js";
import { agentName } from "../call-facts.js";
import type { AdminParts } from "../parts.js";

/** Returns the row of a task in lists. */
export function summaryOf({ agents }: Pick<AdminParts, "agents">, head: TaskHead): TaskSummary {
  const { taskId, tenant, owner, contextId, state, statusTime, position, generation, lease } = head;
  const summary = create(TaskSummarySchema, { taskId, tenant, owner, contextId, state, position, generation });
  summary.agent = agentName(agents, tenant);
  summary.statusTime = timestampOf(statusTime);
  if (lease !== null) summary.lease = create(LeaseSchema, { ...lease, attempt: runsOf(lease) });
  return summary;
}

/** Reads the row of a task. @throws A2AError TASK_NOT_FOUND */
export async function storedSummary(parts: AdminParts, taskId: string): Promise<TaskSummary> {
  const head = await parts.store.head({ taskId });
  if (head === undefined) throw taskNotFound(taskId);
  return summaryOf(parts, head);
}

/** Marks a large answer, so that it is written in pieces and counts as unread until then. */
export function withWeight<M extends Message>(message: M, bytes: number): M {
  return bytes < LARGE_BYTES ? message : mark(message, { weight: { bytes, source: message } });
}

/** A task that a call reads. */
export interface TaskOfCall {
  readonly call: Call;
  readonly taskId: string;
  /** Tenant of the task. Undefined if the request names the task, and the call its agent. */
  readonly tenant?: string;
}

/** True if an error says that a task cannot be read. Logs that, because the call is answered without its content. */
export function isLoggedDamage(
  error: unknown,
  { logger, agents }: AdminParts,
  { call, taskId, tenant }: TaskOfCall,
): boolean {
  if (!isDamaged(error)) return false;
  const { requestId, traceParent } = call;
  const agent = tenant === undefined ? call.agent : agentName(agents, tenant);
  const facts = logFacts({ requestId, traceParent, taskId, agent });
  logger.error({ err: (error as Error).cause, ...facts }, "a task cannot be read");
  return true;
}
