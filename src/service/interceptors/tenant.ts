import type { Message } from "@bufbuild/protobuf";
import type { AgentDirectory } from "../../card/agents.js";
import { invalid } from "../../core/error.js";
import type { Versions } from "../../version/versions.js";
import type { ServiceInterceptor } from "../invoke.js";
import { taskNamedBy } from "./task-named.js";

/**
 * Finds the agent of the request's tenant. An unknown tenant is a validation error: tenants are declared in public
 * cards, so the error reveals nothing (section 4.4.6; the specification names no error).
 */
export function tenant(agents: AgentDirectory, versions: Versions): ServiceInterceptor {
  return (next) => (invocation) => {
    const { method, request, call } = invocation;
    const { tenant = "" }: Message & { tenant?: string } = request;
    const served = agents.resolve(tenant);
    if (served === undefined) {
      const description = tenant === "" ? tenantRequired(call.version, versions) : "is served by no agent here";
      throw invalid([{ field: "tenant", description }]);
    }
    call.tenant = tenant;
    call.agent = served.card.name;
    call.taskId = taskNamedBy(request) ?? "";
    return next({ method, request, call, served });
  };
}

function tenantRequired(version: string, versions: Versions): string {
  return versions.isAsNative(version)
    ? "is required: the card names one for each agent here, and HTTP+JSON has it as the first part of the path"
    : `is required, and messages of A2A ${version} have none: over JSON-RPC and HTTP+JSON each agent has a URL of its own, which its card names`;
}
