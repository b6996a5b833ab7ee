import type { CardKey } from "../card/signing/card-keys.js";

/** Which addresses push notifications may go to, and how they are reached. */
export interface TargetOptions {
  /** Lets URLs be `http` too. What is sent there anybody on the way can read. Default false: `https` alone. */
  readonly allowHttp?: boolean;
  /** Ports that URLs may have. Default 443, and with `allowHttp` 80. */
  readonly ports?: readonly number[];
  /**
   * Hosts that may be reached wherever they are: names, `*.example.com` for all subdomains of one, addresses, and networks such as
   * `10.1.0.0/16`. Default: none, so that nothing but public addresses is reached.
   */
  readonly allow?: readonly string[];
  /** Hosts that are never reached, in the same forms. It wins over `allow`. Default: none. */
  readonly deny?: readonly string[];
  /** Trust and identity in TLS. Default: the authorities of the system, no certificate of our own. */
  readonly tls?: TargetTls;
}

/** What TLS connections to receivers use; each is PEM. */
export interface TargetTls {
  /** Authorities of receivers, instead of those of the system. */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[];
  /** Certificate that is shown to receivers which ask for one, with its chain. It needs `key`. */
  readonly cert?: string | Uint8Array;
  /** Private key of the certificate, without a passphrase. */
  readonly key?: string | Uint8Array;
}

/** How push notifications are signed, so that receivers can tell what comes from this server. */
export interface PushSigningOptions {
  /**
   * Private keys of JWTs in `Parley-Signature`, as of `cardSigning`. The first one signs; all are published at
   * `/.well-known/jwks.json`, so that an old one is known until its last notification was verified.
   */
  readonly keys?: readonly CardKey[];
  /**
   * Secrets of the Standard Webhooks headers: `whsec_…` (HMAC, shared with receivers) or `whsk_…` (Ed25519). Each adds a
   * signature, so that one can be replaced. At most 8.
   */
  readonly webhookSecrets?: readonly string[];
}

/**
 * What a notification may be about: `task` is the task as it was created, `status` every status, `artifact` every artifact and every
 * piece of one, `last-chunk` the pieces that their agents mark as last, and the others a status with that state.
 */
export type PushEvent = (typeof pushEvents)[number];

/** Every `PushEvent`. */
export const pushEvents = [
  "task",
  "status",
  "artifact",
  "last-chunk",
  "submitted",
  "working",
  "input-required",
  "auth-required",
  "completed",
  "failed",
  "canceled",
  "rejected",
] as const;

/** Push notifications (specification 3.5.3, 4.3.3, 13.2), for all agents of a server that make tasks. */
export interface PushOptions extends TargetOptions {
  /** Which events are sent. Default: all. */
  readonly events?: readonly PushEvent[];
  /** Signatures beyond the specification. Default: none. */
  readonly signing?: PushSigningOptions;
  /**
   * Keys that encrypt what is secret in stored configurations (AES-256-GCM), 32 bytes each, as bytes or as base64 or hexadecimal
   * text; at most 16. New configurations use the first one, the others read what they have written before. Default: secrets are
   * stored as they are.
   */
  readonly encryptionKeys?: readonly (string | Uint8Array)[];
}
