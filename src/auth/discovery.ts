import { issuerUrlFaults } from "../jwt/issuer.js";
import { IssuerDocument } from "../jwt/issuer-document.js";
import type { SchemeParts } from "./scheme.js";

/** Where an issuer says where its keys are: RFC 8414, section 3, or OpenID Connect Discovery 1.0, section 4. */
export type MetadataKind = "oauth-authorization-server" | "openid-configuration";

/** The URL of an issuer's metadata. */
export function metadataUrl(issuer: string, kind: MetadataKind): string {
  if (kind === "openid-configuration") return `${issuer.replace(/\/$/, "")}/.well-known/${kind}`;
  const { origin, pathname } = new URL(issuer);
  return `${origin}/.well-known/${kind}${pathname.replace(/\/$/, "")}`;
}

/**
 * Finds the URL of an issuer's keys in its metadata, which have to name the very issuer (RFC 8414, 3.3): another one's would
 * make its keys good here.
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
  const { issuer: named, jwks_uri: jwks } = (json ?? {}) as Record<string, unknown>;
  if (named !== issuer) throw new Error(`the metadata of ${issuer} are those of another issuer`);
  const faults = issuerUrlFaults("jwks_uri", jwks);
  if (faults.length > 0) throw new Error(`the metadata of ${issuer}: ${faults.join("; ")}`);
  if (leadsInside(String(jwks), metadata)) {
    throw new Error(`the metadata of ${issuer}: jwks_uri leads to an address, or to this machine`);
  }
  return String(jwks);
}

/**
 * Whether an issuer, which the author chose, sends us to a place that the author did not: to an address, or to this machine. One
 * on this machine may, and each may name its own host.
 */
function leadsInside(keys: string, metadata: string): boolean {
  const [{ hostname }, { hostname: own }] = [new URL(keys), new URL(metadata)];
  const isHere = /^(?:(?:.+\.)?localhost\.?|127\.[\d.]+|\[::1\])$/;
  return (/^\[|^[\d.]+$/.test(hostname) || isHere.test(hostname)) && hostname !== own && !isHere.test(own);
}
