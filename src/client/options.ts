import type { Interceptor } from "@connectrpc/connect";
import { membersOf } from "../core/members.js";
import { isUrlHost } from "../core/net.js";
import * as check from "../core/options.js";
import type { TelemetryOption } from "../telemetry/choice.js";
import { olderVersions } from "../version/client-versions.js";
import { PROTOCOL_VERSION } from "../version/v1.js";
import type { Credentials } from "./credentials/credential.js";
import type { CardOptions } from "./discovery/discovery.js";
import { type Binding, bindings } from "./discovery/interfaces.js";
import type { ClientLimits } from "./limits.js";
import type { PlatformOptions } from "./platform.js";

/** Options of `connect`. */
export interface ClientOptions extends PlatformOptions {
  /**
   * Credentials for the agent's security schemes. They are sent to its interfaces only, never with the request for the
   * card.
   */
  readonly credentials?: Credentials;
  /**
   * Hosts that receive credentials besides that of the connected URL, such as `api.example`: each with all of its
   * ports, without subdomains. Default: none, or all if the card's signature is trusted (`card.verify`) or the caller
   * gave the card. A call that would send credentials elsewhere fails, including `Authorization` and `Cookie` in its
   * own headers.
   */
  readonly credentialHosts?: readonly string[];
  /** Bindings to try first, in this order. Default: the order of the card. */
  readonly prefer?: Binding | readonly Binding[];
  /** The only bindings to use, in this order. Default: all of the platform; gRPC-Web only if it is preferred. */
  readonly bindings?: readonly Binding[];
  /**
   * The A2A version to speak, as `Major.Minor`: one that the card names, or that of a card before 1.0 which names none.
   * Default: the newest of the card. For a card that names none it is guessed, and corrected if the agent does not know
   * the first send.
   */
  readonly version?: string;
  /** Replaces the tenant that the interface names (specification 4.4.6). */
  readonly tenant?: string;
  /** URIs of extensions to request with every call. */
  readonly extensions?: readonly string[];
  /** Interceptors around every attempt of a call, the first one outermost. They do not see credentials. */
  readonly interceptors?: readonly Interceptor[];
  /**
   * Creates spans of OpenTelemetry for calls and sends their context: true by `@opentelemetry/api`, false never. Runtimes
   * other than Node.js take the module `@opentelemetry/api` itself. Default: true on Node.js if an SDK is registered.
   */
  readonly telemetry?: TelemetryOption;
  /** Options for finding the card. */
  readonly card?: CardOptions;
  /**
   * Allows interfaces without encryption although the card was encrypted, or other interfaces are. Default false.
   * (Credentials have a separate option.)
   */
  readonly allowHttp?: boolean;
  readonly limits?: Partial<ClientLimits>;
  /** Aborts finding the card. */
  readonly signal?: AbortSignal;
}

const any = check.anything();
const binding = check.oneOf(bindings);

const cardChecks: check.OptionChecks<CardOptions> = {
  headers: any,
  cache: check.unless((value) => value === false, check.anObject()),
  verify: check.aFunction(),
};

/** The checks of the options that `connect` and `createTransport` share. */
export const transportChecks: check.OptionChecks<
  Pick<ClientOptions, keyof PlatformOptions | "interceptors" | "limits">
> = {
  fetch: check.aFunction(),
  tls: any,
  plaintextGrpc: check.aBoolean(),
  interceptors: check.listOf(check.aFunction(), true),
  limits: check.anObject(),
};

/** The checks of `connect`'s options. Limits are checked where they are completed. */
export const connectChecks: check.OptionChecks<ClientOptions> = {
  ...transportChecks,
  credentials: credentialFaults,
  credentialHosts: check.listOf(check.aText("a host without scheme, port and path", isUrlHost), true),
  prefer: (name, value) => (Array.isArray(value) ? check.listOf(binding, true) : binding)(name, value),
  bindings: check.listOf(binding),
  version: check.oneOf([PROTOCOL_VERSION, ...olderVersions.map(({ name }) => name)]),
  tenant: check.aText(),
  extensions: check.listOf(
    check.aText("a URI", (uri) => /^[\x21-\x2b\x2d-\x7e]+$/.test(uri)),
    true,
  ),
  telemetry: any,
  card: check.anObjectOf(cardChecks, [], "an object"),
  allowHttp: check.aBoolean(),
  signal: any,
};

/** Returns the faults of credentials without repeating them. */
function credentialFaults(name: string, given: unknown): string[] {
  if (isCredential(given)) return [];
  if (typeof given !== "object" || given === null) return [notACredential(name, given)];
  const isList = Array.isArray(given);
  return Object.entries(given)
    .filter(([, each]) => !isCredential(each) && (isList || each !== undefined))
    .map(([key, each]) => notACredential(isList ? `${name}[${key}]` : `${name}.${key}`, each));
}

const isCredential = (given: unknown): boolean =>
  ["fits", "apply"].every((method) => typeof membersOf(given)[method] === "function");

const notACredential = (name: string, given: unknown): string =>
  `${name} is ${check.typeName(given)}, not a credential: make one by bearer(token), apiKey(key) or basic(name, password)`;

/** Returns one or several values as a list. */
export function listed<T>(given: T | readonly T[]): readonly T[] {
  return Array.isArray(given) ? given : [given as T];
}
