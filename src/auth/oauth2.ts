import { membersOf } from "../core/members.js";
import { isLoopback, parseUrl } from "../core/net.js";
import { anObject, type OptionChecks, optionFaults } from "../core/options.js";
import { IssuerDocument, issuerUrlFaults } from "../jwt/issuer.js";
import { createIntrospector, type Introspection, introspectionFaults } from "./introspection.js";
import { type JwtSchemeOptions, jwksFaults, tokenCheck, tokenChecks, tokenVerifier } from "./jwt.js";
import type { SchemeParts, SecurityScheme } from "./scheme.js";
import type { OAuth2SecurityScheme } from "./scheme-card.js";

/** Options of `oauth2Scheme`, which include those of `jwtScheme`. */
export interface OAuth2SchemeOptions extends Omit<JwtSchemeOptions, "jwks"> {
  /** The flow by which clients get a token, for the card: exactly one. Specification 4.5.7. */
  readonly flows: OAuth2SecurityScheme["flows"];
  /** The issuer's keys. Default: those that its metadata name (RFC 8414). */
  readonly jwks?: JwtSchemeOptions["jwks"];
  /** Required header `typ`. Default `at+jwt` of RFC 9068; `*` for any, if the issuer does not set it. */
  readonly typ?: string;
  /** Validates each token at the authorization server (RFC 7662) instead of verifying a JWT. */
  readonly introspection?: Introspection;
}

/**
 * Security scheme: access tokens of an OAuth 2.0 server (specification 4.5.4), verified as JWTs (RFC 9068) with the
 * keys of the issuer (RFC 8414), or by introspection (RFC 7662). `WWW-Authenticate` names the metadata of the protected
 * resource, which the server serves (RFC 9728).
 */
export function oauth2Scheme(options: OAuth2SchemeOptions): SecurityScheme {
  const { issuer, flows, typ = "at+jwt", jwks, introspection, description, realm, owner } = options;
  return {
    card: {
      oauth2SecurityScheme: {
        flows,
        ...(isUrl(issuer) && { oauth2MetadataUrl: metadataUrl(issuer, "oauth-authorization-server") }),
        ...(description !== undefined && { description }),
      },
    },
    challenge: { scheme: "Bearer", ...(realm !== undefined && { parameters: { realm } }) },
    ...(owner === undefined && { names: { issuer } }),
    authorizationServer: issuer,
    faults: [
      ...optionFaults(options, oauth2Checks, "", ["issuer", "audience", "flows"]),
      ...(introspection !== undefined && jwks !== undefined ? ["it has both jwks and introspection"] : []),
    ],
    open: (parts) => {
      if (introspection !== undefined) {
        return tokenCheck(parts, createIntrospector({ ...options, introspection }, parts), options);
      }
      const { typ: _typ, ...rest } = options;
      const keys = jwks ?? discoveredKeys(issuer, metadataUrl(issuer, "oauth-authorization-server"), parts);
      const verifying = { ...rest, jwks: keys, ...(typ !== "*" && { typ }) };
      return tokenCheck(parts, tokenVerifier(verifying, parts), options);
    },
  };
}

const issuerChecks: OptionChecks<OpenIdConnectSchemeOptions> = { ...tokenChecks, issuer: issuerUrlFaults };

const oauth2Checks: OptionChecks<OAuth2SchemeOptions> = {
  ...issuerChecks,
  flows: anObject(),
  jwks: jwksFaults,
  introspection: introspectionFaults,
};

/** Options of `openIdConnectScheme`, which include those of `jwtScheme`. */
export interface OpenIdConnectSchemeOptions extends Omit<JwtSchemeOptions, "jwks"> {
  /** The issuer; its discovery document is at `/.well-known/openid-configuration` below it. */
  readonly issuer: string;
}

/**
 * Security scheme: tokens of an OpenID Connect provider (specification 4.5.5), verified with the keys of its discovery
 * document. Give the audience of access tokens for this agent: an ID token is for its client, and is refused for it.
 */
export function openIdConnectScheme(options: OpenIdConnectSchemeOptions): SecurityScheme {
  const { issuer, description, realm, owner } = options;
  const url = isUrl(issuer) ? metadataUrl(issuer, "openid-configuration") : issuer;
  return {
    card: {
      openIdConnectSecurityScheme: { openIdConnectUrl: url, ...(description !== undefined && { description }) },
    },
    challenge: { scheme: "Bearer", ...(realm !== undefined && { parameters: { realm } }) },
    ...(owner === undefined && { names: { issuer } }),
    authorizationServer: issuer,
    faults: optionFaults(options, issuerChecks, "", ["issuer", "audience"]),
    open: (parts) => {
      const verifying = { ...options, jwks: discoveredKeys(issuer, url, parts) };
      return tokenCheck(parts, tokenVerifier(verifying, parts), options);
    },
  };
}

const isUrl = (url: unknown): url is string => typeof url === "string" && parseUrl(url) !== undefined;

/** The kinds of issuer metadata: RFC 8414, section 3, or OpenID Connect Discovery 1.0, section 4. */
type MetadataKind = "oauth-authorization-server" | "openid-configuration";

/** The URL of an issuer's metadata. */
function metadataUrl(issuer: string, kind: MetadataKind): string {
  if (kind === "openid-configuration") return `${issuer.replace(/\/$/, "")}/.well-known/${kind}`;
  const { origin, pathname } = new URL(issuer);
  return `${origin}/.well-known/${kind}${pathname.replace(/\/$/, "")}`;
}

/**
 * Finds the URL of an issuer's keys in its metadata. The metadata have to name the same issuer (RFC 8414, 3.3);
 * otherwise the keys of another issuer would be accepted.
 */
export function discoveredKeys(issuer: string, url: string, parts: SchemeParts): () => Promise<string> {
  const metadata = new IssuerDocument(
    () => url,
    (json) => keysIn(json, issuer, url),
    parts,
  );
  return () => metadata.get();
}

function keysIn(json: unknown, issuer: string, metadata: string): string {
  const { issuer: named, jwks_uri: jwks } = membersOf(json);
  if (named !== issuer) throw new Error(`the metadata of ${issuer} are those of another issuer`);
  const faults = issuerUrlFaults("jwks_uri", jwks);
  if (faults.length > 0) throw new Error(`the metadata of ${issuer}: ${faults.join("; ")}`);
  if (leadsInside(String(jwks), metadata)) {
    throw new Error(`the metadata of ${issuer}: jwks_uri leads to an address, or to this machine`);
  }
  return String(jwks);
}

/**
 * True if a configured issuer redirects to a literal address or to this machine, neither of which the author chose. An
 * issuer on this machine may, and each may name its own host.
 */
function leadsInside(keys: string, metadata: string): boolean {
  const [{ hostname }, { hostname: own }] = [new URL(keys), new URL(metadata)];
  return (/^\[|^[\d.]+$/.test(hostname) || isLoopback(keys)) && hostname !== own && !isLoopback(metadata);
}
