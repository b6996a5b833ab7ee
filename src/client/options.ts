import type { Interceptor } from "@connectrpc/connect";
import { unknownNames } from "../core/describe.js";
import { invalid, type Violation } from "../core/error.js";
import { olderVersions } from "../version/callable.js";
import { PROTOCOL_VERSION } from "../version/v1.js";
import type { Credentials } from "./credentials/credential.js";
import type { CardOptions } from "./discovery/discovery.js";
import { type Binding, bindings } from "./discovery/interfaces.js";
import { isHost } from "./hosts.js";
import type { ClientLimits } from "./limits.js";
import type { PlatformOptions } from "./platform.js";

/** Options of `connect`. */
export interface ClientOptions extends PlatformOptions {
  /** What the agent's security schemes ask for. They are sent to its interfaces alone, and never with the request for the card. */
  readonly credentials?: Credentials;
  /**
   * Hosts that get credentials besides that of the URL that is connected to, such as `api.example`: each with all of its ports, and
   * without hosts below it. Default: none, and all where the card's signature is trusted (`card.verify`) or the card itself was given.
   * A call fails that would show credentials elsewhere, `Authorization` and `Cookie` of its own headers included.
   */
  readonly credentialHosts?: readonly string[];
  /** Bindings that are tried before others, in this order. Default: the order of the card. */
  readonly prefer?: Binding | readonly Binding[];
  /** The only bindings that are used, in this order. Default: all that the platform has, gRPC-Web where it is preferred. */
  readonly bindings?: readonly Binding[];
  /**
   * The version of A2A that is spoken, as `Major.Minor`: of those that the card names, or that of a card before 1.0 which names none.
   * Default: the newest of the card; of a card that names none a guess, which an agent may set right that does not know the first send.
   */
  readonly version?: string;
  /** In place of the tenant that the interface names (specification 4.4.6). */
  readonly tenant?: string;
  /** URIs of extensions that every call asks for. */
  readonly extensions?: readonly string[];
  /** Run around every attempt of a call, the first one outermost; they do not see credentials. */
  readonly interceptors?: readonly Interceptor[];
  /** How the card is found. */
  readonly card?: CardOptions;
  /**
   * Uses interfaces without encryption though the card came encrypted, or others are. Default false. (Credentials have an option of
   * their own.)
   */
  readonly allowHttp?: boolean;
  readonly limits?: Partial<ClientLimits>;
  /** Gives up finding the card. */
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

/** @throws A2AError with reason INVALID_PARAMS that names every fault; those of the limits are found elsewhere. */
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
    faults.push({ field: "extensions", description: `has ${JSON.stringify(odd[0])}, which is no URI` });
  if (!interceptors.every((each) => typeof each === "function")) {
    faults.push({ field: "interceptors", description: "has one that is no function" });
  }
  faults.push(...credentialFaults(options.credentials));
  if (typeof tenant !== "string") faults.push({ field: "tenant", description: "is no text" });
  if (faults.length > 0) throw invalid(faults);
}

/** Finds the faults in credentials of callers without types. */
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
  ["fits", "apply"].every((method) => typeof (given as Record<string, unknown>)[method] === "function");

/** The value is not repeated: it may be a secret. */
function notACredential(field: string, given: unknown): Violation {
  const what = typeof given === "string" ? "a text" : given === null ? "null" : `a value of type ${typeof given}`;
  const description = `is ${what}, not a credential: make one by bearer(token), apiKey(key) or basic(name, password)`;
  return { field, description };
}

/** One or several as a list. */
export function listed<T>(given: T | readonly T[]): readonly T[] {
  return Array.isArray(given) ? given : [given as T];
}
