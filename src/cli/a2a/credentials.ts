import type { Interceptor } from "@connectrpc/connect";
import { apiKey } from "../../client/credentials/api-key.js";
import { bearer } from "../../client/credentials/bearer.js";
import { chooseCredentials } from "../../client/credentials/choose.js";
import type { Credential, Credentials } from "../../client/credentials/credential.js";
import type { CardRequestError } from "../../client/discovery/discovery.js";
import type { Binding } from "../../client/discovery/interfaces.js";
import { isLoopback } from "../../core/net.js";
import { EXTENSIONS_PARAMETER } from "../../wire/service-params.js";
import type { Called } from "./auth/stored.js";
import { hasLogins } from "./config-folder.js";
import { Failure } from "./errors.js";
import { missingHint } from "./resume.js";
import type { Scope } from "./scope.js";
import type { Values } from "./settings.js";

/** Credentials of the calls of one interface. */
interface Chosen {
  /** Credentials for the schemes of the card. */
  readonly credentials: Credentials | undefined;
  /** Headers for an agent that declares no scheme. */
  readonly headers: readonly Header[];
}

type Header = readonly [name: string, value: string];

export interface CalledInterface extends Called {
  readonly binding: Binding;
  /** True if connections present a certificate of the client. */
  readonly certificate: boolean;
}

/**
 * Chooses the credentials that the card requires of those that were given, and otherwise of those that `auth login` has
 * stored.
 *
 * @throws Failure before anything is sent, if the card requires others
 */
export async function chooseFor(context: Scope, called: CalledInterface): Promise<Chosen> {
  const { settings } = context;
  const { card, binding, certificate } = called;
  const { auth, svcParam } = settings;
  const given = givenCredentials(settings);
  if (Object.keys(card.securitySchemes).length === 0) return undeclared(context, called);
  const own = auth === undefined ? [] : [["authorization", auth] as const];
  const options = { query: binding !== "GRPC", certificate };
  const explicit = chooseCredentials(card, given, options);
  if (explicit.schemes.length > 0) return { credentials: given, headers: own };
  // A header of the caller may satisfy the agent's scheme.
  const hasHeader = auth !== undefined || svcParam.some(([name]) => name.toLowerCase() === "authorization");
  const stored = hasHeader ? {} : await storedFor(context, called, given);
  const { schemes, unmet } = chooseCredentials(card, stored, options);
  if (schemes.length > 0) {
    if (schemes.some(({ credential }) => !given.includes(credential))) context.noteLogin();
    return { credentials: stored, headers: own };
  }
  const { securityRequirements: required } = card;
  const isOpen = required.length === 0 || required.some((each) => Object.keys(each.schemes).length === 0);
  if (isOpen || unmet === undefined || auth !== undefined || svcParam.length > 0) {
    return { credentials: undefined, headers: own };
  }
  const message = (Object.keys(stored).length > 0 ? unmet : explicit.unmet) ?? unmet;
  throw new Failure("A2ACLI_ERR_CREDENTIALS_MISSING", message, { hint: missingHint(context) });
}

function givenCredentials({ bearer: token, apiKey: key }: Values): readonly Credential[] {
  return [...(token === undefined ? [] : [bearer(token)]), ...(key === undefined ? [] : [apiKey(key)])];
}

/** Returns the credential for each scheme: one that was given, before one that is stored. */
async function storedFor(
  context: Scope,
  called: Called,
  given: readonly Credential[],
): Promise<Readonly<Record<string, Credential>>> {
  const stored: Readonly<Record<string, Credential>> = hasLogins(context.io)
    ? await (await import("./auth/stored.js")).storedCredentials(context, called)
    : {};
  const known = (name: string): boolean => Object.hasOwn(stored, name);
  return Object.fromEntries(
    Object.entries(called.card.securitySchemes).flatMap(([name, scheme]) => {
      const credential = given.find((each) => each.fits(scheme)) ?? (known(name) ? stored[name] : undefined);
      return credential === undefined ? [] : [[name, credential]];
    }),
  );
}

/** Returns the headers for an agent that declares no scheme. */
async function undeclared(context: Scope, called: Called): Promise<Chosen> {
  const { bearer: token, apiKey: key, auth } = context.settings;
  const headers: Header[] = [];
  if (token !== undefined && auth === undefined) headers.push(["authorization", `Bearer ${token}`]);
  if (key !== undefined) headers.push(["x-api-key", key]);
  if (headers.length === 0 && auth === undefined && hasLogins(context.io)) {
    const { undeclaredLogin } = await import("./auth/stored.js");
    const header = undeclaredLogin(context, called);
    if (header !== undefined) {
      headers.push(header);
      context.noteLogin();
    }
  }
  for (const [name] of headers) {
    context.out.note(`note: no security scheme is declared; the credential is sent in the header ${name}`);
  }
  return { credentials: undefined, headers: auth === undefined ? headers : [...headers, ["authorization", auth]] };
}

/** Returns the value of `Authorization` that a server asked for with its card, if it may be sent there. */
export function cardAuthorization({ settings }: Scope, url: URL, refusal: CardRequestError): string | undefined {
  if (![401, 403].includes(refusal.status)) return undefined;
  if (url.protocol !== "https:" && !isLoopback(url.href)) return undefined;
  const [, scheme = ""] = /^\s*([A-Za-z0-9-]+)/.exec(refusal.headers.get("www-authenticate") ?? "") ?? [];
  const { bearer: token, auth } = settings;
  if (auth?.toLowerCase().startsWith(`${scheme.toLowerCase()} `) === true) return auth;
  return scheme.toLowerCase() === "bearer" && token !== undefined ? `Bearer ${token}` : undefined;
}

/** Adds the caller's headers to each call. */
export function serviceParameters(pairs: readonly (readonly [name: string, value: string])[]): Interceptor {
  return (next) => (request) => {
    const seen = new Set<string>();
    for (const [name, value] of pairs) {
      const lower = name.toLowerCase();
      if (seen.has(lower) || lower === EXTENSIONS_PARAMETER) request.header.append(name, value);
      else request.header.set(name, value);
      seen.add(lower);
    }
    return next(request);
  };
}
