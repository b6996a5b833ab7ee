import { type Audit, type AuditFacts, silentAudit } from "../audit/audit.js";
import { type Logger, logFacts } from "../core/log.js";
import { membersOf } from "../core/members.js";
import type { Invocation } from "../service/invoke.js";
import type { NamedByRequest } from "./call-facts.js";
import type { Operator } from "./methods.js";

/**
 * Returns the audit log for refused calls of operators. They name the operator in place of an owner. Calls for a
 * task that does not exist are not recorded: operators may see every task, so nothing was refused.
 */
export function operatorAudit(audit: Audit = silentAudit): Audit {
  return {
    record: ({ owner, subject: _, ...facts }) => {
      if (facts.reason === "TASK_NOT_FOUND") return;
      audit.record({ ...facts, service: "admin", operator: owner });
    },
  };
}

/** Returns the facts of a call that changes something: the operator, and what the request names. Never its content. */
export function writeFacts(
  { method, request, call }: Invocation,
  { taskId, configId, tenant, owner }: NamedByRequest,
  { operator }: { readonly operator: Operator },
): AuditFacts {
  const { name, level, keys } = membersOf(request);
  const names = [taskId, configId, name, level].filter((each) => typeof each === "string" && each !== "");
  return {
    event: "admin.write",
    service: "admin",
    operator: operator.name,
    owner,
    tenant,
    address: call.peer.address,
    method: method.name,
    binding: call.binding,
    ...logFacts(call),
    target: names.join("/"),
    count: Array.isArray(keys) && keys.length > 0 ? keys.length : undefined,
  };
}

/** Returns the logger of the access log, whose lines name the operator in place of an owner. */
export function operatorLog(logger: Logger): Logger {
  const info: Logger["info"] = (facts, message) => {
    const { owner, ...others }: { readonly owner?: string } = facts;
    logger.info({ service: "admin", ...others, ...(owner !== undefined && { operator: owner }) }, message);
  };
  return { ...logger, info };
}
