import type { DescMethod, Message } from "@bufbuild/protobuf";
import { type Audit, type AuditFacts, silentAudit } from "../audit/audit.js";
import type { Call } from "../core/call.js";
import { type Logger, logFacts } from "../core/log.js";
import { membersOf } from "../core/members.js";
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

/** Fields that name what a request is about, in their order in `target`. */
const names = ["taskId", "configId", "name", "level"] as const;

/** Returns the facts of a call that changes something: the operator, and what the request names. Never its content. */
export function writeFacts(
  method: DescMethod,
  request: Message,
  { call, operator }: { readonly call: Call; readonly operator: Operator },
): AuditFacts {
  const fields = membersOf(request);
  const text = (name: string): string | undefined => {
    const value = fields[name];
    return typeof value === "string" ? value : undefined;
  };
  const { keys } = fields;
  return {
    event: "admin.write",
    service: "admin",
    operator: operator.name,
    owner: text("owner"),
    tenant: text("tenant"),
    address: call.peer.address,
    method: method.name,
    binding: call.binding,
    ...logFacts({ requestId: call.requestId, traceParent: call.traceParent, taskId: text("taskId") }),
    target: names.flatMap((name) => text(name) || []).join("/"),
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
