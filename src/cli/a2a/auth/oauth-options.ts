import type { SecurityScheme } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { OAuthOptions } from "../../../client/oauth/options.js";
import { isLoopback } from "../../../core/net.js";
import { given } from "../../../core/options.js";
import type { Login } from "./store.js";

/** Parts of a login that a token is fetched with. */
type Asking = Pick<Login, "agent" | "issuer" | "clientId" | "clientSecret" | "scopes" | "resource" | "audience">;

/** Returns the options of OAuth for a login. */
export function oauthOptions(
  { agent, issuer, clientId = "", clientSecret, scopes, resource, audience }: Asking,
  more: Pick<OAuthOptions, "tokens" | "fetch">,
): OAuthOptions {
  return {
    clientId,
    ...given({ clientSecret, issuer, scopes, resource, audience }),
    // A card of another machine cannot send requests to services of this one.
    allowLocalIssuer: isLoopback(agent) || (issuer !== undefined && isLoopback(issuer)),
    ...more,
  };
}

/** Returns the document or endpoint by which a scheme names its issuer. */
export function issuerOf({ scheme }: SecurityScheme): string | undefined {
  if (scheme.case === "openIdConnectSecurityScheme") return scheme.value.openIdConnectUrl;
  if (scheme.case !== "oauth2SecurityScheme") return undefined;
  const { oauth2MetadataUrl, flows } = scheme.value;
  const { value } = flows?.flow ?? {};
  return oauth2MetadataUrl || (value !== undefined && "tokenUrl" in value ? value.tokenUrl : undefined);
}
