import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import type { JsonWebKeySet } from "../../src/jwt/verifier.js";

/** Tokens that no library would make: header and payload are any text or bytes. */

export const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
export const rsaPair = generateKeyPairSync("rsa", { modulusLength: 2048 });
export const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" });

const jwkOf = (key: KeyObject, more: object): object => ({ ...key.export({ format: "jwk" }), use: "sig", ...more });

/** The public keys of `pair` and `rsaPair`, as an issuer shows them. */
export const keySet = {
  keys: [jwkOf(pair.publicKey, { kid: "ec", alg: "ES256" }), jwkOf(rsaPair.publicKey, { kid: "rsa", alg: "RS256" })],
} as JsonWebKeySet;

export const publicPem = String(rsaPair.publicKey.export({ type: "spki", format: "pem" }));

type Bytes = string | Uint8Array;

export const b64 = (bytes: Bytes): string => Buffer.from(bytes).toString("base64url");
/** Returns JSON text or bytes unchanged, and writes any other value as JSON. */
const textOf = (json: object | Bytes): Bytes =>
  typeof json === "string" || json instanceof Uint8Array ? json : JSON.stringify(json);

export type Signer = (input: string) => Uint8Array;

export const es256 =
  (key: KeyObject = pair.privateKey): Signer =>
  (input) =>
    sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" });
export const es256Der: Signer = (input) => sign("sha256", Buffer.from(input), { key: pair.privateKey });
export const rs256: Signer = (input) => sign("sha256", Buffer.from(input), rsaPair.privateKey);
export const hs256 =
  (secret: string): Signer =>
  (input) =>
    createHmac("sha256", secret).update(input).digest();
/** Returns the same signature for every token, by default an empty one. */
export const fixed =
  (bytes: Uint8Array = new Uint8Array()): Signer =>
  () =>
    bytes;

export const issuer = "https://issuer.example/a";
export const later = (): number => Math.floor(Date.now() / 1000) + 600;
export const goodHeader = { alg: "ES256", kid: "ec" };

/** A token. Header and payload are written as JSON if they are objects. */
export function crafted(header: object | Bytes, payload: object | Bytes, signer: Signer = es256()): string {
  const input = `${b64(textOf(header))}.${b64(textOf(payload))}`;
  return `${input}.${b64(signer(input))}`;
}

/** The claims of a valid token as JSON, with changes. Values of changes are JSON texts; undefined removes a claim. */
export function claims(different: Readonly<Record<string, string | undefined>> = {}): string {
  const all = { iss: JSON.stringify(issuer), aud: '"agents"', sub: '"alice"', exp: String(later()), ...different };
  const members = Object.entries(all).filter(([, json]) => json !== undefined);
  return `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(",")}}`;
}

/** A token that is valid except for these claims. */
export const claiming = (different: Readonly<Record<string, string | undefined>>): string =>
  crafted(goodHeader, claims(different));
/** A token that is valid except for these header parameters. */
export const headed = (header: object, signer?: Signer): string =>
  crafted({ ...goodHeader, ...header }, claims(), signer);
