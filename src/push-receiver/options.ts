import { unknownNames } from "../core/describe.js";
import type { Logger } from "../core/log.js";
import { parseUrl } from "../core/net.js";
import { issuerUrlFaults } from "../jwt/issuer.js";
import type { JsonWebKeySet } from "../jwt/verifier.js";
import { isJsonObject } from "../wire/json-struct.js";
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

const known: { readonly [K in keyof PushReceiverOptions]-?: (value: unknown) => string[] } = {
  servers: (value) =>
    Array.isArray(value) && value.length > 0 ? value.flatMap(serverFaults) : ["servers is not a list"],
  audience: (value) => [value].flat().flatMap(audienceFaults),
  secrets: (value) => listOr(value, "secrets", webhookSecretFault),
  publicKeys: (value) =>
    typeof value === "function" ? ["publicKeys is not a list"] : listOr(value, "publicKeys", keyFault),
  tokens: (value) => listOr(value, "tokens", textFault),
  authorization: (value) => listOr(value, "authorization", textFault),
  expects: (value) => (typeof value === "function" ? [] : ["expects is not a function"]),
  acceptUnsigned: (value) => (typeof value === "boolean" ? [] : ["acceptUnsigned is neither true nor false"]),
  toleranceMs: (value) => timeFaults("toleranceMs", value),
  limits: limitFaults,
  memory: (value) => {
    const { order, remember } = (value ?? {}) as Partial<PushMemory>;
    return typeof order === "function" && typeof remember === "function" ? [] : ["memory lacks order or remember"];
  },
  logger: () => [],
};

/** Faults of the options, without secrets. */
export function receiverFaults(options: PushReceiverOptions): string[] {
  if (!isJsonObject(options)) return ["the options are missing"];
  const faults = unknownNames("the option ", Object.keys(options), Object.keys(known));
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && Object.hasOwn(known, name)) faults.push(...known[name as keyof typeof known](value));
  }
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

function serverFaults(server: unknown): string[] {
  const { url, jwks } = (typeof server === "string" ? { url: server } : (server ?? {})) as Partial<PushServer>;
  if (typeof url !== "string" || parseUrl(url) === undefined) return ["servers has one without an absolute URL"];
  if (typeof jwks === "object" && !(jwks instanceof URL)) {
    return Array.isArray(jwks?.keys) ? [] : [`the jwks of ${url} has no list of keys`];
  }
  return issuerUrlFaults(`the jwks of ${url}`, String(jwks ?? defaultJwks(url)));
}

/** Normalizes a URL as servers do for their own. */
export const plainUrl = (url: string): string => new URL(url).href.replace(/\/+$/, "");

/** Returns the default URL of a server's keys. */
export const defaultJwks = (url: string): string => plainUrl(url) + JWKS_PATH;

function audienceFaults(audience: unknown): string[] {
  const isPlain = typeof audience === "string" && parseUrl(audience) !== undefined && !/[?#]/.test(audience);
  return isPlain ? [] : ["audience is not an absolute URL without query and fragment"];
}

function listOr(value: unknown, name: string, faultOf: (each: unknown) => string | undefined): string[] {
  if (typeof value === "function") return [];
  if (!Array.isArray(value) || value.length === 0) return [`${name} is not a list`];
  return value.flatMap((each, i) => {
    const fault = faultOf(each);
    return fault === undefined ? [] : [`${name}[${i}] ${fault}`];
  });
}

const textFault = (each: unknown): string | undefined =>
  typeof each === "string" && each !== "" ? undefined : "is empty";

const keyFault = (each: unknown): string | undefined =>
  webhookKeyBytes("whpk_", each)?.length === 32 ? undefined : "is not of the form whpk_ with 32 bytes in base64";

function limitFaults(limits: unknown): string[] {
  if (!isJsonObject(limits)) return ["limits is not an object"];
  const faults = unknownNames("limits.", Object.keys(limits), Object.keys(defaultReceiverLimits));
  const set = Object.entries(limits).filter(([, value]) => value !== undefined);
  return [...faults, ...set.flatMap(([name, value]) => timeFaults(`limits.${name}`, value))];
}

/** Maximum time of a timer, in milliseconds. */
const MAX = 2 ** 31 - 1;

function timeFaults(name: string, value: unknown): string[] {
  const isRight = typeof value === "number" && Number.isInteger(value) && value > 0 && value <= MAX;
  return isRight ? [] : [`${name} is not a whole number from 1 to ${MAX}`];
}
