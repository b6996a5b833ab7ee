import type { CryptoKey } from "openid-client";
import type { SentOptions } from "../credentials/secret.js";
import { isHost } from "../hosts.js";
import type { OAuthStorage } from "./storage.js";

/** Limits of requests to an issuer, and renewal of tokens. */
export interface OAuthLimits {
  /** How long an issuer may take for one answer, in milliseconds. Default 10 seconds. */
  readonly issuerTimeoutMs: number;
  /** One answer of an issuer, in bytes. Default 256 KiB. */
  readonly maxIssuerBytes: number;
  /**
   * A token is renewed so long before its end, in milliseconds, give or take a fifth, and not before half of its time is over. Calls go on
   * with the old one meanwhile. Default 60 seconds.
   */
  readonly refreshAheadMs: number;
  /** A token counts as ended so long before its end, in milliseconds: clocks differ, and calls take their time. Default 5 seconds. */
  readonly clockSkewMs: number;
  /** After a failure an issuer is left alone for so long, in milliseconds. Calls without a token fail meanwhile. Default 1 second. */
  readonly issuerCooldownMs: number;
  /** Server's refusals of new tokens are believed for so long, in milliseconds, before one more is fetched. Default 10 seconds. */
  readonly refusalMs: number;
  /** After so long an issuer's metadata are fetched again, in milliseconds. Default 10 minutes. */
  readonly metadataMs: number;
  /** A user has so long to come back from a sign-in, in milliseconds. Default 10 minutes. */
  readonly signInMs: number;
  /** Agents whose tokens are held in memory by one credential; the oldest are forgotten first. Default 1,000. */
  readonly maxAgents: number;
}

/** Defaults of the OAuth limits. */
export const defaultOAuthLimits: OAuthLimits = {
  issuerTimeoutMs: 10_000,
  maxIssuerBytes: 256 * 1024,
  refreshAheadMs: 60_000,
  clockSkewMs: 5_000,
  issuerCooldownMs: 1_000,
  refusalMs: 10_000,
  metadataMs: 600_000,
  signInMs: 600_000,
  maxAgents: 1_000,
};

/** Options of all flows. */
export interface OAuthOptions extends SentOptions {
  readonly clientId: string;
  /** The client's secret, for confidential clients. Never in a browser. */
  readonly clientSecret?: string;
  /** How the secret is sent. Default: `basic`, unless the issuer's metadata name `client_secret_post` and not `client_secret_basic`. */
  readonly secretIn?: "basic" | "post";
  /** The client's private key instead of a secret (`private_key_jwt`, RFC 7523), and the id by which the issuer knows it. */
  readonly privateKey?: CryptoKey | { readonly key: CryptoKey; readonly kid?: string };
  /**
   * The issuer, whose metadata say where tokens are to be had (RFC 8414, OpenID Connect Discovery). Default: what the agent's card says, which is then
   * trusted with where the client's secret is sent.
   */
  readonly issuer?: string;
  /**
   * Hosts besides that of `issuer` on which its endpoints may be, such as `oauth2.googleapis.com` of `https://accounts.google.com`. Default:
   * none: metadata that name endpoints elsewhere are not trusted with secrets.
   */
  readonly issuerHosts?: readonly string[];
  /** Scopes besides those that the agent asks for, such as `offline_access`. */
  readonly scopes?: readonly string[];
  /** Whom the tokens are for (RFC 8707). Issuers that do not know it may refuse it. */
  readonly resource?: string;
  /** The same for issuers that call it `audience`. */
  readonly audience?: string;
  /** Where tokens are kept; one for each user. Default: in memory. */
  readonly tokens?: OAuthStorage;
  /** How issuers are asked. Default: as the client calls agents; for sign-ins, the global one. */
  readonly fetch?: typeof globalThis.fetch;
  /** Issuers may be on this machine, over `http:` too, or at a plain address. For tests. Default: no. */
  readonly allowLocalIssuer?: boolean;
  readonly limits?: Partial<OAuthLimits>;
}

/** @throws TypeError for options that no flow can work with. */
export function checkOptions(options: OAuthOptions): OAuthLimits {
  const { clientId, clientSecret, privateKey, issuer, issuerHosts = [], limits = {} } = options;
  if (typeof clientId !== "string" || clientId === "") throw new TypeError("clientId is no text");
  if (clientSecret !== undefined && (typeof clientSecret !== "string" || clientSecret === "")) {
    throw new TypeError("clientSecret is no text");
  }
  if (clientSecret !== undefined && privateKey !== undefined)
    throw new TypeError("clientSecret or privateKey, not both");
  if (issuer !== undefined && !URL.canParse(issuer)) throw new TypeError("issuer is no absolute URL");
  if (!Array.isArray(issuerHosts) || !issuerHosts.every(isHost)) {
    throw new TypeError("issuerHosts is not a list of hosts without scheme, port and path");
  }
  for (const [name, value] of Object.entries(limits)) {
    if (!Object.hasOwn(defaultOAuthLimits, name)) throw new TypeError(`limits.${name} is none`);
    if (typeof value !== "number" || !(value >= 0)) throw new TypeError(`limits.${name} is no number`);
  }
  return { ...defaultOAuthLimits, ...limits };
}
