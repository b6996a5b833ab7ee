import { clientCredentialsGrant } from "openid-client";
import type { Credential } from "../credentials/credential.js";
import { flowCredential } from "./flow-credential.js";
import { checkOAuthOptions, type OAuthOptions } from "./options.js";
import { TokenKeeper } from "./token-keeper.js";

/** Options of `clientCredentials`: a secret or a private key, and the options of all flows. */
export interface ClientCredentialsOptions extends OAuthOptions {}

/**
 * OAuth 2.0 for a program that acts for itself (RFC 6749, 4.4; specification 4.5.9). It fits agents whose card names
 * that flow, and OpenID Connect. The token is fetched with the first call, renewed before it expires, and once after an
 * agent rejects it.
 *
 * @throws TypeError for invalid options
 */
export function clientCredentials(options: ClientCredentialsOptions): Credential {
  checkOAuthOptions(options);
  const keeper = new TokenKeeper(options, {
    name: "clientCredentials",
    isUnattended: true,
    obtain: ({ issuer, parameters }) => clientCredentialsGrant(issuer.config, parameters),
  });
  if (options.clientSecret === undefined && options.privateKey === undefined) {
    throw new TypeError("clientCredentials needs a clientSecret or a privateKey");
  }
  return flowCredential(keeper, "clientCredentials", options);
}
