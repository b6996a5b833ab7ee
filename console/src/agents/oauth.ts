import {
  type AuthorizationCodeCredential,
  authorizationCode,
  clientCredentials,
  type DevicePrompt,
  deviceCode,
  type OAuthOptions,
  type OAuthStorage,
  webStorage,
} from "../../../src/client/oauth/index.js";
import { signedIn } from "../../../src/client/oauth/kept.js";
import { fetchClient } from "../../../src/client/web/http.js";
import type { A2AClient, Credential } from "../../../src/client/web.js";
import { isLoopback } from "../../../src/core/net.js";
import { redirectUri } from "../api/base.js";
import { relayFetchOf } from "../api/relay.js";
import { changed, logins, type OAuthLogin, tokenPrefix } from "./logins.js";

/** Key of this tab's open sign-ins: the agent of each, by its state. */
const KEY = "parley-console-sign-in ";

const storageOf = (agent: string): OAuthStorage => webStorage(sessionStorage, tokenPrefix(agent));

function optionsOf(agent: string, login: OAuthLogin, allowHttp: boolean): OAuthOptions {
  const { clientId, clientSecret, issuer, scopes, resource } = login;
  return {
    clientId,
    ...(clientSecret !== undefined && { clientSecret }),
    ...(issuer !== undefined && { issuer }),
    ...(scopes !== undefined && { scopes }),
    ...(resource !== undefined && { resource }),
    tokens: storageOf(agent),
    // Apart from the agent's own exchanges, because all of these hold secrets.
    fetch: relayFetchOf(`issuer of ${agent}`),
    // The card of a remote agent must not send this browser's secrets to local servers.
    allowLocalIssuer: isLoopback(agent),
    allowHttp,
  };
}

/** Returns the credential of an agent's tokens. A call without any fails, unless the client can get them by itself. */
export function storedTokens(agent: string, login: OAuthLogin, allowHttp: boolean): Credential {
  const options = optionsOf(agent, login, allowHttp);
  return login.kind === "clientCredentials" ? clientCredentials(options) : signedIn(options, login.kind);
}

function codeOf(agent: string, login: OAuthLogin, allowHttp: boolean): AuthorizationCodeCredential {
  return authorizationCode({ ...optionsOf(agent, login, allowHttp), redirectUri, storage: storageOf(agent) });
}

/** A sign-in that takes the person to another page. */
interface Begun {
  readonly agent: string;
  readonly scheme: string;
}

/** Begins a sign-in, and returns the issuer's page to go to. @throws A2AError */
export async function beginSignIn(client: A2AClient, { agent, scheme }: Begun): Promise<URL> {
  const { login, allowHttp } = loginOf(agent, scheme);
  const page = await codeOf(agent, login, allowHttp).begin(client);
  const state = page.searchParams.get("state") ?? "";
  sessionStorage.setItem(KEY + state, JSON.stringify({ agent, scheme } satisfies Begun));
  return page;
}

/**
 * Ends a sign-in with the address that the issuer sent the person to. Returns the agent.
 *
 * @throws A2AError if the person declined or the issuer refused
 */
export async function finishSignIn(callback: URL): Promise<string> {
  const key = KEY + (callback.searchParams.get("state") ?? "");
  const begun = JSON.parse(sessionStorage.getItem(key) ?? "null") as Begun | null;
  sessionStorage.removeItem(key);
  if (begun === null) throw new NoSignIn();
  const { login, allowHttp } = loginOf(begun.agent, begun.scheme);
  await codeOf(begun.agent, login, allowHttp).finish(callback);
  changed(begun.agent);
  return begun.agent;
}

/** Thrown if this tab began no sign-in with the state of the address. */
export class NoSignIn extends Error {
  override name = "NoSignIn";
}

/** Shows a code to confirm on another page or device, and waits until it is confirmed. @throws A2AError */
export async function confirmDevice(
  client: A2AClient,
  {
    agent,
    scheme,
    signal,
    prompt,
  }: Begun & { readonly signal: AbortSignal; readonly prompt: (shown: DevicePrompt) => void },
): Promise<void> {
  const { login, allowHttp } = loginOf(agent, scheme);
  const options = optionsOf(agent, login, allowHttp);
  const credential = deviceCode({ ...options, prompt });
  const declared = client.card.securitySchemes[scheme];
  if (declared === undefined) throw new NoSignIn();
  const required = client.card.securityRequirements.find(({ schemes }) => Object.hasOwn(schemes, scheme));
  const http = fetchClient(options.fetch ?? fetch);
  const { card } = client;
  const scopes = required?.schemes[scheme]?.list ?? [];
  await credential.apply(
    { header: new Headers(), addQuery: () => {} },
    { card, name: scheme, scheme: declared, scopes, url: client.interface.url, http, signal },
  );
  changed(agent);
}

function loginOf(agent: string, scheme: string): { readonly login: OAuthLogin; readonly allowHttp: boolean } {
  const { schemes, allowHttp = false } = logins.get(agent);
  const login = schemes[scheme];
  if (login === undefined || !("clientId" in login)) throw new NoSignIn();
  return { login, allowHttp };
}
