import { challengeOf } from "../../auth/guard.js";
import { withInterfaces } from "../../card/interfaces.js";
import { A2AError } from "../../core/error.js";
import type { OperationParts, ServiceMethods } from "./operation.js";

/** The card for authenticated callers (specification 3.1.11). */
export function cardOperation({ options }: OperationParts): Pick<ServiceMethods, "getExtendedAgentCard"> {
  return {
    async getExtendedAgentCard(_request, { call, served }) {
      if (served.card.capabilities?.extendedAgentCard !== true) {
        throw new A2AError("UNSUPPORTED_OPERATION", "The agent has no extended card.");
      }
      if (served.extendedCard === undefined) {
        throw new A2AError("EXTENDED_AGENT_CARD_NOT_CONFIGURED", "The agent's extended card is not configured.");
      }
      if (!call.caller.authenticated) {
        const { security } = served.agent;
        const challenge =
          security === undefined
            ? options.authenticator?.challenge
            : challengeOf(security, () => options.resourceMetadata(served.tenant, call));
        const headers = { "www-authenticate": challenge ?? "Bearer" };
        throw new A2AError("UNAUTHENTICATED", "The extended card is for authenticated callers.", { headers });
      }
      const card = served.extendedCard(call.caller);
      if (card === undefined) throw new A2AError("PERMISSION_DENIED", "The extended card is not for this caller.");
      call.responseHeaders.set("cache-control", "private, no-cache");
      const complete = withInterfaces(card, options.interfaces(served.tenant, call));
      return options.signCard === undefined ? complete : options.signCard(complete);
    },
  };
}
