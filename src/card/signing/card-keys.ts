import type { CryptoKey, JSONWebKeySet, JWK } from "jose";
import { anObjectOf, aText, judged, listOf, oneOf } from "../../core/options.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { ConfigurationError } from "../faults.js";
import { algorithmFor, type CardAlgorithm, signingAlgorithms, takes } from "./algorithms.js";
import { CardFormError, parseJson } from "./card-json.js";
import { isPem, jwkOfPem, privatePemFault } from "./pem.js";

/** A private key that signs cards, or notifications. */
export interface CardKey {
  /**
   * PKCS #8 in PEM (`-----BEGIN PRIVATE KEY-----`), or a private JWK as object or JSON text, for one of the algorithms
   * of `CardAlgorithm`. It never appears in a log, an error or an answer.
   */
  readonly key: string | Uint8Array | object;
  /** Names the key in signatures and in the JWKS. Default: the `kid` of the JWK, otherwise its thumbprint (RFC 7638). */
  readonly kid?: string;
  /** Default: the algorithm of the key. */
  readonly alg?: CardAlgorithm;
}

/** A parsed key with its id and algorithm. */
export interface ReadKey {
  readonly kid: string;
  readonly alg: CardAlgorithm;
  /** The private key. Passed only to the code that imports it. */
  readonly jwk: JWK;
  /** The public key for the JWKS, without private members. */
  readonly publicKey: JWK;
}

/** A key that is ready to sign. */
export interface SigningKey extends Omit<ReadKey, "jwk"> {
  /** Cannot be exported again. */
  readonly key: CryptoKey;
}

/** Faults of the keys of an option that can be found without cryptography; each begins with its place. */
export function cardKeyFaults(place: string, keys: unknown): readonly string[] {
  const faults = listOf(cardKey)(place, keys);
  if (!Array.isArray(keys)) return faults;
  if (keys.length > MAX_KEYS) return [`${place} has more than ${MAX_KEYS} keys`];
  const kids = keys.flatMap((each) => (typeof each?.kid === "string" ? [each.kid] : []));
  const repeated = kids.filter((kid, i) => kids.indexOf(kid) !== i);
  return [...faults, ...new Set(repeated.map((kid) => `${place} has the kid ${JSON.stringify(kid)} twice`))];
}

/** Maximum number of keys that sign one card. Each adds a signature; a rotation needs two. */
const MAX_KEYS = 8;

const cardKey = anObjectOf(
  {
    key: judged(formFault),
    kid: aText("a non-empty text", (kid) => kid.trim() !== ""),
    alg: oneOf(signingAlgorithms),
  },
  ["key"],
);

function formFault(key: unknown): string | undefined {
  if (key === undefined || key === "") return "is missing";
  const text = keyJson(key);
  if (text !== undefined && isPem(text)) return privatePemFault(text);
  try {
    const jwk = text === undefined ? key : parseJson(text);
    if (!isJsonObject(jwk) || typeof jwk.kty !== "string") return "is neither a private key in PEM nor a JWK";
    if (jwk.kty === "oct") return "is a shared secret, and no private key";
    return typeof jwk.d === "string" ? undefined : "is a public JWK: a private one is needed";
  } catch (error) {
    if (!(error instanceof CardFormError)) throw error;
    return "is neither a private key in PEM nor a JWK";
  }
}

function keyJson(key: unknown): string | undefined {
  if (typeof key === "string") return key;
  return key instanceof Uint8Array ? new TextDecoder().decode(key) : undefined;
}

/**
 * Makes keys ready to sign.
 *
 * @param place names the keys in errors: `cardSigning.keys`, or a file.
 * @throws ConfigurationError that names every unusable key, without its contents.
 */
export async function importCardKeys(place: string, keys: readonly CardKey[]): Promise<readonly SigningKey[]> {
  const { importJWK } = await import("jose");
  return importKeysWith(place, keys, async ({ jwk, ...key }) => {
    return { ...key, key: (await importJWK(jwk, key.alg)) as CryptoKey };
  });
}

/**
 * Imports keys with a given function.
 *
 * @param ready imports one key, and throws if it is damaged.
 * @throws ConfigurationError that names every unusable key, without its contents.
 */
export async function importKeysWith<T extends { readonly kid: string }>(
  place: string,
  keys: readonly CardKey[],
  ready: (key: ReadKey) => T | Promise<T>,
): Promise<readonly T[]> {
  const faults = [...cardKeyFaults(place, keys)];
  if (faults.length > 0) throw new ConfigurationError("Invalid keys", faults);
  const imported: T[] = [];
  for (const [i, key] of keys.entries()) {
    const each = await importKey(`${place}[${i}]`, key, ready);
    if (typeof each === "string") faults.push(each);
    else if (imported.some(({ kid }) => kid === each.kid))
      faults.push(`${place} has one key twice, or two with one kid`);
    else imported.push(each);
  }
  if (faults.length > 0) throw new ConfigurationError("Invalid keys", faults);
  return imported;
}

/** Imports the key, or returns its fault. */
async function importKey<T>(
  place: string,
  { key, kid, alg }: CardKey,
  ready: (key: ReadKey) => T | Promise<T>,
): Promise<T | string> {
  const { calculateJwkThumbprint } = await import("jose");
  const text = keyJson(key);
  const jwk = (text === undefined ? key : isPem(text) ? await jwkOfPem(text) : parseJson(text)) as JWK | undefined;
  const chosen = alg ?? (jwk && algorithmFor(jwk));
  if (jwk === undefined || chosen === undefined) {
    return `${place}.key cannot sign: use P-256 (ES256), RSA (RS256) or Ed25519 (EdDSA)`;
  }
  if (!takes(chosen, jwk)) return `${place}.key is not a key for ${chosen}`;
  const publicParts = publicPartsOf(jwk);
  if (jwk.kty === "RSA" && bitsOf(publicParts.n) < 2_048) return `${place}.key has fewer than 2,048 bits`;
  try {
    const named = kid ?? (typeof jwk.kid === "string" ? jwk.kid : undefined);
    const id = named ?? (await calculateJwkThumbprint(publicParts));
    const { alg: _alg, use: _use, key_ops: _ops, ext: _ext, ...parts } = jwk;
    const publicKey = { ...publicParts, kid: id, alg: chosen, use: "sig" };
    return await ready({ kid: id, alg: chosen, jwk: parts as JWK, publicKey });
  } catch {
    // The cause may quote the key.
    return `${place}.key cannot be used: it is damaged`;
  }
}

/** Copies only the listed members: unknown members of a key may be private. */
function publicPartsOf({ kty, crv, x, y, n, e }: JWK): JWK {
  const parts = { kty, crv, x, y, n, e };
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined)) as JWK;
}

function bitsOf(modulus: unknown): number {
  return typeof modulus === "string" ? Math.floor(modulus.replace(/^A+/, "").length * 6) : 0;
}

/** The public keys, as a JWKS (RFC 7517, 5). */
export function publicKeySet(keys: readonly Pick<SigningKey, "publicKey">[]): JSONWebKeySet {
  return { keys: keys.map(({ publicKey }) => publicKey) };
}
