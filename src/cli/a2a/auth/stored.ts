import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { type AgentCard, type SecurityScheme, SecuritySchemeSchema } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { apiKey } from "../../../client/credentials/api-key.js";
import { basic } from "../../../client/credentials/basic.js";
import { bearer } from "../../../client/credentials/bearer.js";
import type { Credential, CredentialContext } from "../../../client/credentials/credential.js";
import { checkEncrypted } from "../../../client/credentials/secret.js";
import { Failure } from "../errors.js";
import type { Scope } from "../scope.js";
import { issuerOf, oauthOptions } from "./oauth-options.js";
import { type Login, LoginStore } from "./store.js";

export interface Called {
  readonly card: AgentCard;
  /** Origin of its card, or of its interface if no card was read from the network. */
  readonly agent: string;
  readonly url: string;
}

/**
 * Returns the credentials that `auth login` has stored for an agent, by the names of its schemes. None is returned for
 * an interface that the agent did not have at the login.
 */
export async function storedCredentials(context: Scope, called: Called): Promise<Readonly<Record<string, Credential>>> {
  const found: Record<string, Credential> = {};
  for (const login of loginsFor(context, called)) {
    const { securitySchemes } = called.card;
    const scheme = Object.hasOwn(securitySchemes, login.scheme) ? securitySchemes[login.scheme] : undefined;
    if (scheme === undefined || Object.hasOwn(found, login.scheme)) continue;
    const credential = await credentialOf(context, login);
    if (credential.fits(scheme)) found[login.scheme] = credential;
  }
  return found;
}

/** Returns the header of a login at an agent that declares no scheme. */
export function undeclaredLogin(context: Scope, called: Called): readonly [name: string, value: string] | undefined {
  const login = loginsFor(context, called).find(({ scheme }) => scheme === "");
  if (login?.secret === undefined) return undefined;
  const { flow, secret } = login;
  noteSecrets(context, login);
  // As everywhere, no credential goes to another machine unencrypted.
  checkEncrypted(called.url);
  if (flow === "api-key") return ["x-api-key", secret];
  return ["authorization", flow === "basic" ? `Basic ${Buffer.from(secret).toString("base64")}` : `Bearer ${secret}`];
}

/** Returns the logins whose credentials may be sent to an interface. A file that cannot be used is warned of. */
function loginsFor(context: Scope, { agent, url }: Called): readonly Login[] {
  const { out } = context;
  try {
    const { origin } = new URL(url);
    const all = new LoginStore(context).all().filter((login) => login.agent === agent);
    const [other] = all.filter(({ origins }) => !origins.includes(origin));
    if (other !== undefined) {
      out.warn(`the login for ${agent} is not used, because it does not cover the interface at ${origin}`);
    }
    return all.filter(({ origins }) => origins.includes(origin));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // A command that needs no credential works without the file.
    out.warn(error.hint === null ? error.message : `${error.message}: ${error.hint}`);
    return [];
  }
}

function noteSecrets({ out: { redactor } }: Scope, { flow, secret, clientSecret }: Login): void {
  for (const each of [secret, clientSecret]) redactor.add(each);
  if (flow === "basic" && secret !== undefined) redactor.add(passwordIn(secret));
}

async function credentialOf(context: Scope, login: Login): Promise<Credential> {
  const { flow, secret = "" } = login;
  noteSecrets(context, login);
  if (flow === "bearer") return bearer(secret);
  if (flow === "api-key") return apiKey(secret);
  if (flow === "basic") return basic(secret.slice(0, secret.indexOf(":")), passwordIn(secret));
  const { issuerHttp } = await import("./issuer-http.js");
  const { fetch, close } = issuerHttp(context);
  context.onClose(close);
  const tokens = new LoginStore(context).tokensOf(login, (each) => context.out.redactor.add(each));
  return ofAgent(login, await oauthCredential(login, oauthOptions(login, { tokens, fetch })));
}

/** Returns the password of `name:password`. */
const passwordIn = (secret: string): string => secret.slice(secret.indexOf(":") + 1);

async function oauthCredential({ flow }: Login, options: ReturnType<typeof oauthOptions>): Promise<Credential> {
  if (flow === "client-credentials") {
    const { clientCredentials } = await import("../../../client/oauth/client-credentials.js");
    return clientCredentials(options);
  }
  const { signedIn } = await import("../../../client/oauth/kept.js");
  return signedIn(options, flow === "device" ? "deviceCode" : "authorizationCode");
}

/**
 * Uses one token for all interfaces of an agent. Its scheme is the one of the login, so that a later card cannot have
 * secrets sent to another issuer.
 */
function ofAgent({ agent, declared, issuedBy }: Login, credential: Credential): Credential {
  const scheme = schemeIn(declared);
  const known = new WeakMap<CredentialContext, CredentialContext>();
  const atLogin = (context: CredentialContext): CredentialContext => {
    const same = known.get(context) ?? { ...context, scheme, url: agent };
    known.set(context, same);
    return same;
  };
  return {
    fits: (each) => each.scheme.case === scheme.scheme.case && issuerOf(each) === issuedBy,
    apply: (target, context) => credential.apply(target, atLogin(context)),
    refused: async (context) => (await credential.refused?.(atLogin(context))) ?? false,
    insufficient: async (context, scopes) => (await credential.insufficient?.(atLogin(context), scopes)) ?? false,
  };
}

function schemeIn(declared: unknown): SecurityScheme {
  return fromJson(SecuritySchemeSchema, declared as JsonValue, { ignoreUnknownFields: true });
}
