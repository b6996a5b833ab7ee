import type { Interceptor } from "@connectrpc/connect";
import { unknownNames } from "../core/describe.js";
import { invalid, type Violation } from "../core/error.js";
import { membersOf } from "../core/members.js";
import { olderVersions } from "../version/client-versions.js";
import { PROTOCOL_VERSION } from "../version/v1.js";
import type { Credentials } from "./credentials/credential.js";
import type { CardOptions } from "./discovery/discovery.js";
import { type Binding, bindings } from "./discovery/interfaces.js";
import { isHost } from "./hosts.js";
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

const known: Readonly<Record<keyof ClientOptions, true>> = {
  fetch: true,
  tls: true,
  plaintextGrpc: true,
  credentials: true,
  credentialHosts: true,
  prefer: true,
  bindings: true,
  version: true,
  tenant: true,
  extensions: true,
  interceptors: true,
  card: true,
  allowHttp: true,
  limits: true,
  signal: true,
};

const spokenVersions = [PROTOCOL_VERSION, ...olderVersions.map(({ name }) => name)];

/** @throws A2AError INVALID_PARAMS that names every violation; limits are checked separately */
export function checkOptions(options: ClientOptions): void {
  const { prefer = [], bindings: only = [], extensions = [], interceptors = [], tenant = "" } = options;
  const faults: Violation[] = unknownNames("the option ", Object.keys(options), Object.keys(known)).map(
    (description) => ({ field: "", description }),
  );
  for (const [field, given] of [
    ["prefer", listed(prefer)],
    ["bindings", only],
  ] as const) {
    const odd = given.filter((each) => !bindings.includes(each)).map((each) => JSON.stringify(each));
    if (odd.length > 0) faults.push({ field, description: `has ${odd.join(", ")}; there are ${bindings.join(", ")}` });
  }
  const { version = PROTOCOL_VERSION } = options;
  if (!spokenVersions.includes(version)) {
    const there = spokenVersions.join(", ");
    faults.push({ field: "version", description: `is ${JSON.stringify(version)}; there are ${there}` });
  }
  const { credentialHosts = [] } = options;
  const noHost = credentialHosts.find((each) => !isHost(each));
  if (noHost !== undefined) {
    const description = `has ${JSON.stringify(noHost)}, which is not a host without scheme, port and path`;
    faults.push({ field: "credentialHosts", description });
  }
  if (options.bindings?.length === 0) faults.push({ field: "bindings", description: "is empty" });
  const odd = extensions.filter((uri) => typeof uri !== "string" || !/^[\x21-\x2b\x2d-\x7e]+$/.test(uri));
  if (odd.length > 0)
    faults.push({ field: "extensions", description: `has ${JSON.stringify(odd[0])}, which is not a URI` });
  if (!interceptors.every((each) => typeof each === "function")) {
    faults.push({ field: "interceptors", description: "has one that is not a function" });
  }
  faults.push(...credentialFaults(options.credentials));
  if (typeof tenant !== "string") faults.push({ field: "tenant", description: "is not a text" });
  if (faults.length > 0) throw invalid(faults);
}

/** Returns the violations in credentials of untyped callers. */
function credentialFaults(given: unknown): Violation[] {
  if (given === undefined || isCredential(given)) return [];
  if (typeof given !== "object" || given === null) return [notACredential("credentials", given)];
  const isList = Array.isArray(given);
  return Object.entries(given)
    .filter(([, each]) => !isCredential(each) && (isList || each !== undefined))
    .map(([name, each]) => notACredential(isList ? `credentials[${name}]` : `credentials.${name}`, each));
}

const isCredential = (given: unknown): boolean =>
  typeof given === "object" &&
  given !== null &&
  ["fits", "apply"].every((method) => typeof membersOf(given)[method] === "function");

/** Describes a value without repeating it, since it may be a secret. */
function notACredential(field: string, given: unknown): Violation {
  const what = typeof given === "string" ? "a text" : given === null ? "null" : `a value of type ${typeof given}`;
  const description = `is ${what}, not a credential: make one by bearer(token), apiKey(key) or basic(name, password)`;
  return { field, description };
}

/** Returns one or several values as a list. */
export function listed<T>(given: T | readonly T[]): readonly T[] {
  return Array.isArray(given) ? given : [given as T];
}
