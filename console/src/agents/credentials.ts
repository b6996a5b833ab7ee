import {
  apiKey,
  basic,
  bearer,
  type ClientOptions,
  type Credential,
  type CredentialContext,
  type Credentials,
} from "../../../src/client/web.js";
import { absolute } from "../api/agents.js";
import { type Login, logins, type OAuthLogin, type SchemeLogin } from "./logins.js";

/** Options of a client that carry the login at an agent. */
export type LoginOptions = Pick<ClientOptions, "credentials" | "credentialHosts">;

/** Returns the credentials that were given for an agent in this tab; undefined without any. */
export function credentialsFor(url: string): Credentials | undefined {
  return loginOptionsFor(url).credentials;
}

/** Returns the options of `connect` for the login at an agent. */
export function loginOptionsFor(url: string): LoginOptions {
  const agent = absolute(url);
  const login = logins.get(agent);
  const schemes = Object.entries(login.schemes);
  if (schemes.length === 0) return {};
  const credentials = Object.fromEntries(schemes.map(([name, each]) => [name, credentialOf(agent, login, each)]));
  return { credentials, ...(login.hosts !== undefined && { credentialHosts: login.hosts }) };
}

function credentialOf(agent: string, { allowHttp = false }: Login, login: SchemeLogin): Credential {
  const sent = { allowHttp };
  switch (login.kind) {
    case "apiKey":
      return apiKey(login.key, sent);
    case "basic":
      return basic(login.user, login.password, sent);
    case "bearer":
      return bearer(login.token, sent);
    default:
      return oauthCredential(agent, login, allowHttp);
  }
}

/** A credential whose code is loaded when the first call needs it. */
function oauthCredential(agent: string, login: OAuthLogin, allowHttp: boolean): Credential {
  let loading: Promise<Credential> | undefined;
  const load = (): Promise<Credential> => {
    loading ??= import("./oauth.js").then(({ storedTokens }) => storedTokens(agent, login, allowHttp));
    return loading;
  };
  return {
    fits: ({ scheme }) => scheme.case === "oauth2SecurityScheme" || scheme.case === "openIdConnectSecurityScheme",
    apply: async (target, context) => (await load()).apply(target, context),
    refused: async (context) => (await (await load()).refused?.(context)) === true,
    insufficient: async (context: CredentialContext, scopes) =>
      (await (await load()).insufficient?.(context, scopes)) === true,
  };
}
