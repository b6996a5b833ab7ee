import { requirementsOf } from "../auth/security.js";
import type { AgentRegistration } from "../card/agents.js";
import type { StaticRoute } from "../http/dispatch.js";
import { requestOrigin } from "./card-route.js";
import type { Settings } from "./options.js";
import type { PublicAddress } from "./public-address.js";

/** Path of a protected resource's metadata, followed by the resource's own path (RFC 9728, 3.1). */
export const RESOURCE_METADATA_PATH = "/.well-known/oauth-protected-resource";

/**
 * Returns the URL of an agent's metadata as a protected resource: that of `https://a.example/agents` is at
 * `https://a.example/.well-known/oauth-protected-resource/agents` (RFC 9728, 3.1).
 *
 * @param url of the server, with its path
 */
export function resourceMetadataUrl(url: string, tenant: string): string {
  return new URL(url).origin + metadataPath(url, tenant);
}

function metadataPath(url: string, tenant: string): string {
  return RESOURCE_METADATA_PATH + new URL(url).pathname.replace(/\/$/, "") + tenantPath(tenant);
}

const tenantPath = (tenant: string): string => (tenant === "" ? "" : `/${encodeURIComponent(tenant)}`);

/**
 * Serves the metadata of each agent that accepts tokens of an authorization server (RFC 9728): its issuers and scopes.
 * The resource is the URL of the server, or that of the agent if the server has several. If that URL has a path, the
 * metadata are also served without it, for a proxy that removes the path.
 */
export function createResourceRoute(settings: Settings, address: PublicAddress): StaticRoute {
  const guarded = settings.agents.all.filter((served) => issuersOf(served).length > 0);
  const headers = [["cache-control", `public, max-age=${settings.cardMaxAgeSeconds}`]] as const;
  return (request) => {
    const { path, mount = settings.basePath } = request.target;
    if (guarded.length === 0 || !path.startsWith(RESOURCE_METADATA_PATH)) return undefined;
    const url = address.url(requestOrigin(request, mount));
    const served = guarded.find(
      ({ tenant }) => path === metadataPath(url, tenant) || path === RESOURCE_METADATA_PATH + tenantPath(tenant),
    );
    if (served === undefined) return undefined;
    const body = JSON.stringify(resourceMetadata(served, url + tenantPath(served.tenant)));
    return { status: 200, type: "application/json", headers, body };
  };
}

function resourceMetadata(served: AgentRegistration, resource: string): object {
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
