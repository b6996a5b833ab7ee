import type { AgentDirectory } from "../../card/agents.js";
import { invalid } from "../../core/error.js";
import type { Interceptor } from "../invoke.js";

/**
 * Finds the agent that the request's tenant stands for. A value that leads to none is a validation error: tenants
 * are declared in public cards, so saying so tells nobody anything new (section 4.4.6; the specification names no
 * error).
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
