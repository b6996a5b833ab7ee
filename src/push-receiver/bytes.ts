import { base64Of, concat, utf8Of } from "../core/bytes.js";
import { defined } from "../core/members.js";

/** Bytes in memory that is not shared, as WebCrypto requires. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** A key of WebCrypto. Some type libraries do not declare its name. */
export type WebKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** Compares bytes in a time that depends only on their lengths. */
export function areEqual(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let at = 0; at < one.length; at++) difference |= defined(one[at]) ^ defined(other[at]);
  return difference === 0;
}

export async function sha256(bytes: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** Imports a key for HMAC-SHA256. */
export function hmacKey(secret: Bytes): Promise<WebKey> {
  return crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}

export async function hmac(key: WebKey, bytes: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes));
}

/** Encodes bytes in base64url without padding (RFC 4648, 5). */
export function base64urlOf(bytes: Uint8Array): string {
  return base64Of(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

export const concatText = (text: string, bytes: Uint8Array): Bytes => concat([utf8Of(text), bytes]);
