import type { Interceptor } from "@connectrpc/connect";
import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { apiKey } from "../../client/credentials/api-key.js";
import { bearer } from "../../client/credentials/bearer.js";
import { chooseCredentials } from "../../client/credentials/choose.js";
import type { Credential } from "../../client/credentials/credential.js";
import type { CardRequestError } from "../../client/discovery/discovery.js";
import type { Binding } from "../../client/discovery/interfaces.js";
import { isLoopback } from "../../core/net.js";
import { EXTENSIONS_PARAMETER } from "../../wire/service-params.js";
import { Failure } from "./errors.js";
import type { Scope } from "./scope.js";

/** Credentials of the calls of one interface. */
interface Chosen {
  /** For the schemes of the card. */
  readonly credentials: readonly Credential[] | undefined;
  /** Headers for an agent that declares no scheme. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/**
 * Chooses the credentials that the card requires of those that were given.
 *
 * @throws Failure before anything is sent, if the card requires others
 */
export async function chooseFor({ settings, out }: Scope, card: AgentCard, binding: Binding): Promise<Chosen> {
  const { bearer: token, apiKey: key, auth, svcParam } = settings;
  const given = [...(token === undefined ? [] : [bearer(token)]), ...(key === undefined ? [] : [apiKey(key)])];
  const own = auth === undefined ? [] : [["authorization", auth] as const];
  if (Object.keys(card.securitySchemes).length === 0) {
    const headers = [
      ...(token === undefined || auth !== undefined ? [] : [["authorization", `Bearer ${token}`] as const]),
      ...(key === undefined ? [] : [["x-api-key", key] as const]),
    ];
    for (const [name] of headers) {
      out.note(`note: no security scheme is declared; the credential is sent in the header ${name}`);
    }
    return { credentials: undefined, headers: [...headers, ...own] };
  }
  const isRequired = card.securityRequirements.length > 0;
  const isOpen = !isRequired || card.securityRequirements.some(({ schemes }) => Object.keys(schemes).length === 0);
  // A header of the caller may be what the agent requires.
  const hasOther = auth !== undefined || svcParam.length > 0;
  const { unmet } = chooseCredentials(card, given, { query: binding !== "GRPC" });
  if (unmet === undefined) return { credentials: given.length > 0 ? given : undefined, headers: own };
  if (isOpen || hasOther) return { credentials: undefined, headers: own };
  const message =
    given.length > 0
      ? unmet
      : unmet.replace("The credentials that were given are not those that", "No credentials were given that");
  throw new Failure("A2ACLI_ERR_CREDENTIALS_MISSING", message, {
    hint: "set A2ACLI_BEARER or A2ACLI_API_KEY (--bearer, --api-key), as the scheme requires",
  });
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
