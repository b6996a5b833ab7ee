import type * as Jose from "jose";
import { IssuerDocument, type IssuerParts } from "./issuer.js";

/** A set of public keys (RFC 7517, 5). */
export interface JsonWebKeySet {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

/** Options of verification. */
export interface VerifierOptions {
  /** The issuer's keys: their URL, the set, or a function that returns the URL. */
  readonly jwks: string | URL | JsonWebKeySet | (() => Promise<string>);
  /** The exact value of the claim `iss`. */
  readonly issuer: string;
  /** Accepted values of the claim `aud`; one of several is enough. */
  readonly audience: string | readonly string[];
  /** Signature algorithms that are accepted. Default: RS, PS and ES with SHA-256 to SHA-512, and EdDSA. Never HS or `none`. */
  readonly algorithms?: readonly string[];
  /** Allowed clock skew, in seconds. Default 5. */
  readonly clockTolerance?: number;
  /** Required header `typ`, such as `at+jwt` (RFC 9068). Default: any. */
  readonly typ?: string;
  /** Maximum age of a token by its claim `iat`, in seconds. Default: until its expiry. */
  readonly maxTokenAge?: number;
}

/** A verified token. */
export interface Verified {
  readonly claims: Record<string, unknown>;
  /** Its expiry, in seconds since 1970. */
  readonly endsAt: number;
}

/** Reason for rejecting a token. */
type TokenFaultKind =
  /** It has expired, or has no expiry. */
  | "expired"
  /** A claim is missing or wrong: the issuer, the audience, its type, its time. */
  | "claim"
  /** Its algorithm is not allowed, such as `none`, or one with a shared secret. */
  | "algorithm"
  /** No key of the issuer has its id, or that key cannot be used. */
  | "unknown-key"
  /** It was changed or signed with another key. */
  | "signature"
  /** It is not a token. */
  | "malformed";

/** A rejected token. */
export class TokenFault {
  readonly kind: TokenFaultKind;
  /** The fault for the sender, without the token. */
  readonly description: string;
  /** The claim that is wrong. */
  readonly claim: string | undefined;

  constructor(kind: TokenFaultKind, description: string, claim?: string) {
    this.kind = kind;
    this.description = description;
    this.claim = claim;
  }
}

/** Algorithms with a public key. With a shared secret, the public key would be the password (RFC 8725, 2.1). */
const publicKeyAlgorithms: readonly string[] = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

/** Maximum number of keys that are tried for a token without a key id. */
const MAX_TRIED = 8;

type Keys = ReturnType<typeof Jose.createLocalJWKSet>;

/** Verifies tokens of one issuer. The library is loaded with the first server that needs it. */
export function createVerifier(
  options: VerifierOptions,
  parts: IssuerParts,
): (token: string) => Promise<Verified | TokenFault> {
  const library = import("jose");
  // The first verification reports the error.
  library.catch(() => {});
  const { jwks } = options;
  const keys = keySource(library, jwks, parts);
  return async (token) => {
    const jose = await library;
    const judge = async (keySet: Keys): Promise<Verified> => {
      const { payload } = await verifyWith(jose, token, keySet, options);
      // 1e400 is read as Infinity: such a token would never end.
      const times = [payload.exp, payload.nbf, payload.iat].filter((time) => time !== undefined);
      if (!times.every(Number.isFinite)) throw new jose.errors.JWTInvalid();
      return { claims: payload, endsAt: payload.exp ?? 0 };
    };
    const current = await keys.get();
    try {
      try {
        return await judge(current);
      } catch (error) {
        // The issuer may have rotated its keys.
        if (!(error instanceof jose.errors.JWKSNoMatchingKey)) throw error;
        const renewed = await keys.renewed();
        if (renewed === current) throw error;
        return await judge(renewed);
      }
    } catch (error) {
      const fault = tokenFault(jose, error);
      if (fault === undefined) throw error;
      return fault;
    }
  };
}

interface KeySource {
  get(): Promise<Keys>;
  renewed(): Promise<Keys>;
}

function keySource(library: Promise<typeof Jose>, jwks: VerifierOptions["jwks"], parts: IssuerParts): KeySource {
  const setOf = async (json: unknown): Promise<Keys> => (await library).createLocalJWKSet(json as Jose.JSONWebKeySet);
  if (typeof jwks === "function") return new IssuerDocument(jwks, setOf, parts);
  if (typeof jwks === "string" || jwks instanceof URL) return new IssuerDocument(() => String(jwks), setOf, parts);
  let set: Promise<Keys> | undefined;
  const get = (): Promise<Keys> => {
    set ??= setOf(jwks);
    return set;
  };
  return { get, renewed: get };
}

/**
 * Verifies with the keys of the set only. Header parameters that contain or name a key (`jwk`, `jku`, `x5u`, `x5c`) are
 * ignored.
 */
async function verifyWith(
  jose: typeof Jose,
  token: string,
  keys: Keys,
  { issuer, audience, algorithms = publicKeyAlgorithms, clockTolerance = 5, typ, maxTokenAge }: VerifierOptions,
): Promise<Jose.JWTVerifyResult> {
  const options: Jose.JWTVerifyOptions = {
    issuer,
    audience: typeof audience === "string" ? audience : [...audience],
    algorithms: [...algorithms],
    clockTolerance,
    requiredClaims: ["exp"],
    ...(typ !== undefined && { typ }),
    ...(maxTokenAge !== undefined && { maxTokenAge }),
  };
  try {
    return await jose.jwtVerify(token, keys, options);
  } catch (error) {
    if (!(error instanceof jose.errors.JWKSMultipleMatchingKeys)) throw error;
    let tried = 0;
    for await (const key of error) {
      if (++tried > MAX_TRIED) break;
      try {
        return await jose.jwtVerify(token, key, options);
      } catch (inner) {
        if (!(inner instanceof jose.errors.JWSSignatureVerificationFailed || isKeyFault(inner))) throw inner;
      }
    }
    throw new jose.errors.JWSSignatureVerificationFailed();
  }
}

/** True for a key of the issuer that cannot be used: it is invalid, or an RSA key of less than 2,048 bits. */
const isKeyFault = (error: unknown): boolean => error instanceof TypeError || error instanceof DOMException;

/** Undefined if the error is neither the token's fault nor that of its key. */
function tokenFault({ errors }: typeof Jose, error: unknown): TokenFault | undefined {
  if (isKeyFault(error)) return new TokenFault("unknown-key", "The token is signed with a key that cannot be used.");
  if (error instanceof errors.JWTExpired) return new TokenFault("expired", "The token has expired.", "exp");
  if (error instanceof errors.JWTClaimValidationFailed) return new TokenFault("claim", claimFault(error), error.claim);
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return new TokenFault("algorithm", "The token's algorithm is not allowed.");
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return new TokenFault("unknown-key", "The token is signed with an unknown key.");
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return new TokenFault("signature", "The token's signature is wrong.");
  }
  return error instanceof errors.JOSEError ? new TokenFault("malformed", "The token is malformed.") : undefined;
}

function claimFault({ claim, reason }: Jose.errors.JWTClaimValidationFailed): string {
  if (reason === "missing") return `The token lacks ${/^[\w-]{1,32}$/.test(claim) ? claim : "a claim"}.`;
  if (claim === "aud") return "The token is for another audience.";
  if (claim === "iss") return "The token is of another issuer.";
  if (claim === "nbf" || claim === "iat") return "The token is not valid yet.";
  return claim === "typ" ? "The token is of another type." : "The token is malformed.";
}
