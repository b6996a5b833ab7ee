import type { Logger } from "../core/log.js";
import { parseUrl, withoutSecrets } from "../core/net.js";
import * as check from "../core/options.js";
import { issuerUrlFaults } from "../jwt/issuer.js";
import type { JsonWebKeySet } from "../jwt/verifier.js";
import { isJsonObject } from "../wire/json-struct.js";
import { MAX_TIMEOUT_MS } from "../wire/service-params.js";
import { JWKS_PATH, webhookKeyBytes, webhookSecretFault } from "../wire/webhook.js";
import type { PushMemory } from "./memory.js";

/** A server whose notifications are trusted by their JWT. */
export interface PushServer {
  /** Its public URL (`publicUrl`): the `iss` of its JWTs. */
  readonly url: string;
  /**
   * Its public keys: the URL of its JWKS (https, except on this machine), or the set itself. Default:
   * `/.well-known/jwks.json` below its URL.
   */
  readonly jwks?: string | URL | JsonWebKeySet;
}

/** The task of a notification. */
export interface NotifiedTask {
  readonly taskId: string;
  /** Empty if the notification has none. */
  readonly contextId: string;
  /** Id of the configuration that requested it. */
  readonly configId: string | undefined;
  /** The server that signed it, if it has a JWT. */
  readonly server: string | undefined;
  /** The `X-A2A-Notification-Token`; empty without one. */
  readonly token: string;
}

/** Limits of a receiver. */
export interface PushReceiverLimits {
  /** Maximum size of one notification, in bytes. Default 8 MiB. */
  readonly maxBodyBytes: number;
  /** Maximum number of JSON values in one notification. Default 250,000. */
  readonly maxBodyValues: number;
}

/** Options of `createPushReceiver`. */
export interface PushReceiverOptions {
  /**
   * Trusted servers, whose JWTs (`Parley-Signature`) are accepted: their public URLs, with optional settings. Requires
   * `audience`. A signature identifies the server that sent a notification, but not the client that asked for it: see
   * `tokens` and `expects`.
   */
  readonly servers?: readonly (string | PushServer)[];
  /** The URL of this webhook, without its query, as in configurations; several if it has several. */
  readonly audience?: string | readonly string[];
  /**
   * Shared secrets of Standard Webhooks (`v1`), `whsec_…`: of any library, or derived from a Parley server's by
   * `pushSecretOf`. A function gets the `X-A2A-Notification-Token` (empty without one), for a secret per token.
   */
  readonly secrets?: readonly string[] | ((token: string) => readonly string[] | Promise<readonly string[]>);
  /** Public keys of Standard Webhooks (`v1a`, Ed25519), `whpk_…`. */
  readonly publicKeys?: readonly string[];
  /** Tokens of configurations: each notification has to have one of them. A function has to compare in constant time. */
  readonly tokens?: readonly string[] | ((token: string) => boolean | Promise<boolean>);
  /** Values of `Authorization`, such as `Bearer …`: each notification has to have one of them. A function likewise. */
  readonly authorization?: readonly string[] | ((value: string) => boolean | Promise<boolean>);
  /** Returns true for a task whose notifications are expected. Default: every task. */
  readonly expects?: (task: NotifiedTask) => boolean | Promise<boolean>;
  /**
   * Accepts notifications without a trusted kind of signature, such as those of servers without Parley. Requires
   * `tokens` or `authorization`, which are then the only proof of their sender. Default false.
   */
  readonly acceptUnsigned?: boolean;
  /**
   * Allowed difference between the time of a signature and this clock, in milliseconds, both ways. Default 300,000 (5
   * minutes).
   */
  readonly toleranceMs?: number;
  /** Limits that differ from the defaults. */
  readonly limits?: Partial<PushReceiverLimits>;
  /** Stores the marks of handled notifications. Default: `pushMemory()`, of this process. */
  readonly memory?: PushMemory;
  /**
   * Logger of refusals (`info`), servers whose keys cannot be fetched (`warn`) and failures of handlers (`error`).
   * Default: nothing is logged.
   */
  readonly logger?: Logger;
}

/** The default limits. */
export const defaultReceiverLimits: PushReceiverLimits = {
  maxBodyBytes: 8 * 1024 * 1024,
  maxBodyValues: 250_000,
};

const positive = check.aWholeNumber(1, MAX_TIMEOUT_MS);

const isWebhook = (url: unknown): boolean =>
  typeof url === "string" && parseUrl(url) !== undefined && !/[?#]/.test(url);

/** A query may hold a secret. */
const webhook = check.expects("an absolute URL without query and fragment", isWebhook, check.typeName);

const isFunction = (value: unknown): boolean => typeof value === "function";

const secretsOrFunction = check.unless(isFunction, check.listOf(check.aSecret()));

const isPublicKey = (key: unknown): boolean => webhookKeyBytes("whpk_", key)?.length === 32;

const checks: check.OptionChecks<PushReceiverOptions> = {
  servers: check.listOf(serverFaults),
  audience: (name, value) => (Array.isArray(value) ? check.listOf(webhook, true) : webhook)(name, value),
  secrets: check.unless(isFunction, check.listOf(check.judged(webhookSecretFault))),
  publicKeys: check.listOf(check.expects("whpk_ with 32 bytes in base64", isPublicKey, check.typeName)),
  tokens: secretsOrFunction,
  authorization: secretsOrFunction,
  expects: check.aFunction(),
  acceptUnsigned: check.aBoolean(),
  toleranceMs: positive,
  limits: check.anObjectOf(check.checksOf(defaultReceiverLimits, () => positive)),
  memory: check.havingFunctions("order", "remember"),
  logger: check.aLogger(),
};

/** Faults of the options, without secrets. */
export function receiverFaults(options: PushReceiverOptions): string[] {
  if (!isJsonObject(options)) return ["the options are missing"];
  const faults = check.optionFaults(options, checks);
  const { servers, secrets, publicKeys, tokens, authorization, acceptUnsigned, audience } = options;
  const isSigned = servers !== undefined || secrets !== undefined || publicKeys !== undefined;
  if (servers !== undefined && audience === undefined) {
    faults.push("servers needs audience, the URL of this webhook: else what is signed for another one would do here");
  }
  if (acceptUnsigned === true && tokens === undefined && authorization === undefined) {
    faults.push("acceptUnsigned needs tokens or authorization: else anybody could send anything");
  }
  if (!isSigned && acceptUnsigned !== true) {
    faults.push(
      "there are neither servers nor secrets nor publicKeys, and acceptUnsigned is not true: nothing would be accepted",
    );
  }
  return faults;
}

const server = check.anObjectOf(
  { url: check.aText("an absolute URL", (url) => parseUrl(url) !== undefined), jwks: check.anything() },
  ["url"],
);

function serverFaults(place: string, given: unknown): readonly string[] {
  const options = typeof given === "string" ? { url: given } : given;
  const faults = server(place, options);
  if (faults.length > 0) return faults;
  const { url, jwks } = options as PushServer;
  const name = `the jwks of ${withoutSecrets(url)}`;
  if (typeof jwks === "object" && !(jwks instanceof URL)) {
    return Array.isArray(jwks?.keys) ? [] : [`${name} has no list of keys`];
  }
  return issuerUrlFaults(name, String(jwks ?? defaultJwks(url)));
}

/** Normalizes a URL as servers do for their own. */
export const plainUrl = (url: string): string => new URL(url).href.replace(/\/+$/, "");

/** Returns the default URL of a server's keys. */
export const defaultJwks = (url: string): string => plainUrl(url) + JWKS_PATH;
