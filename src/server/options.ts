import { isIP } from "node:net";
import { createSecureContext } from "node:tls";
import proxyAddr from "proxy-addr";
import type { Authenticator } from "../auth/authenticator.js";
import { type AgentDirectory, type AgentsInput, serveAgents } from "../card/agents.js";
import { ConfigurationError } from "../card/faults.js";
import { defaultLimits, type Limits, MAX_TASK_BYTES } from "../core/limits.js";
import { guardedLogger, type Logger, silentLogger } from "../core/log.js";
import { unknownNames } from "../core/unknown-names.js";
import type { EngineOptions } from "../engine/engine.js";
import { isHost, type Trust } from "../http/arrival.js";
import { type HostRules, isLoopback } from "../http/hosts.js";
import type { Interceptor } from "../service/invoke.js";
import type { ServiceOptions } from "../service/options.js";
import { resumeExtension } from "../service/resume.js";
import type { TaskStore } from "../store/task-store.js";
import type { TlsFiles } from "./listen.js";
import type { CardGrpc } from "./public-address.js";

/** What serves agents, wherever it is mounted. */
export interface A2AOptions extends AgentsInput {
  /** Where tasks are kept: `sqliteStore(path)`, or `memoryStore()` for tests. It is closed together with the server. */
  readonly store: TaskStore;
  /** Limits that differ from the defaults. */
  readonly limits?: Partial<Limits>;
  /** Default: nothing is logged. */
  readonly logger?: Logger;
  /** Default: every caller is anonymous. */
  readonly authenticator?: Authenticator;
  /**
   * Run around every call of every binding, after authentication, in the order given: rate limits, audit, telemetry. Each
   * is `(next) => (invocation) => next(invocation)` with something around it. Default: none.
   */
  readonly interceptors?: readonly Interceptor[];
  /** Refuses calls that name no version. Default false: package, method and path tell it. */
  readonly strictVersion?: boolean;
  /** Treats a message's id as its idempotency key when no key is sent. Default false. */
  readonly idempotentMessageIds?: boolean;
  /** How long finished tasks are kept, in milliseconds. Default: for ever. */
  readonly retentionMs?: number;
  /** How often one turn is run again after crashes before its task fails. Default 3. */
  readonly maxRestarts?: number;
  /**
   * After this time without a sign of life a process's running tasks are taken over, in milliseconds. Default 15,000.
   * Whoever opens a store that is not shared does not wait for it.
   */
  readonly leaseMs?: number;
  /**
   * URL under which clients reach the HTTP port; a path in it is kept. Default: what a trusted proxy was asked for, or
   * the address that listens. A handler that is embedded knows neither and takes the host that each client names, so
   * it should be given one, above all where several paths or gRPC lead to it.
   */
  readonly publicUrl?: string;
  /** `host:port` under which clients reach gRPC. Default: the host of the URL, and the port that listens. */
  readonly grpcPublicUrl?: string;
  /**
   * How cards name gRPC. Default `address`: by `host:port`, as the specification has it (4.4.6). `url`: by the URL of the
   * HTTP port, which speaks gRPC as well; nothing where that URL has a path. `omit`: not at all. The last two are for
   * clients that refuse a card with an interface that is no URL of the card's own origin.
   */
  readonly cardGrpc?: CardGrpc;
  /**
   * Proxies whose `Forwarded` and `X-Forwarded-*` headers tell the truth: addresses, networks such as `10.0.0.0/8`, or
   * the names `loopback`, `linklocal`, `uniquelocal`. True trusts every peer. Default: none.
   */
  readonly trustProxy?: boolean | string | readonly string[];
  /**
   * Hosts that requests on the HTTP port may name: names, `*.example.com` for all below one; true for every one.
   * `localhost`, addresses and the host of `publicUrl` need no permission. Default: none where only this machine reaches
   * the server, so that no page on the web does by a name that leads here ("DNS rebinding"), and every one elsewhere.
   */
  readonly allowedHosts?: true | readonly string[];
  /** Origins whose scripts may call, such as `https://app.example.org`; true for every one. Default: none. */
  readonly cors?: boolean | readonly string[];
  /** For how long a card may be kept without asking again, in seconds. Default 300. */
  readonly cardMaxAgeSeconds?: number;
  /** Path that requests begin with, where the framework that mounts the handler does not take it away. */
  readonly basePath?: string;
}

/** What serves agents on ports of its own. */
export interface ServerOptions extends A2AOptions {
  /** Port for everything but gRPC proper; 0 takes any free one. Default 8080. */
  readonly port?: number;
  /** Port for gRPC, 0 for any free one; false opens none. Default 50051. */
  readonly grpcPort?: number | false;
  /** Address or name to listen on. Default 127.0.0.1, which nobody but this machine reaches. */
  readonly host?: string;
  /** Makes both ports speak TLS, 1.2 or later. Default: cleartext. */
  readonly tls?: TlsFiles;
}

/** Options with their defaults, checked. */
export interface Settings {
  /** What is meant for the engine alone. */
  readonly engine: Pick<EngineOptions, "retentionMs" | "maxRestarts" | "leaseMs">;
  /** What is meant for the service alone. */
  readonly service: Pick<ServiceOptions, "authenticator" | "interceptors" | "strictVersion" | "idempotentMessageIds">;
  readonly agents: AgentDirectory;
  readonly store: TaskStore;
  readonly limits: Limits;
  readonly logger: Logger;
  readonly trust: Trust | undefined;
  readonly allowedHosts: true | readonly string[];
  readonly cors: true | readonly string[] | undefined;
  readonly publicUrl: string | undefined;
  readonly grpcPublicUrl: string | undefined;
  readonly cardGrpc: CardGrpc;
  readonly cardMaxAgeSeconds: number;
  readonly basePath: string;
  readonly host: string;
  readonly port: number;
  readonly grpcPort: number | undefined;
  readonly tls: TlsFiles | undefined;
}

/** Names of all options, so that a slip of the pen is not taken for silence. */
const embeddedOptions: Record<keyof A2AOptions, true> = {
  agent: true,
  agents: true,
  tenants: true,
  store: true,
  limits: true,
  logger: true,
  authenticator: true,
  interceptors: true,
  strictVersion: true,
  idempotentMessageIds: true,
  retentionMs: true,
  maxRestarts: true,
  leaseMs: true,
  publicUrl: true,
  grpcPublicUrl: true,
  cardGrpc: true,
  trustProxy: true,
  allowedHosts: true,
  cors: true,
  cardMaxAgeSeconds: true,
  basePath: true,
};

const listeningOptions: Record<Exclude<keyof ServerOptions, keyof A2AOptions>, true> = {
  port: true,
  grpcPort: true,
  host: true,
  tls: true,
};

/**
 * Fills in the defaults and checks everything.
 *
 * @param listens whether ports are opened; what is said of them is not known otherwise.
 * @throws ConfigurationError that names every wrong option, and every fault of the agents and their cards.
 */
export function settle(options: ServerOptions, listens = true): Settings {
  if (typeof options !== "object" || options === null) {
    throw new ConfigurationError("Invalid options", ["there are none: give at least an agent and a store"]);
  }
  const faults = nameFaults(options, listens);
  shapeFaults(options, faults);
  const settings: Omit<Settings, "agents"> = {
    engine: given({ retentionMs: options.retentionMs, maxRestarts: options.maxRestarts, leaseMs: options.leaseMs }),
    service: given({
      authenticator: options.authenticator,
      interceptors: options.interceptors,
      strictVersion: options.strictVersion,
      idempotentMessageIds: options.idempotentMessageIds,
    }),
    store: options.store,
    limits: limitsOf(options.limits ?? {}, faults),
    logger: guardedLogger(options.logger ?? silentLogger),
    trust: trustOf(options.trustProxy ?? false, faults),
    allowedHosts: hostsOf(options, listens, faults),
    cors: corsOf(options.cors ?? false, faults),
    publicUrl: publicUrlOf(options.publicUrl, faults),
    grpcPublicUrl: grpcPublicUrlOf(options.grpcPublicUrl, faults),
    cardGrpc: cardGrpcOf(options.cardGrpc ?? "address", faults),
    cardMaxAgeSeconds: whole("cardMaxAgeSeconds", options.cardMaxAgeSeconds ?? 300, 0, maxTime, faults),
    basePath: basePathOf(options.basePath ?? "", faults),
    host: options.host ?? DEFAULT_HOST,
    port: whole("port", options.port ?? 8080, 0, 65_535, faults),
    grpcPort: grpcPortOf(options.grpcPort ?? 50_051, faults),
    tls: tlsOf(options.tls, faults),
  };
  if (typeof options.store?.append !== "function") faults.push("store is missing: sqliteStore(path) or memoryStore()");
  if (settings.host === "" || !(isIP(settings.host) || isHost(settings.host))) faults.push("host is no host");
  if (settings.port !== 0 && settings.port === settings.grpcPort) faults.push("port and grpcPort are the same");
  whole("retentionMs", options.retentionMs ?? 1, 1, Number.MAX_SAFE_INTEGER, faults);
  whole("leaseMs", options.leaseMs ?? 15_000, 100, maxTime, faults);
  whole("maxRestarts", options.maxRestarts ?? 0, 0, maxTime, faults);
  const agents = agentsOf(options, faults);
  if (agents === undefined || faults.length > 0) throw new ConfigurationError("Invalid options", faults);
  return { ...settings, agents };
}

function nameFaults(options: ServerOptions, listens: boolean): string[] {
  const all = Object.keys({ ...embeddedOptions, ...listeningOptions });
  const unknown = Object.keys(options).filter((name) => !all.includes(name));
  const misplaced = listens ? [] : Object.keys(options).filter((name) => Object.hasOwn(listeningOptions, name));
  return [
    ...unknownNames("the option ", unknown, all),
    ...misplaced.map((name) => `the option ${name} belongs to createServer: createA2A listens nowhere`),
  ];
}

/** Whoever has no type checker gives a function for an object, or a word for a choice. */
function shapeFaults(options: ServerOptions, faults: string[]): void {
  const { authenticator, interceptors = [], logger, strictVersion = false, idempotentMessageIds = false } = options;
  if (authenticator !== undefined && typeof authenticator?.authenticate !== "function") {
    faults.push("authenticator has no function authenticate");
  }
  if (!Array.isArray(interceptors) || interceptors.some((each) => typeof each !== "function")) {
    faults.push("interceptors is not a list of functions (next) => (invocation) => next(invocation)");
  }
  if (logger !== undefined) {
    const levels = ["debug", "info", "warn", "error"] as const;
    const missing = levels.filter((level) => typeof logger?.[level] !== "function");
    if (missing.length > 0) faults.push(`logger has no function ${missing.join(", ")}`);
  }
  for (const [name, value] of Object.entries({ strictVersion, idempotentMessageIds })) {
    if (typeof value !== "boolean") faults.push(`${name} is ${shown(value)}, not true or false`);
  }
}

/** Only what was given: absent and undefined are not the same to whoever has a default for what is absent. */
function given<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

const DEFAULT_HOST = "127.0.0.1";

/** The longest time of a timer, in milliseconds. */
const maxTime = 2 ** 31 - 1;

function agentsOf(options: A2AOptions, faults: string[]): AgentDirectory | undefined {
  try {
    return serveAgents(options, { pushNotifications: false, extensions: [resumeExtension] });
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    faults.push(...error.faults);
    return undefined;
  }
}

function whole(name: string, value: number, min: number, max: number, faults: string[]): number {
  if (!Number.isInteger(value) || value < min || value > max) {
    faults.push(`${name} is ${shown(value)}, not a whole number from ${min} to ${max}`);
  }
  return value;
}

/** With quotes around a text: "8080" is not 8080. */
function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

function limitsOf(limits: Partial<Limits>, faults: string[]): Limits {
  for (const [name, value] of Object.entries(given(limits))) {
    if (!Object.hasOwn(defaultLimits, name)) continue;
    const max = name === "maxTaskBytes" ? MAX_TASK_BYTES : maxTime;
    whole(`limits.${name}`, value, name.endsWith("GraceMs") ? 0 : 1, max, faults);
  }
  faults.push(...unknownNames("limits.", Object.keys(limits), Object.keys(defaultLimits)));
  return { ...defaultLimits, ...given(limits) };
}

function trustOf(proxies: boolean | string | readonly string[], faults: string[]): Trust | undefined {
  if (typeof proxies === "boolean") return proxies ? () => true : undefined;
  if (proxies.length === 0) return undefined;
  try {
    const trusts = proxyAddr.compile(typeof proxies === "string" ? proxies : [...proxies]);
    return (address) => trusts(address, 0);
  } catch (error) {
    faults.push(`trustProxy: ${(error as Error).message}`);
    return undefined;
  }
}

function hostsOf(options: ServerOptions, listens: boolean, faults: string[]): HostRules["allowed"] {
  const { allowedHosts, host = DEFAULT_HOST, publicUrl = "" } = options;
  if (allowedHosts === undefined && !(listens && isLoopback(host))) return true;
  const hosts = allowedHosts ?? [];
  if (hosts === true) return true;
  if (!Array.isArray(hosts)) {
    faults.push(`allowedHosts is ${shown(hosts)}, not true or a list of names`);
    return [];
  }
  if (hosts.includes("*")) return true;
  for (const name of hosts) {
    const bare = name.replace(/^\*\./, "");
    if (!isHost(bare) || bare.includes(":"))
      faults.push(`allowedHosts: "${name}" is not a name such as agents.example.com`);
  }
  return URL.canParse(publicUrl) ? [...hosts, new URL(publicUrl).hostname] : hosts;
}

function corsOf(given: boolean | readonly string[], faults: string[]): Settings["cors"] {
  if (typeof given === "boolean") return given || undefined;
  if (!Array.isArray(given)) {
    faults.push(`cors is ${shown(given)}, not true or a list of origins`);
    return undefined;
  }
  if (given.includes("*")) return true;
  for (const origin of given) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      faults.push(`cors: "${origin}" is not an origin such as https://app.example.org`);
    }
  }
  return given.length === 0 ? undefined : given;
}

function publicUrlOf(given: string | undefined, faults: string[]): string | undefined {
  if (given === undefined) return undefined;
  const url = URL.canParse(given) ? new URL(given) : undefined;
  const plain = url !== undefined && `${url.username}${url.password}${url.search}${url.hash}` === "";
  if (url === undefined || !plain || !/^https?:$/.test(url.protocol)) {
    faults.push(`publicUrl "${given}" is not an absolute http or https URL without query and fragment`);
  }
  return url?.href.replace(/\/+$/, "");
}

function grpcPublicUrlOf(given: string | undefined, faults: string[]): string | undefined {
  if (given !== undefined && !(isHost(given) && /:\d+$/.test(given))) {
    faults.push(`grpcPublicUrl "${given}" is not of the form host:port`);
  }
  return given;
}

function cardGrpcOf(given: CardGrpc, faults: string[]): CardGrpc {
  if (!["address", "url", "omit"].includes(given)) {
    faults.push(`cardGrpc is ${shown(given)}, not "address", "url" or "omit"`);
  }
  return given;
}

function basePathOf(given: string, faults: string[]): string {
  if (given !== "" && !/^(?:\/[^/?#]+)+$/.test(given)) faults.push(`basePath "${given}" is not of the form /path`);
  return given;
}

function grpcPortOf(given: number | false, faults: string[]): number | undefined {
  return given === false ? undefined : whole("grpcPort", given, 0, 65_535, faults);
}

function tlsOf(given: TlsFiles | undefined, faults: string[]): TlsFiles | undefined {
  if (given === undefined) return undefined;
  if (!given.key || !given.cert) faults.push("tls needs both key and cert");
  try {
    createSecureContext({ key: given.key, cert: given.cert });
  } catch (error) {
    faults.push(`tls: key and cert cannot be used (${(error as Error).message})`);
  }
  return given;
}
