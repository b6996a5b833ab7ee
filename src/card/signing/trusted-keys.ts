import type { CryptoKey, JWK } from "jose";
import { isJsonObject } from "../../wire/json-struct.js";
import { takes } from "./algorithms.js";
import { parseJson } from "./card-json.js";
import { isPem, jwkOfPem, publicPemFault } from "./pem.js";

/** A trusted public key: PEM (`-----BEGIN PUBLIC KEY-----`), or a JWK as object or JSON text. */
export type PublicCardKey = string | object;

/** A public key cannot be used. The message names the key and the fault. */
export class CardKeyError extends Error {
  override name = "CardKeyError";
}

/** Maximum number of keys in one JWKS. */
const MAX_KEYS = 100;

/** @throws CardKeyError if the key is not a public key. */
export async function readPublicKey(key: PublicCardKey): Promise<JWK> {
  if (typeof key !== "string") return checked(key);
  if (!isPem(key)) return checked(parsedKey(key));
  const fault = publicPemFault(key);
  if (fault !== undefined) throw new CardKeyError(`The key ${fault}.`);
  const jwk = await jwkOfPem(key);
  if (jwk === undefined) throw new CardKeyError("The key has a type that cannot sign cards.");
  return jwk;
}

/**
 * Reads the keys of a JWKS, as text or object. A JWKS may contain keys of other kinds; they stay unused.
 *
 * @throws CardKeyError for an invalid JWKS.
 */
export function readKeySet(given: unknown): JWK[] {
  const set = typeof given === "string" ? parsedKey(given) : given;
  const keys = isJsonObject(set) ? set.keys : undefined;
  if (!Array.isArray(keys)) throw new CardKeyError("It is not a JWKS: it has no list of keys.");
  if (keys.length > MAX_KEYS) throw new CardKeyError(`The JWKS has more than ${MAX_KEYS} keys.`);
  return keys.filter(isJsonObject) as JWK[];
}

function parsedKey(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new CardKeyError("The key is neither PEM nor JSON.");
  }
}

function checked(jwk: unknown): JWK {
  if (!isJsonObject(jwk) || typeof jwk.kty !== "string") throw new CardKeyError("The key is not a JWK.");
  if (jwk.kty === "oct" || "d" in jwk) {
    throw new CardKeyError("The key is a secret one: to verify, give the public key.");
  }
  return jwk as JWK;
}

/** Returns the keys that may have made a signature: with its key id or without one, and suitable for its algorithm. */
export function candidates(keys: readonly JWK[], { kid, alg }: { kid: string; alg: string }): JWK[] {
  return keys.filter((key) => (key.kid === undefined || key.kid === kid) && takes(alg, key));
}

/**
 * Returns the reason that a key is expired, revoked or not yet valid, or undefined (specification 8.4.3; the members
 * are registered by IANA for JWKs).
 */
export function keyIsOver(jwk: JWK, now: number): string | undefined {
  const { exp, nbf, revoked } = jwk as Record<string, unknown>;
  if (revoked !== undefined) return "was revoked";
  if (typeof exp === "number" && exp * 1000 <= now) return "has expired";
  return typeof nbf === "number" && nbf * 1000 > now ? "is not valid yet" : undefined;
}

/** Imports a public key for one algorithm. It ignores private members, which a JWKS may contain by mistake. */
export async function verifyingKey({ kty, crv, x, y, n, e }: JWK, alg: string): Promise<CryptoKey> {
  const { importJWK } = await import("jose");
  const parts = Object.entries({ kty, crv, x, y, n, e }).filter(([, value]) => value !== undefined);
  return (await importJWK(Object.fromEntries(parts) as JWK, alg)) as CryptoKey;
}
