import type { LookupAddress } from "node:dns";
import type { CardKey } from "../card/signing/card-keys.js";

/** Permitted targets of push notifications, and options of their connections. */
export interface TargetOptions {
  /** Permits `http` URLs, whose notifications can be read in transit. Default false: `https` alone. */
  readonly allowHttp?: boolean;
  /** Permitted ports of URLs. Default 443, and with `allowHttp` 80. */
  readonly ports?: readonly number[];
  /**
   * Hosts that are permitted at any address: names, `*.example.com` for all subdomains, addresses, and networks such as
   * `10.1.0.0/16`. Cloud metadata services (169.254.169.254 and the like) are permitted only by their exact address.
   * Default: none, so that only public addresses are permitted.
   */
  readonly allow?: readonly string[];
  /** Hosts that are forbidden, in the same forms. Takes precedence over `allow`. Default: none. */
  readonly deny?: readonly string[];
  /** Trust and identity in TLS. Default: the authorities that Node.js trusts, and no client certificate. */
  readonly tls?: TargetTls;
  /**
   * Resolves a host: all returned addresses are checked, and connections use only these. Default: the system's resolver
   * with `/etc/hosts`, which takes a thread of the process per name. `"dns"` asks only the system's DNS servers,
   * without threads, so that slow name servers block nothing: for servers whose clients name their own hosts.
   */
  readonly lookup?: TargetLookup | "dns";
}

/** Returns every address of a host, or none. */
export type TargetLookup = (host: string) => Promise<readonly LookupAddress[]>;

/** TLS of connections to webhooks, in PEM. */
export interface TargetTls {
  /** Trusted authorities of receivers, instead of those that Node.js trusts. */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[];
  /** Client certificate for receivers that request one, with its chain. Requires `key`. */
  readonly cert?: string | Uint8Array;
  /** Private key of the certificate, without a passphrase. */
  readonly key?: string | Uint8Array;
}

/**
 * Options for signing push notifications. Without any keys they are not signed: a generated key would differ after each
 * restart and in each process, so that receivers could not distinguish it from a forger's.
 */
export interface PushSigningOptions {
  /**
   * Private keys of JWTs in `Parley-Signature`, as of `cardSigning`; at most 8. The first one signs; all are published
   * at `/.well-known/jwks.json`. To rotate, append the new key, move it to the front after receivers have fetched the
   * keys again, and remove the old one after its last JWT has expired (5 minutes). RSA takes ten times as long as the
   * others.
   */
  readonly keys?: readonly CardKey[];
  /**
   * Publishes these keys. Default true; false if another program serves `/.well-known/jwks.json`. Without an RS256 key,
   * a server with its own port generates one per process for the bearer tokens of the oldest protocol version, and
   * publishes it there; true generates one for a mounted server too.
   */
  readonly jwks?: boolean;
  /**
   * Secrets of the Standard Webhooks headers: `whsec_` (HMAC, shared with receivers) followed by 24 to 64 bytes in
   * base64, or `whsk_` (Ed25519) followed by the 32 bytes of the private key and optionally the 32 of the public one.
   * Each adds a signature, for rotation. At most 8.
   */
  readonly webhookSecrets?: readonly string[];
  /**
   * Scope of a `whsec_` secret. Default `token`: the signing secret is derived from it and from the configuration's
   * token (`pushSecretOf` of `parley-a2a/push-receiver`), so that no receiver can forge notifications to another; a
   * configuration without a token gets no such signature. `server`: the secret itself, if you operate all receivers.
   */
  readonly secretPer?: "token" | "server";
}

/**
 * Kind of event to send: `task` (created), `status`, `artifact` (with every chunk), `last-chunk`, or a status with one
 * state.
 */
export type PushEventKind = (typeof pushEvents)[number];

/** Every `PushEventKind`. */
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

/**
 * Maximum length of the URL of a push notification configuration in characters: the limit of common servers and
 * proxies.
 */
export const MAX_PUSH_URL_LENGTH = 2_048;

/** Options of push notifications (specification 3.5.3, 4.3.3, 13.2). */
export interface PushOptions extends TargetOptions {
  /** Events to send. Default: all. */
  readonly events?: readonly PushEventKind[];
  /** Signatures beyond the specification. Default: none. */
  readonly signing?: PushSigningOptions;
  /**
   * Keys that encrypt stored configurations (AES-256-GCM), 32 bytes each, as bytes or as base64 or hexadecimal text; at
   * most 16. The first one encrypts, the others decrypt older configurations. Default: secrets are stored unencrypted.
   */
  readonly encryptionKeys?: readonly (string | Uint8Array)[];
}
