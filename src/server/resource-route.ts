import { requirementsOf } from "../auth/security.js";
import type { AgentRegistration } from "../card/agents.js";
import { originOf } from "./card-route.js";
import type { StaticRoute } from "./dispatch.js";
import type { Settings } from "./options.js";
import type { PublicAddress } from "./public-address.js";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/** URL of the metadata of an agent as a protected resource, below the URL of the server. */
export function resourceMetadataUrl(url: string, tenant: string): string {
  return `${url}${WELL_KNOWN}${pathOf(tenant)}`;
}

const pathOf = (tenant: string): string => (tenant === "" ? "" : `/${encodeURIComponent(tenant)}`);

/**
 * The metadata of each agent that takes tokens of an authorization server (RFC 9728): its issuers and scopes. The resource is the URL
 * of the server, or of the agent below it where there are several.
 */
export function createResourceRoute(settings: Settings, address: PublicAddress): StaticRoute {
  const byPath = new Map(
    settings.agents.all
      .filter((served) => issuersOf(served).length > 0)
      .map((served) => [WELL_KNOWN + pathOf(served.tenant), served]),
  );
  const headers = [["cache-control", `public, max-age=${settings.cardMaxAgeSeconds}`]] as const;
  return (request) => {
    const { path, mount = settings.basePath } = request.target;
    const served = byPath.size === 0 ? undefined : byPath.get(path);
    if (served === undefined) return undefined;
    const url = address.url(originOf(request, mount));
    const body = JSON.stringify(metadataOf(served, url + pathOf(served.tenant)));
    return { status: 200, type: "application/json", headers, body };
  };
}

function metadataOf(served: AgentRegistration, resource: string): object {
  const { security } = served.agent;
  const scopes = security === undefined ? [] : requirementsOf(security).flatMap((each) => Object.values(each).flat());
  return {
    resource,
    authorization_servers: issuersOf(served),
    ...(scopes.length > 0 && { scopes_supported: [...new Set(scopes)] }),
    bearer_methods_supported: ["header"],
    resource_name: served.card.name,
  };
}

function issuersOf({ agent }: AgentRegistration): string[] {
  const schemes = Object.values(agent.security?.schemes ?? {});
  return [...new Set(schemes.map((scheme) => scheme.authorizationServer).filter((issuer) => issuer !== undefined))];
}
