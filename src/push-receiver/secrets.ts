import { base64Of, utf8Of } from "../core/bytes.js";
import { PUSH_SECRET_BYTES, pushSecretInfo, webhookKeyBytes, webhookSecretFault } from "../wire/webhook.js";
import { type Bytes, hmac, hmacKey, type WebKey } from "./bytes.js";

/**
 * Derives the secret of one token from the server's secret (`push.signing.webhookSecrets`, with `secretPer: "token"`).
 * HKDF-SHA256 (RFC 5869).
 *
 * @param secret the server's, `whsec_…`.
 * @param token that of the configuration; not empty.
 * @returns `whsec_…`, for `secrets` of a receiver and for any library of Standard Webhooks.
 * @throws TypeError for an invalid secret or token.
 */
export async function pushSecretOf(secret: string, token: string): Promise<string> {
  const fault = webhookSecretFault(secret);
  if (fault !== undefined) throw new TypeError(`The secret ${fault}.`);
  if (typeof token !== "string" || token === "") throw new TypeError("The token is empty.");
  const bytes = webhookKeyBytes("whsec_", secret) as Bytes;
  const key = await crypto.subtle.importKey("raw", bytes, "HKDF", false, ["deriveBits"]);
  const how = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: utf8Of(pushSecretInfo(token)) };
  const derived = await crypto.subtle.deriveBits(how, key, PUSH_SECRET_BYTES * 8);
  return `whsec_${base64Of(new Uint8Array(derived))}`;
}

/** Returns true for a known text. */
export type IsKnown = (given: string) => boolean | Promise<boolean>;

/**
 * Looks texts up by their HMAC under a random key, so that no comparison leaks timing. A function replaces the list.
 */
export function lookup(known: readonly string[] | IsKnown): IsKnown {
  if (typeof known === "function") return known;
  let ready: Promise<{ readonly key: WebKey; readonly marks: ReadonlySet<string> }> | undefined;
  const make = async (): Promise<{ key: WebKey; marks: ReadonlySet<string> }> => {
    const key = await hmacKey(crypto.getRandomValues(new Uint8Array(32)));
    return { key, marks: new Set(await Promise.all(known.map((text) => markOf(key, text)))) };
  };
  return async (given) => {
    ready ??= make();
    const { key, marks } = await ready;
    return marks.has(await markOf(key, given));
  };
}

const markOf = async (key: WebKey, text: string): Promise<string> => base64Of(await hmac(key, utf8Of(text)));
