import { adminFaults } from "../admin/option-checks.js";
import { cardSigningFaults } from "../card/signing/faults.js";
import { consoleFaults } from "../console/option-checks.js";
import { defaultLimits, type Limits, MAX_TASK_BYTES } from "../core/limits.js";
import { aFunction, aLogger, anObjectOf, anything, checksOf, havingFunctions, listOf } from "../core/options.js";
import { telemetryFaults } from "../telemetry/choice.js";
import { previews, servedVersions } from "../version/versions.js";
import { MAX_TIMEOUT_MS } from "../wire/service-params.js";
import * as checks from "./option-kinds.js";
import {
  choice,
  codeOnly,
  duration,
  list,
  type OptionKind,
  onOff,
  portNumber,
  portOrOff,
  size,
  text,
  wholeNumber,
  yesNo,
} from "./option-kinds.js";
import type { Defaults, UncheckedOptions } from "./options.js";

/** The description of one option, from which checks, flags, variables and documentation are derived. */
export interface OptionRow<T = unknown> {
  readonly kind: OptionKind<T>;
  /** Its line in `parley serve --help`; its doc comment has the details. Absent if only code can set it. */
  readonly help?: string;
  /** Description of the default, if that is not a value. */
  readonly otherwise?: string;
  /** Name of the flag, if it is not the option's name in kebab-case without its unit. */
  readonly flag?: string;
  /** True for options of `createServer` and `parley serve` only, which open ports. */
  readonly needsPorts?: boolean;
}

/** The defaults of options. Options that are not listed default to undefined. */
export const defaultOptions: Defaults = {
  strictVersion: false,
  streamErrorsAsEvents: false,
  idempotentMessageIds: false,
  maxReopens: 64,
  maxRestarts: 3,
  leaseMs: 15_000,
  audit: true,
  accessLog: false,
  metrics: false,
  cardGrpc: "address",
  trustProxy: false,
  proxyHeaders: "x-forwarded",
  cors: false,
  cardMaxAgeSeconds: 300,
  basePath: "",
  port: 8080,
  grpcPort: 50_051,
  host: "127.0.0.1",
  sockets: {},
  reusePort: false,
  drainDelayMs: 0,
  reflection: true,
  hstsMaxAgeSeconds: 31_536_000,
};

/** Every option of `createA2A` and `createServer`: a missing or an unknown field does not compile. */
export const optionTable: { readonly [K in keyof UncheckedOptions]-?: OptionRow<NonNullable<UncheckedOptions[K]>> } = {
  // Agents are checked together with their cards.
  agent: { kind: codeOnly(anything()) },
  agents: { kind: codeOnly(anything()) },
  tenants: {
    kind: list("<names>", anything()),
    help: "tenants that the agent serves, separated by commas",
    otherwise: "any",
  },
  store: { kind: codeOnly(checks.store) },
  signals: { kind: codeOnly(havingFunctions("join", "close")), otherwise: "those of the store" },
  limits: { kind: codeOnly(limitFaults) },
  logger: { kind: codeOnly(aLogger()) },
  audit: { kind: codeOnly(checks.audit), otherwise: "to the logger" },
  authenticator: { kind: codeOnly(havingFunctions("authenticate")) },
  ownerOf: { kind: codeOnly(aFunction()) },
  interceptors: { kind: codeOnly(listOf(aFunction(), true)) },
  telemetry: {
    kind: { ...onOff, faults: telemetryFaults, show: (telemetry) => (telemetry === false ? "off" : "on") },
    help: "create OpenTelemetry spans",
    otherwise: "on if an SDK is registered",
  },
  versions: {
    kind: list("<names>", checks.versions),
    help: "protocol versions to serve, separated by commas",
    otherwise: servedVersions.text,
  },
  preview: {
    kind: choice(Object.keys(previews) as (keyof typeof previews)[], "<version>"),
    help: "also serve a draft version of the protocol",
    otherwise: "none",
  },
  strictVersion: { kind: yesNo, help: "refuse calls that name no protocol version" },
  streamErrorsAsEvents: {
    kind: yesNo,
    help: "over JSON-RPC, answer a refused stream with an event, for clients in Go",
  },
  idempotentMessageIds: { kind: yesNo, help: "treat a message with an id that was seen before as a retry" },
  retentionMs: {
    kind: duration(1, Number.MAX_SAFE_INTEGER),
    help: "time after which ended tasks are deleted",
    otherwise: "never",
  },
  maxReopens: {
    kind: wholeNumber(0, 64),
    help: "how often clients of A2A 0.1 may continue an ended task under its id",
  },
  maxRestarts: { kind: wholeNumber(0, MAX_TIMEOUT_MS), help: "how often a turn is run again after crashes" },
  leaseMs: {
    kind: duration(100, MAX_TIMEOUT_MS),
    help: "time after which servers that share a file take over the tasks of a crashed one",
  },
  accessLog: {
    kind: yesNo,
    help: "log each call and each end of an execution, at info; parley serve does so on a terminal",
  },
  metrics: { kind: yesNo, help: "count calls, executions and more, for /metrics of the operator's service" },
  publicUrl: {
    kind: text("<url>", checks.publicUrl),
    help: "URL at which clients reach the HTTP port",
    otherwise: "where it listens",
  },
  grpcPublicUrl: {
    kind: text("<host:port>", checks.grpcPublicUrl),
    help: "address at which clients reach gRPC",
    otherwise: "the host of the URL, and the gRPC port",
  },
  cardGrpc: {
    kind: choice(["address", "url", "omit"], "<how>"),
    help: "how cards name gRPC: by its address, by the URL of the HTTP port, or not",
  },
  trustProxy: {
    kind: list("[networks]", checks.trustProxy),
    help: "proxies whose headers are trusted, separated by commas; without a value, every peer",
  },
  proxyHeaders: {
    kind: choice(["x-forwarded", "forwarded"], "<kind>"),
    help: "headers that trusted proxies write: X-Forwarded-For and its like, or Forwarded",
  },
  allowedHosts: {
    kind: list("<names>", checks.allowedHosts),
    help: "hosts that requests may name, separated by commas; * for every host",
    otherwise: "none on a loopback address, otherwise every host",
  },
  cors: {
    kind: list("[origins]", checks.cors),
    help: "origins whose scripts may call, separated by commas; without a value, every origin",
  },
  cardMaxAgeSeconds: { kind: duration(0, MAX_TIMEOUT_MS, "s"), help: "how long clients may cache a card" },
  cardSigning: { kind: codeOnly(cardSigningFaults), otherwise: "cards are not signed" },
  push: {
    kind: { ...yesNo, faults: checks.push, show: (push) => (push === false ? "off" : "on") },
    help: "send push notifications to the webhooks that clients name",
    otherwise: "off",
  },
  remoteAgents: { kind: codeOnly(checks.remoteAgents), otherwise: "none" },
  page: {
    kind: onOff,
    help: "show browsers a page at /, with a box to talk to the agent",
    otherwise: "on; off for an embedded handler",
  },
  admin: { kind: codeOnly(adminFaults), otherwise: "none" },
  console: {
    kind: { ...yesNo, faults: consoleFaults, show: (console) => (console === false ? "off" : "on") },
    help: "serve the console at /console: talk to agents and look into tasks in a browser",
    otherwise: "off",
  },
  basePath: {
    kind: text("<path>", checks.basePath),
    help: "path prefix of all requests, if no proxy removes it",
  },
  port: { kind: portNumber, help: "HTTP port; 0 for any free port", needsPorts: true },
  grpcPort: { kind: portOrOff, help: "gRPC port; 0 for any free port, off for none", needsPorts: true },
  host: { kind: text("<address>", checks.host), help: "address to listen on, 0.0.0.0 for all", needsPorts: true },
  sockets: { kind: codeOnly(checks.sockets), otherwise: "none", needsPorts: true },
  reusePort: {
    kind: { ...yesNo, faults: checks.reusePort },
    help: "let other processes of this user listen on the ports too, such as the next version (SO_REUSEPORT)",
    needsPorts: true,
  },
  drainDelayMs: {
    kind: duration(0, MAX_TIMEOUT_MS),
    help: "how long calls are still answered at a shutdown",
    needsPorts: true,
  },
  reflection: { kind: onOff, help: "serve gRPC reflection", needsPorts: true },
  tls: { kind: codeOnly(checks.tls), needsPorts: true },
  hstsMaxAgeSeconds: {
    kind: duration(0, Number.MAX_SAFE_INTEGER, "s"),
    help: "time for which browsers use only TLS (HSTS); 0s sends no header",
    needsPorts: true,
  },
};

/** Every limit. Its unit follows from its name. */
export const limitTable: { readonly [K in keyof Limits]: OptionRow<number> } = Object.fromEntries(
  Object.keys(defaultLimits).map((name) => [name, limitRow(name)]),
) as { [K in keyof Limits]: OptionRow<number> };

export function limitRow(name: string): OptionRow<number> {
  if (name === "shutdownGraceMs") {
    return {
      kind: duration(0, MAX_TIMEOUT_MS),
      flag: "grace",
      help: "how long running work has to finish at a shutdown",
    };
  }
  // This limit sets no timer, so it may exceed `MAX_TIMEOUT_MS`.
  if (name === "maxInterruptedMs") return { kind: duration(1, Number.MAX_SAFE_INTEGER) };
  if (name.endsWith("Ms")) return { kind: duration(name.endsWith("GraceMs") ? 0 : 1, MAX_TIMEOUT_MS) };
  if (name.includes("Bytes")) return { kind: size(1, name === "maxTaskBytes" ? MAX_TASK_BYTES : MAX_TIMEOUT_MS) };
  // For request rates, 0 means unlimited.
  return { kind: wholeNumber(name.startsWith("maxRequestsPerSecond") ? 0 : 1, MAX_TIMEOUT_MS) };
}

function limitFaults(place: string, limits: unknown): readonly string[] {
  const checks = checksOf(limitTable, (name) => limitTable[name as keyof Limits].kind.faults);
  return anObjectOf(checks)(place, limits);
}
