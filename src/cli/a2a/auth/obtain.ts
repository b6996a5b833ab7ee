import { create } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSchema, type SecurityScheme } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Credential } from "../../../client/credentials/credential.js";
import type { OAuthOptions } from "../../../client/oauth/options.js";
import { readTokens } from "../../../client/oauth/tokens.js";
import { fetchClient } from "../../../client/web/http.js";
import { A2AError } from "../../../core/error.js";
import { Failure } from "../errors.js";
import { shownDuration } from "../kinds.js";
import type { Scope } from "../scope.js";
import { loginFailure } from "./plan.js";
import type { Flow } from "./store.js";

export interface LoginRequest {
  readonly agent: string;
  readonly flow: Flow;
  readonly declared: SecurityScheme;
  readonly scopes: readonly string[];
  readonly options: OAuthOptions;
  /** Opens the issuer's page in a browser. */
  readonly opensBrowser: boolean;
  /** Redirect URI on this machine, without a port for any. */
  readonly redirectUri: URL;
}

/** Time for a user to sign in, in milliseconds. */
const SIGN_IN_MS = 600_000;

/** The name of the scheme in the card that the flows see. */
const NAME = "login";

/** Gets tokens by a flow of OAuth. Returns them as the client stores them. @throws Failure */
export async function obtainTokens(context: Scope, login: LoginRequest): Promise<Readonly<Record<string, string>>> {
  const tokens = new Map<string, string>();
  const noted = {
    get: (key: string) => tokens.get(key),
    delete: (key: string) => tokens.delete(key),
    set: (key: string, text: string) => {
      const { accessToken, refreshToken } = readTokens(text) ?? {};
      for (const secret of [accessToken, refreshToken]) context.out.redactor.add(secret);
      tokens.set(key, text);
    },
  };
  const options = { ...login.options, tokens: noted };
  try {
    if (login.flow === "code") await byCode(context, login, options);
    else await byCredential(context, login, await credentialOf(context, login, options));
  } catch (error) {
    if (context.signal.aborted || error instanceof Failure || !(error instanceof A2AError)) throw error;
    throw failureOf(error, login);
  }
  return Object.fromEntries(tokens);
}

function failureOf(error: A2AError, { flow }: LoginRequest): Failure {
  if (error.reason === "UNAVAILABLE" || error.reason === "DEADLINE_EXCEEDED") {
    return new Failure("A2ACLI_ERR_UNREACHABLE", error.message, { hint: "try again later", cause: error });
  }
  // An issuer of OpenID Connect need not have this endpoint.
  const hasNoDevices = flow === "device" && error.message.includes("device_authorization_endpoint");
  return hasNoDevices
    ? loginFailure("The issuer has no login by device.", "use --flow code", error)
    : loginFailure(error.message, "check --client-id and the scopes that the client may have", error);
}

async function credentialOf(context: Scope, { flow }: LoginRequest, options: OAuthOptions): Promise<Credential> {
  if (flow === "client-credentials") {
    const { clientCredentials } = await import("../../../client/oauth/client-credentials.js");
    return clientCredentials(options);
  }
  const { deviceCode } = await import("../../../client/oauth/device-code.js");
  return deviceCode({
    ...options,
    prompt: ({ userCode, verificationUri, verificationUriComplete, expiresInMs }) => {
      context.out.note(`Open ${verificationUri} and enter the code ${userCode}`);
      if (verificationUriComplete !== undefined) context.out.note(`Or open ${verificationUriComplete}`);
      context.out.note(`Waiting until you agree. The code expires in ${shownDuration(expiresInMs)}.`);
    },
  });
}

/** Lets a credential fetch its token, as for a call. */
async function byCredential({ signal }: Scope, login: LoginRequest, credential: Credential): Promise<void> {
  const { agent, declared: scheme, scopes } = login;
  await credential.apply(
    { header: new Headers(), addQuery: () => {} },
    {
      card: cardOf(login),
      name: NAME,
      scheme,
      scopes,
      url: agent,
      http: fetchClient(login.options.fetch ?? fetch),
      signal,
    },
  );
}

async function byCode(context: Scope, login: LoginRequest, options: OAuthOptions): Promise<void> {
  const { authorizationCode } = await import("../../../client/oauth/authorization-code.js");
  const { Redirect } = await import("./redirect.js");
  const redirect = await Redirect.open(login.redirectUri);
  try {
    const credential = authorizationCode({ ...options, storage: new Map(), redirectUri: redirect.url });
    const page = await credential.begin({ card: cardOf(login), interface: { url: login.agent } });
    redirect.expect(page.searchParams.get("state"));
    context.out.note("Open this page in a browser of this machine, and log in:");
    context.out.note(page.href);
    if (login.opensBrowser) (await import("./browser.js")).openInBrowser(page);
    const deadline = AbortSignal.timeout(SIGN_IN_MS);
    const signal = AbortSignal.any([context.signal, deadline]);
    const returned = await redirect.returned(signal).catch((error: unknown) => {
      throw deadline.aborted ? loginFailure(`Nobody logged in within ${shownDuration(SIGN_IN_MS)}.`, null) : error;
    });
    let isDone = false;
    try {
      isDone = await credential.finish(returned.url);
    } finally {
      returned.answer(isDone);
    }
  } finally {
    redirect.close();
  }
}

/** Returns a card with the scheme alone. */
function cardOf({ declared, scopes }: LoginRequest): AgentCard {
  return create(AgentCardSchema, {
    securitySchemes: { [NAME]: declared },
    securityRequirements: [{ schemes: { [NAME]: { list: [...scopes] } } }],
  });
}
