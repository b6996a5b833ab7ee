import type { Call } from "../../core/call.js";
import { logFacts } from "../../core/log.js";
import { isDamaged } from "../../engine/log/outage.js";
import type { AdminParts } from "../parts.js";

/** A task that a call reads. */
export interface TaskOfCall {
  readonly call: Call;
  readonly taskId: string;
}

/** True if an error says that a task cannot be read. Logs that, because the call is answered without its content. */
export function isLoggedDamage(error: unknown, { logger }: AdminParts, { call, taskId }: TaskOfCall): boolean {
  if (!isDamaged(error)) return false;
  const facts = { ...logFacts(call), taskId };
  logger.error({ err: (error as Error).cause, ...facts }, "a task cannot be read");
  return true;
}
