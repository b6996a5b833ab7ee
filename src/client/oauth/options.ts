import type { CryptoKey } from "openid-client";
import { isUrlHost, parseUrl } from "../../core/net.js";
import * as check from "../../core/options.js";
import type { SentOptions } from "../credentials/secret.js";
import type { OAuthStorage } from "./storage.js";

/** Limits of requests to an issuer, and renewal of tokens. */
export interface OAuthLimits {
  /** Timeout of an issuer's answer, in milliseconds. Default 10 seconds. */
  readonly issuerTimeoutMs: number;
  /** Maximum size of an issuer's answer, in bytes. Default 256 KiB. */
  readonly maxIssuerBytes: number;
  /**
   * Time before expiry at which a token is renewed, in milliseconds, plus or minus a fifth, but not before half its
   * lifetime. Calls use the old one meanwhile. Default 60 seconds.
   */
  readonly refreshAheadMs: number;
  /**
   * Time before expiry at which a token counts as expired, in milliseconds, to allow for clock skew and latency.
   * Default 5 seconds.
   */
  readonly clockSkewMs: number;
  /** Pause after an issuer's failure, in milliseconds. Calls without a token fail meanwhile. Default 1 second. */
  readonly issuerCooldownMs: number;
  /** Minimum time between fetches of new tokens that a server keeps rejecting, in milliseconds. Default 10 seconds. */
  readonly refusalMs: number;
  /** Age at which an issuer's metadata are fetched again, in milliseconds. Default 10 minutes. */
  readonly metadataMs: number;
  /** Time for a user to complete a sign-in, in milliseconds. Default 10 minutes. */
  readonly signInMs: number;
  /** Agents whose tokens one credential holds in memory; the oldest are evicted first. Default 1,000. */
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
  /**
   * Placement of the secret. Default: `basic`, unless the issuer's metadata list `client_secret_post` and not
   * `client_secret_basic`.
   */
  readonly secretIn?: "basic" | "post";
  /** The client's private key instead of a secret (`private_key_jwt`, RFC 7523), and its id at the issuer. */
  readonly privateKey?: CryptoKey | { readonly key: CryptoKey; readonly kid?: string };
  /**
   * The issuer, whose metadata name the token endpoint (RFC 8414, OpenID Connect Discovery). Default: as in the agent's
   * card, which then decides where the client's secret is sent.
   */
  readonly issuer?: string;
  /**
   * Hosts of its endpoints besides that of `issuer`, such as `oauth2.googleapis.com` of `https://accounts.google.com`.
   * Default: none: endpoints on other hosts receive no secrets.
   */
  readonly issuerHosts?: readonly string[];
  /** Scopes in addition to those that the agent requires, such as `offline_access`. */
  readonly scopes?: readonly string[];
  /** Resource that the tokens are for (RFC 8707). Issuers without support may reject it. */
  readonly resource?: string;
  /** The same, for issuers that call it `audience`. */
  readonly audience?: string;
  /** Storage of tokens, one for each user. Default: in memory. */
  readonly tokens?: OAuthStorage;
  /** `fetch` for requests to issuers. Default: the client's own connections; for sign-ins, the global one. */
  readonly fetch?: typeof globalThis.fetch;
  /** Allows issuers on this machine, also over `http:`, or at an IP address. For tests. Default false. */
  readonly allowLocalIssuer?: boolean;
  readonly limits?: Partial<OAuthLimits>;
}

const any = check.anything();

/** The checks of the options of all flows. */
export const oauthChecks: check.OptionChecks<OAuthOptions> = {
  clientId: check.aText("a non-empty text", (id) => id !== ""),
  clientSecret: check.aSecret(),
  secretIn: check.oneOf(["basic", "post"]),
  privateKey: any,
  issuer: check.aText("an absolute URL", (url) => parseUrl(url) !== undefined),
  issuerHosts: check.listOf(check.aText("a host without scheme, port and path", isUrlHost), true),
  scopes: any,
  resource: any,
  audience: any,
  tokens: any,
  fetch: check.aFunction(),
  allowHttp: check.aBoolean(),
  allowLocalIssuer: check.aBoolean(),
  limits: check.anObjectOf(
    check.checksOf(defaultOAuthLimits, () =>
      check.expects("a number from 0", (value) => typeof value === "number" && value >= 0),
    ),
  ),
};

/** @throws TypeError that names every fault */
export function checkOAuthOptions(
  options: OAuthOptions,
  checks: check.OptionChecks = oauthChecks,
  required: readonly string[] = [],
): void {
  const faults = check.optionFaults(options, checks, "", ["clientId", ...required]);
  if (options.clientSecret !== undefined && options.privateKey !== undefined) {
    faults.push("clientSecret or privateKey, not both");
  }
  if (faults.length > 0) throw new TypeError(`Invalid options: ${faults.join("; ")}`);
}
