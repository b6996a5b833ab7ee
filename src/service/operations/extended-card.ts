import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { forAudit } from "../../audit/audit.js";
import { challengeOf } from "../../auth/guard.js";
import { cardTag } from "../../card/documents.js";
import { withInterfaces } from "../../card/interfaces.js";
import { bounded } from "../../core/async.js";
import { A2AError } from "../../core/error.js";
import type { OperationParts, ServiceMethods } from "./operation.js";

/** Timeout of an agent's function that creates the extended card of a caller, in milliseconds. */
export const extendedCard = { timeoutMs: 10_000 } as const;

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
        const refusal = new A2AError("UNAUTHENTICATED", "The extended card is for authenticated callers.", { headers });
        throw forAudit(refusal, { reason: "missing" });
      }
      const found = served.extendedCard(call.caller);
      const timeout = { ms: extendedCard.timeoutMs, error: tooLate };
      const card =
        found instanceof Promise ? await bounded(found, { cancellation: call.cancellation, timeout }) : found;
      if (card === undefined) throw new A2AError("PERMISSION_DENIED", "The extended card is not for this caller.");
      const complete = withInterfaces(card, options.interfaces(served.tenant, call));
      // A signature covers the document of one version, and other versions have other documents.
      const { signCard, versions } = options;
      const isNative = versions.isAsNative(call.version);
      const shown = signCard === undefined || !isNative ? complete : await signCard(complete);
      call.responseHeaders.set("cache-control", "private, no-cache");
      call.responseHeaders.set("vary", credentialHeaders(served.card).join(", "));
      call.responseHeaders.set("etag", cardTag(shown));
      return shown;
    },
  };
}

function tooLate(): A2AError {
  return new A2AError("UNAVAILABLE", "The extended card did not come in time.", { retryAfterMs: 1_000 });
}

/** Names of the headers with credentials, which determine the caller of the card. */
function credentialHeaders({ securitySchemes }: AgentCard): readonly string[] {
  const names = new Set(["authorization"]);
  for (const { scheme } of Object.values(securitySchemes)) {
    if (scheme.case !== "apiKeySecurityScheme") continue;
    if (scheme.value.location === "cookie") names.add("cookie");
    if (scheme.value.location === "header") names.add(scheme.value.name.toLowerCase());
  }
  return [...names];
}
