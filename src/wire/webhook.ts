import { fromBase64 } from "../core/bytes.js";

/**
 * Headers of a notification, in addition to `Content-Type` and `Authorization` (specification 4.3.3, Standard
 * Webhooks).
 */
export const NOTIFICATION_TOKEN = "X-A2A-Notification-Token";

/** Name that the Go SDK gives this header. Version 1.0.1 of the specification and later name none. */
export const OTHER_NOTIFICATION_TOKEN = "A2A-Notification-Token";
export const WEBHOOK_ID = "webhook-id";
export const WEBHOOK_TIMESTAMP = "webhook-timestamp";
export const WEBHOOK_SIGNATURE = "webhook-signature";
/** A JWT that names the server, the webhook and the event. */
export const PUSH_SIGNATURE = "Parley-Signature";
/** Generation of the notified change, for receivers without a signature that contains it. */
export const PUSH_GENERATION = "Parley-Generation";

/**
 * Restoration of the server's store from a backup after which the event was written. Without it the event could have the
 * generation, and so the id, of another one that the receiver got before the restoration.
 */
export const PUSH_RESTORATION = "Parley-Restoration";

/**
 * Id of the configuration, percent-encoded. From it and the generation a receiver computes the event's id, which the
 * signatures of Standard Webhooks cover. The receiver thereby detects a change of either.
 */
export const PUSH_CONFIG = "Parley-Config";

/**
 * `true` on a test event, which an operator sends to try a webhook. Its id begins with `PUSH_TEST_ID`, so that
 * signatures cover the mark; its generation is 0.
 */
export const PUSH_TEST = "Parley-Test";

/** Beginning of the ids of test events. Those of others begin with `evt_`. */
export const PUSH_TEST_ID = "test_";

/**
 * Value of the `typ` header of that JWT, so that no other token of the same issuer is accepted in its place (RFC 8725,
 * 3.11).
 */
export const PUSH_JWT_TYPE = "a2a-push+jwt";

/**
 * Path of the public keys for the signatures of a server's cards and notifications (RFC 8615; specification 8.4.2
 * leaves the location open).
 */
export const JWKS_PATH = "/.well-known/jwks.json";

/** Prefixes of Standard Webhooks keys: shared secrets, and private and public keys of Ed25519. */
type WebhookKeyPrefix = "whsec_" | "whsk_" | "whpk_";

/** Maximum length of a key, in characters. */
const MAX_KEY = 256;

/** Returns the bytes of a key; undefined if it is malformed. */
export function webhookKeyBytes(prefix: WebhookKeyPrefix, text: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (typeof text !== "string" || text.length > MAX_KEY || !text.startsWith(prefix)) return undefined;
  const base64 = text.slice(prefix.length);
  return /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/.test(base64)
    ? fromBase64(base64)
    : undefined;
}

/**
 * Describes the violation of an invalid shared secret of Standard Webhooks, as half a sentence without the secret.
 * Undefined for a valid one.
 */
export function webhookSecretFault(text: unknown): string | undefined {
  const bytes = webhookKeyBytes("whsec_", text);
  if (bytes === undefined) return "must be whsec_ followed by base64";
  return bytes.length < 24 || bytes.length > 64 ? "must have 24 to 64 bytes" : undefined;
}

/**
 * Derivation info that makes the secret for one token (HKDF-SHA256, RFC 5869, without salt) different from other
 * derived secrets.
 */
export const pushSecretInfo = (token: string): string => `parley push secret\0${token}`;

/** Size of a derived secret, in bytes. */
export const PUSH_SECRET_BYTES = 32;

/**
 * Input of the SHA-256 from which the event's id is made. It is the same in each attempt and process.
 * @param restoration empty without one
 */
export const pushEventText = (taskId: string, configId: string, generation: number, restoration: string): string =>
  `${taskId}\0${configId}\0${generation}${restoration === "" ? "" : `\0${restoration}`}`;

/** Returns the id of an event from that SHA-256 in base64url. */
export const pushEventId = (hash: string): string => `evt_${hash.slice(0, 27)}`;

/** Returns the signed text of a Standard Webhooks signature up to the body. */
export const webhookPrefix = (id: string, seconds: number | string): string => `${id}.${seconds}.`;

/** Returns the origin by which a webhook's host is known: scheme, name and port, also a default one. */
export function webhookOrigin({ protocol, hostname, port }: URL): string {
  return `${protocol}//${hostname}:${port === "" ? defaultPort(protocol) : port}`;
}

const defaultPort = (protocol: string): number => (protocol === "https:" ? 443 : 80);

/** Returns the audience of a notification: the webhook without its query, which may contain secrets. */
export function pushAudience(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
