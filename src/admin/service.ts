import type { Message } from "@bufbuild/protobuf";
import { A2AError } from "../core/error.js";
import type { Invoke } from "../service/invoke.js";
import { chain, type InvocationResult } from "../service/invoke.js";
import type { AdminContext, AdminMethods } from "./methods.js";
import { backupOperation } from "./operations/backup.js";
import { contextOperations } from "./operations/contexts.js";
import { deliveryOperations } from "./operations/deliveries.js";
import { ownerOperations } from "./operations/owners.js";
import { serverOperations } from "./operations/server.js";
import { taskOperations } from "./operations/tasks.js";
import { transferOperations } from "./operations/transfer.js";
import type { AdminParts } from "./parts.js";

/** Creates the operator's service behind its bindings. */
export function createAdminInvoke(parts: AdminParts): Invoke {
  const methods = createMethods(parts);
  return chain([], async ({ method, request, call }): Promise<InvocationResult> => {
    const run = methods[method.localName as keyof AdminMethods] as
      | ((request: Message, context: AdminContext) => InvocationResult | Promise<InvocationResult>)
      | undefined;
    if (run === undefined) throw new A2AError("METHOD_NOT_FOUND", "Method not found.");
    return run(request, { call, operator: { name: "", role: "read" } });
  });
}

function createMethods(parts: AdminParts): AdminMethods {
  return {
    ...taskOperations(parts),
    ...contextOperations(parts),
    ...ownerOperations(parts),
    ...transferOperations(parts),
    ...backupOperation(parts),
    ...deliveryOperations(parts),
    ...serverOperations(parts),
  };
}
