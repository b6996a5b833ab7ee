import proxyAddr from "proxy-addr";
import { adminAddressOf } from "../admin/option-checks.js";
import { type AuditLog, AuditRecorder, auditChannel } from "../audit/audit.js";
import { RecentAudit } from "../audit/recent.js";
import { type AgentDirectory, type AgentsGiven, agentFields, registerAgents } from "../card/agents.js";
import { ConfigurationError } from "../card/faults.js";
import { defaultLimitsOf, heapLimit } from "../core/limits.js";
import { guardedLogger, silentLogger } from "../core/log.js";
import { membersOf } from "../core/members.js";
import { isLoopbackHost, parseUrl } from "../core/net.js";
import { given, unknownNames } from "../core/options.js";
import type { Trust } from "../http/forwarded.js";
import type { HostRules } from "../http/hosts.js";
import type { PushOptions } from "../push/options.js";
import { delegationExtension, idempotencyExtension, resumeExtension } from "../service/extensions.js";
import type { Metrics } from "../telemetry/metrics.js";
import { previews, servedVersions, type Versions } from "../version/versions.js";
import { newMetrics } from "./gauges.js";
import { defaultOptions, optionTable } from "./option-table.js";
import { risksOf, warningsOf } from "./option-warnings.js";
import type { AdminSettings, ConsoleSettings, Defaults, Settings, UncheckedOptions } from "./options.js";
import { readTls } from "./tls-reload.js";

/**
 * Fills in the defaults and checks all options. Logs warnings about allowed values that are probably mistakes.
 *
 * @param listens true if ports are opened; otherwise options of ports are rejected.
 * @throws ConfigurationError that names every wrong option, and every fault of the agents and their cards.
 */
export function resolveOptions(options: UncheckedOptions, listens = true): Settings {
  if (typeof options !== "object" || options === null) {
    throw new ConfigurationError("Invalid options", ["they are missing: an agent and a store are needed"]);
  }
  const all = { ...defaultOptions, ...readGiven(options) };
  const faults = [
    ...nameFaults(options, listens),
    ...valueFaults(all),
    ...signingFaults(all, listens),
    ...adminFaults(all, listens),
  ];
  // The check of the console needs other options to be valid.
  if (faults.length === 0) faults.push(...consoleFaults(all, listens));
  const { agents, faults: agentFaults } = agentsOf(all);
  if (agents === undefined || faults.length > 0) {
    throw new ConfigurationError(faults.length > 0 ? "Invalid options" : "Invalid agent", [...faults, ...agentFaults]);
  }
  const settings = settingsOf(all, agents, listens);
  for (const warning of warningsOf(settings, listens)) settings.logger.warn({}, warning);
  // Without a logger, risks are printed as warnings of the process.
  if (options.logger === undefined)
    for (const risk of risksOf(settings, listens)) globalThis.process?.emitWarning?.(risk, "ParleyWarning");
  return settings;
}

function readGiven(options: UncheckedOptions): ReturnType<typeof given<UncheckedOptions>> {
  try {
    return given(options);
  } catch (cause) {
    throw new ConfigurationError("Invalid options", ["they cannot be read"], cause);
  }
}

/**
 * Returns the settings. Unset options are omitted, because defaults apply to absent fields but not to undefined ones.
 */
function settingsOf(all: WithDefaults, agents: AgentDirectory, listens: boolean): Settings {
  const limits = { ...defaultLimitsOf(heapLimit()), ...given(all.limits ?? {}) };
  const { retentionMs, maxReopens, maxRestarts, leaseMs, strictVersion, idempotentMessageIds } = all;
  const [versions, push, operators] = [versionsOf(all), pushOf(all.push), operatorSettings(all, listens)];
  const metrics = all.metrics || operators.recentAudit !== undefined ? newMetrics(versions) : undefined;
  return {
    ...all,
    engine: {
      ...given({ names: versions.taskNames(maxReopens, retentionMs === undefined) }),
      maxRestarts,
      leaseMs,
      logsEnds: all.accessLog,
      ...(retentionMs !== undefined && { retentionMs }),
    },
    service: {
      strictVersion,
      idempotentMessageIds,
      ...given({ authenticator: all.authenticator, interceptors: all.interceptors, ownerOf: all.ownerOf }),
    },
    agents,
    versions,
    limits,
    logger: guardedLogger(all.logger ?? silentLogger),
    audit: auditOf(operators.recentAudit ?? auditLogOf(all), metrics),
    metrics,
    servesMetrics: all.metrics,
    trust: trustOf(all.trustProxy),
    allowedHosts: hostsOf(all, listens),
    cors: corsOf(all.cors),
    publicUrl: all.publicUrl && new URL(all.publicUrl).href.replace(/\/+$/, ""),
    push,
    // For an embedded handler, the path of the keys may belong to the host, unless the option enables it.
    makesPushKey:
      push !== undefined &&
      versions.others.some(({ signsPush }) => signsPush) &&
      (push.signing?.jwks ?? (listens && all.cardSigning?.jwks !== false)),
    remoteAgents: all.remoteAgents ?? {},
    page: all.page ?? listens,
    ...operators,
    grpcPort: all.grpcPort === false ? undefined : all.grpcPort,
    tls: all.tls && readTls(all.tls),
    tlsPaths: all.tls !== undefined && "keyFile" in all.tls ? all.tls : undefined,
  };
}

/** The recorder also counts, so it exists for metrics alone. */
function auditOf(log: AuditLog | undefined, metrics: Metrics | undefined): AuditRecorder | undefined {
  if (log === undefined && metrics === undefined) return undefined;
  return new AuditRecorder(log, Date.now, metrics && ((facts) => metrics.audited(facts)));
}

function auditLogOf({ audit, logger }: WithDefaults): AuditLog | undefined {
  if (typeof audit === "object") return audit;
  return !audit || logger === undefined || logger === silentLogger ? undefined : auditChannel(logger);
}

function versionsOf({ versions, preview }: WithDefaults): Versions {
  const supported = versions === undefined ? servedVersions : servedVersions.only(versions);
  return preview === undefined ? supported : supported.with(previews[preview]());
}

type WithDefaults = Omit<UncheckedOptions, keyof Defaults> & Defaults;

function nameFaults(options: UncheckedOptions, listens: boolean): string[] {
  const known = Object.keys(optionTable);
  const names = Object.keys(options).filter((name) => known.includes(name) || !agentFields.includes(name));
  const ofAgents = Object.keys(options).filter((name) => !known.includes(name) && agentFields.includes(name));
  const misplaced = names.filter((name) => !listens && isKnown(name) && optionTable[name].needsPorts === true);
  return [
    ...unknownNames("the option ", names, known),
    ...ofAgents.map((name) => `${name} is not an option: it belongs on the agent`),
    ...misplaced.map((name) => `the option ${name} belongs to createServer: createA2A opens no port`),
  ];
}

const isKnown = (name: string): name is keyof typeof optionTable => Object.hasOwn(optionTable, name);

function valueFaults(options: WithDefaults): readonly string[] {
  // Only the store is required.
  const faults = options.store === undefined ? [...optionTable.store.kind.faults("store", undefined)] : [];
  for (const [name, value] of Object.entries(options)) {
    if (isKnown(name)) faults.push(...faultsOfValue(name, value));
  }
  const { sockets } = options;
  const ownPorts = sockets?.http === undefined && sockets?.grpc === undefined;
  if (ownPorts && options.port !== 0 && options.port === options.grpcPort)
    faults.push("port and grpcPort are the same");
  const { cardGrpc, publicUrl = "" } = options;
  const path = parseUrl(publicUrl)?.pathname ?? "/";
  if (cardGrpc === "url" && path !== "/") {
    faults.push(`cardGrpc is "url", but the publicUrl has the path ${path}, below which gRPC cannot be served`);
  }
  return faults;
}

function faultsOfValue(name: keyof typeof optionTable, value: unknown): readonly string[] {
  try {
    return optionTable[name].kind.faults(name, value);
  } catch {
    // A getter or a proxy may throw anything.
    return [`${name} cannot be read`];
  }
}

/**
 * Rejects signing without `publicUrl` if the addresses in a card depend on the request: a signature would vouch for any
 * address that a caller sends.
 */
function signingFaults({ cardSigning, push, publicUrl, trustProxy }: WithDefaults, listens: boolean): string[] {
  const trusts = Array.isArray(trustProxy) ? trustProxy.length > 0 : trustProxy !== false && trustProxy !== "";
  if (publicUrl !== undefined || (listens && !trusts)) return [];
  const faults: string[] = [];
  if (cardSigning !== undefined) {
    faults.push(
      "cardSigning needs publicUrl: without it cards name the address that their reader names, and would be signed for it",
    );
  }
  if (pushOf(push)?.signing?.keys !== undefined) {
    faults.push("push.signing.keys needs publicUrl: it identifies the sender to receivers");
  }
  return faults;
}

function pushOf(push: UncheckedOptions["push"]): PushOptions | undefined {
  return typeof push === "object" ? push : push === true ? {} : undefined;
}

function agentsOf(options: AgentsGiven & Pick<UncheckedOptions, "push" | "remoteAgents">): {
  agents?: AgentDirectory;
  faults: readonly string[];
} {
  try {
    const pushNotifications = pushOf(options.push) !== undefined;
    const extensions = [resumeExtension, idempotencyExtension];
    if (options.remoteAgents !== undefined) extensions.push(delegationExtension);
    return { agents: registerAgents(options, { pushNotifications, extensions }), faults: [] };
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

function operatorSettings(all: WithDefaults, listens: boolean): Pick<Settings, "admin" | "console" | "recentAudit"> {
  const [admin, console] = [adminSettings(all, listens), consoleOf(all, listens)];
  const isNeeded = admin !== undefined || console !== undefined;
  return { admin, console, recentAudit: isNeeded ? new RecentAudit(auditLogOf(all)) : undefined };
}

function adminSettings(all: WithDefaults, listens: boolean): AdminSettings | undefined {
  if (all.admin === undefined) return undefined;
  const { listen, backupFolder, ...access } = all.admin;
  const address = listen === undefined ? undefined : adminAddressOf(listen);
  // DNS rebinding reaches a port, but not a Unix socket.
  const isPort = address !== undefined && "host" in address;
  const allowedHosts = isPort ? hostsOf({ ...all, host: address.host }, listens) : hostsOf(all, false);
  return { address, access: given(access), allowedHosts, backupFolder };
}

/** Only a server with ports listens for operators. */
function adminFaults({ admin }: WithDefaults, listens: boolean): string[] {
  const hasAddress = membersOf(admin).listen !== undefined;
  if (admin === undefined || hasAddress === listens) return [];
  return listens
    ? ["admin.listen is missing: an address such as 127.0.0.1:8081, or unix: and a path"]
    : ["admin.listen belongs to createServer: createA2A opens no port"];
}

const isOn = (option: unknown): boolean => option !== undefined && option !== false;

function consoleOf(all: WithDefaults, listens: boolean): ConsoleSettings | undefined {
  if (!isOn(all.console)) return undefined;
  const { local = listens && isReachedLocally(all) } = membersOf(all.console);
  return { isLocal: local === true, isServed: listens };
}

/** True if only this machine reaches the HTTP port, and not through a proxy that serves others. */
function isReachedLocally(all: WithDefaults): boolean {
  const hosts = hostsOf(all, true);
  const isOpen = hosts === true || !hosts.every(isLoopbackHost) || all.sockets?.http !== undefined;
  return !isOpen && isLoopbackHost(all.host) && trustOf(all.trustProxy) === undefined;
}

function consoleFaults(all: WithDefaults, listens: boolean): string[] {
  const { admin, agents } = all;
  const { isLocal } = consoleOf(all, listens) ?? {};
  if (isLocal === undefined) return [];
  const { tokens, tokensFile, security } = membersOf(admin);
  const faults: string[] = [];
  if (!isLocal && (tokens ?? tokensFile ?? security) === undefined) {
    const where = listens ? "where others can reach it" : "unless it is { local: true }";
    faults.push(`console needs the credentials of operators ${where}: admin.tokensFile (--admin-tokens)`);
  }
  if (listens && isLocal && !isReachedLocally(all)) {
    faults.push("console.local is true, but others can reach the server: it needs a loopback host and no proxies");
  }
  if (listens && Object.hasOwn(membersOf(agents), "console")) {
    faults.push("agents has the tenant console, whose path is that of the console");
  }
  return faults;
}

function hostsOf({ allowedHosts, host, publicUrl }: WithDefaults, listens: boolean): HostRules["allowed"] {
  if (allowedHosts === undefined && !(listens && isLoopbackHost(host))) return true;
  const hosts = allowedHosts ?? [];
  if (hosts === true || hosts.includes("*")) return true;
  return publicUrl === undefined ? hosts : [...hosts, new URL(publicUrl).hostname];
}

function corsOf(origins: boolean | readonly string[]): Settings["cors"] {
  if (typeof origins === "boolean") return origins || undefined;
  if (origins.includes("*")) return true;
  return origins.length === 0 ? undefined : origins;
}
