import { fromBase64 } from "../core/bytes.js";

/** Headers of a notification, beside `Content-Type` and `Authorization` (specification 4.3.3, Standard Webhooks). */
export const NOTIFICATION_TOKEN = "X-A2A-Notification-Token";
export const WEBHOOK_ID = "webhook-id";
export const WEBHOOK_TIMESTAMP = "webhook-timestamp";
export const WEBHOOK_SIGNATURE = "webhook-signature";
/** A JWT: who notifies whom of what. */
export const PUSH_SIGNATURE = "Parley-Signature";
/** Number of the change that clients see, for who has no signature that says it. */
export const PUSH_GENERATION = "Parley-Generation";

/**
 * Id of the configuration, percent-encoded. With it and the generation a receiver computes the event's id, which the signatures of Standard
 * Webhooks cover, and so knows that neither was changed.
 */
export const PUSH_CONFIG = "Parley-Config";

/** What the header `typ` of that JWT says, so that no other token of the same issuer is taken for one (RFC 8725, 3.11). */
export const PUSH_JWT_TYPE = "a2a-push+jwt";

/** Path of the public keys that a server's cards and notifications are signed by (RFC 8615; specification 8.4.2 leaves the place open). */
export const JWKS_PATH = "/.well-known/jwks.json";

/** Keys as Standard Webhooks write them: shared secrets, and private and public keys of Ed25519. */
export type WebhookKeyPrefix = "whsec_" | "whsk_" | "whpk_";

/** The longest key that is read, in characters. */
const MAX_KEY = 256;

/** The bytes of such a key; undefined for what is none. */
export function webhookKeyBytes(prefix: WebhookKeyPrefix, text: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (typeof text !== "string" || text.length > MAX_KEY || !text.startsWith(prefix)) return undefined;
  const base64 = text.slice(prefix.length);
  return /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/.test(base64)
    ? fromBase64(base64)
    : undefined;
}

/** Why a text is no shared secret of Standard Webhooks, as half a sentence without the text. */
export function webhookSecretFault(text: unknown): string | undefined {
  const bytes = webhookKeyBytes("whsec_", text);
  if (bytes === undefined) return "is not of the form whsec_ with base64 behind it";
  return bytes.length < 24 || bytes.length > 64 ? "has not 24 to 64 bytes" : undefined;
}

/** What tells a secret that is derived for one token (HKDF-SHA256, RFC 5869, without salt) from others of the same secret. */
export const pushSecretInfo = (token: string): string => `parley push secret\0${token}`;

/** Bytes of a derived secret. */
export const PUSH_SECRET_BYTES = 32;

/** What the id of an event is the SHA-256 of: the same in each attempt, in whatever process. */
export const pushEventText = (taskId: string, configId: string, generation: number): string =>
  `${taskId}\0${configId}\0${generation}`;

/** The id of an event, of that SHA-256 in base64url. */
export const pushEventId = (hash: string): string => `evt_${hash.slice(0, 27)}`;

/** What a signature of Standard Webhooks signs, up to the body. */
export const webhookPrefix = (id: string, seconds: number | string): string => `${id}.${seconds}.`;

/** For whom a notification is: the webhook without its query, which may have secrets in it that nobody should repeat. */
export function pushAudience(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
