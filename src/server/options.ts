import proxyAddr from "proxy-addr";
import type { Authenticator } from "../auth/authenticator.js";
import { type AgentDirectory, type AgentsInput, registerAgents } from "../card/agents.js";
import { ConfigurationError } from "../card/faults.js";
import { defaultLimits, type Limits } from "../core/limits.js";
import { guardedLogger, type Logger, silentLogger } from "../core/log.js";
import { unknownNames } from "../core/unknown-names.js";
import type { EngineOptions } from "../engine/engine.js";
import { type HostRules, isLoopback } from "../http/hosts.js";
import type { TlsFiles } from "../http/node/listen.js";
import type { Trust } from "../http/request-origin.js";
import type { Interceptor } from "../service/invoke.js";
import type { ServiceOptions } from "../service/options.js";
import { resumeExtension } from "../service/resume.js";
import type { TaskStore } from "../store/task-store.js";

import { defaultOptions, optionTable } from "./option-table.js";

import type { CardGrpc } from "./public-address.js";
import { tlsWarnings } from "./tls.js";

/** What serves agents, wherever it is mounted. */
export interface A2AOptions extends AgentsInput {
  /** Where tasks are kept: `sqliteStore(path)`, or `memoryStore()` for tests. It is closed together with the server. */
  readonly store: TaskStore;
  /** Limits that differ from the defaults. */
  readonly limits?: Partial<Limits>;
  /** Where lines of the log go; any pino logger fits. Default: nothing is logged. */
  readonly logger?: Logger;
  /** Finds out who calls. Default: every caller is anonymous. */
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
   * Logs a line at `info` for each call, when it is over, and for each execution that ends. Default false; on a terminal
   * `parley serve` has it on.
   */
  readonly accessLog?: boolean;
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
   * HTTP port, which speaks gRPC as well; that URL may have no path. `omit`: not at all. The last two are for
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
  /**
   * Shows browsers a page at `/`, and at `/{tenant}` of each of several agents: the card in words, commands to copy, and a box
   * to talk to the agent. Default: true for a server of its own, false where the handler is embedded.
   */
  readonly page?: boolean;
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
  readonly engine: Pick<EngineOptions, "retentionMs" | "maxRestarts" | "leaseMs" | "logsEnds">;
  /** What is meant for the service alone. */
  readonly service: Pick<ServiceOptions, "authenticator" | "interceptors" | "strictVersion" | "idempotentMessageIds">;
  readonly agents: AgentDirectory;
  readonly store: TaskStore;
  readonly limits: Limits;
  readonly logger: Logger;
  readonly accessLog: boolean;
  readonly trust: Trust | undefined;
  readonly allowedHosts: true | readonly string[];
  readonly cors: true | readonly string[] | undefined;
  readonly publicUrl: string | undefined;
  readonly grpcPublicUrl: string | undefined;
  readonly cardGrpc: CardGrpc;
  readonly cardMaxAgeSeconds: number;
  readonly page: boolean;
  readonly basePath: string;
  readonly host: string;
  readonly port: number;
  readonly grpcPort: number | undefined;
  readonly tls: TlsFiles | undefined;
}

/**
 * Fills in the defaults and checks everything. What is allowed but hardly meant goes to the log as a warning.
 *
 * @param listens whether ports are opened; what is said of them is not known otherwise.
 * @throws ConfigurationError that names every wrong option, and every fault of the agents and their cards.
 */
export function resolveOptions(options: ServerOptions, listens = true): Settings {
  if (typeof options !== "object" || options === null) {
    throw new ConfigurationError("Invalid options", ["there are none: give at least an agent and a store"]);
  }
  const all = { ...defaultOptions, ...given(options) };
  const faults = [...nameFaults(options, listens), ...valueFaults(all)];
  const { agents, faults: agentFaults } = agentsOf(all);
  if (agents === undefined || faults.length > 0) {
    throw new ConfigurationError(faults.length > 0 ? "Invalid options" : "Invalid agent", [...faults, ...agentFaults]);
  }
  const settings = settingsOf(all, agents, listens);
  for (const warning of warningsOf(settings, listens)) settings.logger.warn({}, warning);
  return settings;
}

/** Whatever is not given is left out: absent and undefined are not the same to whoever has a default for what is absent. */
function settingsOf(all: WithDefaults, agents: AgentDirectory, listens: boolean): Settings {
  const { retentionMs, maxRestarts, leaseMs, strictVersion, idempotentMessageIds } = all;
  return {
    engine: { maxRestarts, leaseMs, logsEnds: all.accessLog, ...(retentionMs !== undefined && { retentionMs }) },
    service: {
      strictVersion,
      idempotentMessageIds,
      ...given({ authenticator: all.authenticator, interceptors: all.interceptors }),
    },
    agents,
    store: all.store,
    limits: { ...defaultLimits, ...given(all.limits ?? {}) },
    logger: guardedLogger(all.logger ?? silentLogger),
    accessLog: all.accessLog,
    trust: trustOf(all.trustProxy),
    allowedHosts: hostsOf(all, listens),
    cors: corsOf(all.cors),
    publicUrl: all.publicUrl && new URL(all.publicUrl).href.replace(/\/+$/, ""),
    grpcPublicUrl: all.grpcPublicUrl,
    cardGrpc: all.cardGrpc,
    cardMaxAgeSeconds: all.cardMaxAgeSeconds,
    page: all.page ?? listens,
    basePath: all.basePath,
    host: all.host,
    port: all.port,
    grpcPort: all.grpcPort === false ? undefined : all.grpcPort,
    tls: all.tls,
  };
}

type WithDefaults = Omit<ServerOptions, keyof typeof defaultOptions> & typeof defaultOptions;

function nameFaults(options: ServerOptions, listens: boolean): string[] {
  const names = Object.keys(options);
  const known = Object.keys(optionTable);
  const misplaced = names.filter((name) => !listens && isKnown(name) && optionTable[name].needsPorts === true);
  return [
    ...unknownNames("the option ", names, known),
    ...misplaced.map((name) => `the option ${name} belongs to createServer: createA2A listens nowhere`),
  ];
}

const isKnown = (name: string): name is keyof typeof optionTable => Object.hasOwn(optionTable, name);

function valueFaults(options: WithDefaults): readonly string[] {
  // The store alone has to be there.
  const faults = options.store === undefined ? [...optionTable.store.kind.faults("store", undefined)] : [];
  for (const [name, value] of Object.entries(options)) {
    if (isKnown(name)) faults.push(...optionTable[name].kind.faults(name, value));
  }
  if (options.port !== 0 && options.port === options.grpcPort) faults.push("port and grpcPort are the same");
  const { cardGrpc, publicUrl = "" } = options;
  const path = URL.canParse(publicUrl) ? new URL(publicUrl).pathname : "/";
  if (cardGrpc === "url" && path !== "/") {
    faults.push(`cardGrpc is "url", but the publicUrl has the path ${path}, below which there is no gRPC`);
  }
  return faults;
}

/** Only what was given. */
function given<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}

function agentsOf(options: AgentsInput): { agents?: AgentDirectory; faults: readonly string[] } {
  try {
    return { agents: registerAgents(options, { pushNotifications: false, extensions: [resumeExtension] }), faults: [] };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return { faults: error.faults };
  }
}

function trustOf(proxies: boolean | string | readonly string[]): Trust | undefined {
  if (typeof proxies === "boolean") return proxies ? () => true : undefined;
  if (proxies.length === 0) return undefined;
  const trusts = proxyAddr.compile(typeof proxies === "string" ? proxies : [...proxies]);
  return (address) => trusts(address, 0);
}

function hostsOf({ allowedHosts, host, publicUrl }: WithDefaults, listens: boolean): HostRules["allowed"] {
  if (allowedHosts === undefined && !(listens && isLoopback(host))) return true;
  const hosts = allowedHosts ?? [];
  if (hosts === true || hosts.includes("*")) return true;
  return publicUrl === undefined ? hosts : [...hosts, new URL(publicUrl).hostname];
}

function corsOf(origins: boolean | readonly string[]): Settings["cors"] {
  if (typeof origins === "boolean") return origins || undefined;
  if (origins.includes("*")) return true;
  return origins.length === 0 ? undefined : origins;
}

/** What is allowed, but hardly meant. */
function warningsOf({ agents, service, host, publicUrl, trust, tls }: Settings, listens: boolean): string[] {
  const isPublic = listens && !isLoopback(host);
  const isWildcard = ["0.0.0.0", "::"].includes(host);
  const warnings = tls === undefined ? [] : tlsWarnings(tls);
  if (isPublic && isWildcard && publicUrl === undefined && trust === undefined) {
    warnings.push(
      "the cards name localhost, where other machines do not find the server: give the publicUrl (--public-url) that clients use",
    );
  }
  if (service.authenticator !== undefined) {
    const silent = agents.all.filter(({ card }) => Object.keys(card.securitySchemes).length === 0);
    return [
      ...warnings,
      ...silent.map(
        ({ card }) => `the card of ${card.name} has no securitySchemes: clients do not learn how to authenticate`,
      ),
    ];
  }
  if (isPublic) {
    warnings.push(
      `other machines reach the server at ${host}, and without an authenticator each may read and cancel every task`,
    );
  }
  if (agents.all.some(({ extendedCard }) => extendedCard !== undefined)) {
    warnings.push("no caller gets the extendedCard: it is for authenticated callers, and there is no authenticator");
  }
  return warnings;
}
