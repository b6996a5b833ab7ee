import type { LookupAddress } from "node:dns";
import type { CardKey } from "../card/signing/card-keys.js";

/** Addresses that push notifications may go to, and options of their connections. */
export interface TargetOptions {
  /** Lets URLs be `http` too. What is sent there anybody on the way can read. Default false: `https` alone. */
  readonly allowHttp?: boolean;
  /** Ports that URLs may have. Default 443, and with `allowHttp` 80. */
  readonly ports?: readonly number[];
  /**
   * Hosts that may be reached wherever they are: names, `*.example.com` for all subdomains of one, addresses, and networks such as
   * `10.1.0.0/16`. Services that give machines their credentials (169.254.169.254 and the like) are reached only where their very
   * address is listed. Default: none, so that nothing but public addresses is reached.
   */
  readonly allow?: readonly string[];
  /** Hosts that are never reached, in the same forms. It wins over `allow`. Default: none. */
  readonly deny?: readonly string[];
  /** Trust and identity in TLS. Default: the authorities that Node.js trusts, no certificate of our own. */
  readonly tls?: TargetTls;
  /**
   * Finds the addresses of a host: all of them are judged, and connections go to these. Default: what the system does, with
   * `/etc/hosts`, which takes a thread of the process for each name. `"dns"` asks the DNS servers of the system and nothing else,
   * without threads, so that names whose servers are slow hold up nobody: for servers whose clients name hosts of their own.
   */
  readonly lookup?: TargetLookup | "dns";
}

/** Returns every address of a host, or none. */
export type TargetLookup = (host: string) => Promise<readonly LookupAddress[]>;

/** TLS of connections to webhooks, in PEM. */
export interface TargetTls {
  /** Authorities of receivers, instead of those that Node.js trusts. */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[];
  /** Certificate that is shown to receivers which ask for one, with its chain. It needs `key`. */
  readonly cert?: string | Uint8Array;
  /** Private key of the certificate, without a passphrase. */
  readonly key?: string | Uint8Array;
}

/**
 * Options for signing push notifications. Without any of these keys they are not: a key that the server made itself
 * would be another one after each restart, and in each process, so that receivers could not tell it from a forger's.
 */
export interface PushSigningOptions {
  /**
   * Private keys of JWTs in `Parley-Signature`, as of `cardSigning`; at most 8. The first one signs; all are published at
   * `/.well-known/jwks.json`. To change one, add the new one behind it, put that first when receivers have fetched the keys again,
   * and take the old one away when its last JWT has ended (5 minutes). RSA takes ten times as long as the others.
   */
  readonly keys?: readonly CardKey[];
  /**
   * Publishes these keys. Default true; false where `/.well-known/jwks.json` is another's. Without a key for RS256 a server with a port of its
   * own makes one in each process for the bearer tokens of A2A 0.1, and shows it there; true makes one where a server is mounted too.
   */
  readonly jwks?: boolean;
  /**
   * Secrets of the Standard Webhooks headers: `whsec_` (HMAC, shared with receivers) with 24 to 64 bytes in base64 behind it, or
   * `whsk_` (Ed25519) with the 32 bytes of the private key, and maybe the 32 of the public one. Each adds a signature, so that one
   * can be replaced. At most 8.
   */
  readonly webhookSecrets?: readonly string[];
  /**
   * Whose a `whsec_` is. Default `token`: what signs is derived of it and of the configuration's token (`pushSecretOf` of
   * `parley-a2a/push-receiver`), so that no receiver can forge what another one gets; a configuration without a token gets no such
   * signature. `server`: the secret itself, where all receivers are one's own.
   */
  readonly secretPer?: "token" | "server";
}

/**
 * Kind of event to send: `task` (created), `status`, `artifact` (with every chunk), `last-chunk`, or a status with one
 * state.
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

/** Maximum length of the URL of a push notification configuration in characters: as many as common servers and proxies take. */
export const MAX_PUSH_URL_LENGTH = 2_048;

/** Options of push notifications (specification 3.5.3, 4.3.3, 13.2). */
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
