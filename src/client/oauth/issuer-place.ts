import type { SecurityScheme } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../core/error.js";
import { isLoopback, parseUrl } from "../../core/net.js";
import type { OAuthOptions } from "./options.js";

/** The source of an issuer's metadata. */
export interface IssuerPlace {
  /** Identifies the issuer in token storage keys. */
  readonly name: string;
  /** URLs of its metadata, of which the first existing one is used; empty if a card names only its endpoints. */
  readonly documents: readonly string[];
  /** Accepted values of `issuer` in the metadata. */
  readonly issuers: readonly string[];
  /** True if the caller named it, so that the card has no influence. */
  readonly isPinned: boolean;
}

const oidc = "/.well-known/openid-configuration";
const oauth = "/.well-known/oauth-authorization-server";

/** @throws A2AError if a card names no issuer, or one that must not be contacted */
export function issuerPlace({ scheme }: SecurityScheme, options: OAuthOptions): IssuerPlace {
  const { issuer } = options;
  if (issuer !== undefined) {
    checkUrl("issuer", issuer, options);
    return { name: issuer, documents: documentsOf(issuer), issuers: [issuer], isPinned: true };
  }
  if (scheme.case === "openIdConnectSecurityScheme") return described(scheme.value.openIdConnectUrl, options);
  if (scheme.case === "oauth2SecurityScheme") {
    const { oauth2MetadataUrl, flows } = scheme.value;
    if (oauth2MetadataUrl !== "") return described(oauth2MetadataUrl, options);
    const { value } = flows?.flow ?? {};
    const tokenUrl = value !== undefined && "tokenUrl" in value ? value.tokenUrl : "";
    if (tokenUrl !== "") return { name: tokenUrl, documents: [], issuers: [], isPinned: false };
  }
  throw new A2AError("UNAUTHENTICATED", "The agent's card names no issuer of tokens: set the option issuer.");
}

function described(url: string, options: OAuthOptions): IssuerPlace {
  checkUrl("the URL of the issuer's metadata", url, options);
  return { name: url, documents: [url], issuers: issuersOf(url), isPinned: false };
}

/** OpenID Connect Discovery 1.0, 4; RFC 8414, 3. */
function documentsOf(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  return [`${origin}${path}${oidc}`, `${origin}${oauth}${path}`];
}

/** Returns the issuers whose metadata may be at a URL. */
function issuersOf(document: string): string[] {
  const { origin, pathname } = new URL(document);
  const [, before = ""] = /^(.*)\/\.well-known\/[^/]+$/.exec(pathname) ?? [];
  const [, after = ""] = /^\/\.well-known\/[^/]+(\/.*)?$/.exec(pathname) ?? [];
  return [before, after].map((path) => `${origin}${path}`);
}

/** Returns the error for an issuer that must not receive secrets. */
export const untrusted = (why: string): A2AError =>
  new A2AError("UNAUTHENTICATED", `The issuer of tokens is not trusted: ${why}.`);

const address = /^(?:\[.*\]|[\d.]+)$/;

/**
 * @throws A2AError for a URL that is not https, or that leads to this machine or an IP address, since cards are
 * untrusted
 */
export function checkUrl(name: string, url: unknown, { allowLocalIssuer = false }: OAuthOptions): void {
  const parsed = typeof url === "string" ? parseUrl(url) : undefined;
  if (parsed === undefined) throw untrusted(`${name} is not an absolute URL`);
  const { protocol, hostname, username, password, href } = parsed;
  if (username !== "" || password !== "") throw untrusted(`${name} has credentials in it`);
  const isHere = isLoopback(href);
  if (protocol !== "https:" && !(protocol === "http:" && isHere && allowLocalIssuer))
    throw untrusted(`${name} is not https${isHere ? ", which allowLocalIssuer allows on this machine" : ""}`);
  if ((isHere || address.test(hostname)) && !allowLocalIssuer) {
    throw untrusted(`${name} leads to this machine or an address (allowLocalIssuer)`);
  }
}
