import type { Call } from "../../core/call.js";
import { logFacts } from "../../core/log.js";
import { isDamaged } from "../../engine/log/outage.js";
import { agentName } from "../call-facts.js";
import type { AdminParts } from "../parts.js";

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
