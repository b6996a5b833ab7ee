import { type DescField, type DescMessage, type DescMethod, type Message, ScalarType } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { Audit, AuditFacts } from "../audit/audit.js";
import { A2AError, invalid, toA2AError } from "../core/error.js";
import { mapStream } from "../core/map-stream.js";
import { toCallerError } from "../engine/log/outage.js";
import { accessLog } from "../service/interceptors/access-log.js";
import { admission } from "../service/interceptors/admission.js";
import { trace } from "../service/interceptors/trace.js";
import { chain, type InvocationResult, type Invoke, isStream, type ServiceInterceptor } from "../service/invoke.js";
import { OutgoingBudget } from "../service/outgoing-budget.js";
import { type Rule, rulesFor } from "../service/rules.js";
import { validatorOf } from "../service/validation.js";
import { fieldValue } from "../wire/field-rules.js";
import type { OperatorAccess } from "./access.js";
import { operatorAudit, operatorLog, writeFacts } from "./audit.js";
import { CallAgents, noteSubject } from "./call-facts.js";
import { CheckedStream } from "./checked-stream.js";
import { adminBounds, adminLimitsOf } from "./limits.js";
import type { AdminContext, AdminMethods, Role } from "./methods.js";
import { answerOperation } from "./operations/answer.js";
import { auditOperation } from "./operations/audit-records.js";
import { backupOperation } from "./operations/backup.js";
import { deliveryOperations } from "./operations/deliveries.js";
import { contextOperations, ownerOperations } from "./operations/owners.js";
import { operatorOperation, serverOperations } from "./operations/server.js";
import { taskOperations } from "./operations/tasks.js";
import { transferOperations } from "./operations/transfer.js";
import { ofWholeServer } from "./operations/whole-server.js";
import type { AdminParts } from "./parts.js";

interface AdminServiceOptions {
  readonly access: OperatorAccess;
  readonly logsCalls: boolean;
  /** Delays calls until the server has started. */
  readonly afterStart: ServiceInterceptor;
}

/** Creates the operator's service behind its bindings. */
export function createAdminInvoke(parts: AdminParts, { access, logsCalls, afterStart }: AdminServiceOptions): Invoke {
  const methods = createMethods(parts);
  const protocolRules = rulesFor(parts.limits);
  // The content of an answer has the rules of the protocol, not those of this service.
  const violationsOf = validatorOf((desc) => protocolRules.get(desc.typeName) ?? sizeRule(desc));
  const limits = adminLimitsOf(parts.limits);
  const names = { calls: "maxAdminCalls", streams: "maxAdminStreams" } as const;
  const agents = new CallAgents(parts);
  const interceptors = [
    trace(() => agents.only),
    ...(logsCalls ? [accessLog(operatorLog(parts.logger))] : []),
    afterStart,
    admission({ limits, names, draining: () => false, audit: operatorAudit(parts.audit) }),
  ];
  return chain(interceptors, async (invocation) => {
    const { method, request, call } = invocation;
    const role = roleOf(method);
    const context = { call, operator: await access.admit(call, role) };
    const violations = violationsOf(method.input, request);
    if (violations.length > 0) throw invalid(violations);
    const named = await noteSubject(call, request, agents);
    const run = async (): Promise<InvocationResult> => {
      const operation = methods[method.localName as keyof AdminMethods] as
        | ((request: Message, context: AdminContext) => InvocationResult | Promise<InvocationResult>)
        | undefined;
      if (operation === undefined) throw new A2AError("METHOD_NOT_FOUND", "Method not found.");
      try {
        const answer = await operation(request, context);
        return isStream(answer) ? mapStream(answer, new CheckedStream(access, call, role)) : answer;
      } catch (error) {
        throw toCallerError(error);
      }
    };
    return role === "read" || parts.audit === undefined
      ? run()
      : audited(parts.audit, writeFacts(invocation, named, context), run);
  });
}

/** Returns the role that a method needs, which its descriptor tells. */
export function roleOf({ idempotency }: DescMethod): Role {
  return idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS ? "read" : "write";
}

/** Runs a method that changes something. It is recorded before it begins, and again if it fails. */
async function audited(
  audit: Audit,
  facts: AuditFacts,
  run: () => Promise<InvocationResult>,
): Promise<InvocationResult> {
  audit.record(facts);
  try {
    return await run();
  } catch (error) {
    audit.record({ ...facts, outcome: "failure", reason: toA2AError(error).reason });
    throw error;
  }
}

function createMethods(parts: AdminParts): AdminMethods {
  const budget = new OutgoingBudget(parts.limits);
  return {
    ...taskOperations(parts, budget),
    ...answerOperation(parts),
    ...contextOperations(parts),
    ...ownerOperations(parts),
    ...transferOperations(parts, budget),
    ...backupOperation(parts),
    ...deliveryOperations(parts),
    ...operatorOperation,
    ...ofWholeServer({ ...serverOperations(parts), ...auditOperation(parts) }, parts.others),
  };
}

/** Texts whose length only the size of the request limits: an export of a task. */
const long = new Set(["parley.admin.v1.ImportTaskRequest.lines"]);

/** Returns the rule for the sizes of a message's fields: the length of its texts and the number of items in its lists. */
function sizeRule(desc: DescMessage): Rule | undefined {
  const texts = desc.fields.filter((field) => isTextField(field) && !long.has(`${desc.typeName}.${field.name}`));
  const lists = desc.fields.filter(({ fieldKind }) => fieldKind === "list");
  if (texts.length + lists.length === 0) return undefined;
  const { textLength, items } = adminBounds;
  return (message, report) => {
    for (const field of texts) {
      const value = fieldValue(message, field);
      if (typeof value === "string" && value.length > textLength) {
        report(field.jsonName, `must have at most ${textLength} characters`);
      }
    }
    for (const field of lists) {
      const value = fieldValue(message, field);
      if (Array.isArray(value) && value.length > items) report(field.jsonName, `must have at most ${items} items`);
    }
  };
}

function isTextField(field: DescField): boolean {
  return field.fieldKind === "scalar" && field.scalar === ScalarType.STRING;
}
