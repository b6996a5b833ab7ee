import type { AgentDirectory } from "../../card/agents.js";
import { invalid } from "../../core/error.js";
import type { Interceptor } from "../invoke.js";

/**
 * Finds the agent of the request's tenant. An unknown tenant is a validation error: tenants are declared in public
 * cards, so the error reveals nothing (section 4.4.6; the specification names no error).
 */
export function tenant(agents: AgentDirectory): Interceptor {
  return (next) => (invocation) => {
    const { method, request, call } = invocation;
    const { tenant = "" } = request as { tenant?: string };
    const served = agents.resolve(tenant);
    if (served === undefined) {
      const description =
        tenant === "" ? "is required: the chosen interface declares it" : "is served by no agent here";
      throw invalid([{ field: "tenant", description }]);
    }
    call.tenant = tenant;
    return next({ method, request, call, served });
  };
}
