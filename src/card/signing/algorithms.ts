import type { JWK } from "jose";

/** Algorithms that cards are signed by (RFC 7518, RFC 8037). */
export const signingAlgorithms = ["ES256", "RS256", "EdDSA"] as const;

/** Signature algorithm of cards: ECDSA on P-256, RSA of at least 2,048 bits (PKCS #1 v1.5), or Ed25519. */
export type CardAlgorithm = (typeof signingAlgorithms)[number];

/** Keys that an algorithm takes. */
interface KeyForm {
  readonly kty: "EC" | "RSA" | "OKP";
  readonly crv?: string;
}

const rsa: KeyForm = { kty: "RSA" };
const ed25519: KeyForm = { kty: "OKP", crv: "Ed25519" };

/**
 * Algorithms that are accepted in signatures. All of them use a key pair, so that a public key is never used as a
 * shared secret: neither `none` nor HMAC is accepted.
 */
const verifiable: Readonly<Record<string, KeyForm>> = {
  ES256: { kty: "EC", crv: "P-256" },
  ES384: { kty: "EC", crv: "P-384" },
  ES512: { kty: "EC", crv: "P-521" },
  RS256: rsa,
  RS384: rsa,
  RS512: rsa,
  PS256: rsa,
  PS384: rsa,
  PS512: rsa,
  EdDSA: ed25519,
  Ed25519: ed25519,
};

/** True if signatures by an algorithm are supported. */
export function isVerifiable(alg: string): boolean {
  return Object.hasOwn(verifiable, alg);
}

/** True if a key has the type of an algorithm and is not restricted to another one (RFC 7517, 4.2 to 4.4). */
export function takes(alg: string, key: JWK): boolean {
  const form = Object.hasOwn(verifiable, alg) ? verifiable[alg] : undefined;
  if (form === undefined || key.kty !== form.kty || (form.crv !== undefined && key.crv !== form.crv)) return false;
  if (key.alg !== undefined && algorithmName(key.alg) !== algorithmName(alg)) return false;
  if (key.use !== undefined && key.use !== "sig") return false;
  return !Array.isArray(key.key_ops) || key.key_ops.some((use) => use === "verify" || use === "sign");
}

/** RFC 9864 renames the EdDSA of RFC 8037 with Ed25519. */
const algorithmName = (alg: string): string => (alg === "Ed25519" ? "EdDSA" : alg);

/** The algorithm by which a key signs cards, or undefined. */
export function algorithmFor(key: JWK): CardAlgorithm | undefined {
  return signingAlgorithms.find((alg) => takes(alg, key));
}
