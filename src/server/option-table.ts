import { defaultLimits, type Limits, MAX_TASK_BYTES } from "../core/limits.js";
import { unknownNames } from "../core/unknown-names.js";
import * as checks from "./option-checks.js";
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
import type { ServerOptions } from "./options.js";

/** What is said of one option everywhere: checks, flags, variables and documentation are made of it. */
export interface OptionRow<T = unknown> {
  readonly kind: OptionKind<T>;
  /** What it is for, in one line of `parley serve --help`; the docstring says more. Absent where only code can give it. */
  readonly help?: string;
  /** What applies without it, where that is no value. */
  readonly otherwise?: string;
  /** Name of the flag, where it is not the option's in kebab-case without its unit. */
  readonly flag?: string;
  /** True: only what opens ports knows it, `createServer` and `parley serve`. */
  readonly needsPorts?: boolean;
}

/** The longest time of a timer, in milliseconds. */
const maxTime = 2 ** 31 - 1;

/** What applies when an option is not given; options that are not here have no value then. */
export const defaultOptions: Required<
  Pick<
    ServerOptions,
    | "strictVersion"
    | "idempotentMessageIds"
    | "maxRestarts"
    | "leaseMs"
    | "accessLog"
    | "cardGrpc"
    | "trustProxy"
    | "cors"
    | "cardMaxAgeSeconds"
    | "basePath"
    | "port"
    | "grpcPort"
    | "host"
  >
> = {
  strictVersion: false,
  idempotentMessageIds: false,
  maxRestarts: 3,
  leaseMs: 15_000,
  accessLog: false,
  cardGrpc: "address",
  trustProxy: false,
  cors: false,
  cardMaxAgeSeconds: 300,
  basePath: "",
  port: 8080,
  grpcPort: 50_051,
  host: "127.0.0.1",
};

/** Every option of `createA2A` and `createServer`: a field that is missing here, or not there, does not compile. */
export const optionTable: { readonly [K in keyof ServerOptions]-?: OptionRow<NonNullable<ServerOptions[K]>> } = {
  // What is wrong with agents is found with their cards.
  agent: { kind: codeOnly(checks.nothing) },
  agents: { kind: codeOnly(checks.nothing) },
  tenants: {
    kind: list("<names>", checks.nothing),
    help: "tenants that the agent serves, with commas between",
    otherwise: "any",
  },
  store: { kind: codeOnly(checks.store) },
  limits: { kind: codeOnly(limitFaults) },
  logger: { kind: codeOnly(checks.logger) },
  authenticator: { kind: codeOnly(checks.authenticator) },
  interceptors: { kind: codeOnly(checks.interceptors) },
  strictVersion: { kind: yesNo, help: "refuse calls that name no version of the protocol" },
  idempotentMessageIds: { kind: yesNo, help: "take a message that comes again, by its id, for the same one" },
  retentionMs: {
    kind: duration(1, Number.MAX_SAFE_INTEGER),
    help: "how long finished tasks are kept",
    otherwise: "for ever",
  },
  maxRestarts: { kind: wholeNumber(0, maxTime), help: "how often a turn is run again after crashes" },
  leaseMs: {
    kind: duration(100, maxTime),
    help: "when servers that share a file take over each other's tasks after a crash",
  },
  accessLog: {
    kind: yesNo,
    help: "log each call and each end of an execution, at info; parley serve does so on a terminal",
  },
  publicUrl: {
    kind: text("<url>", checks.publicUrl),
    help: "URL under which clients reach the HTTP port",
    otherwise: "where it listens",
  },
  grpcPublicUrl: {
    kind: text("<host:port>", checks.grpcPublicUrl),
    help: "address under which clients reach gRPC",
    otherwise: "the host of the URL, and the gRPC port",
  },
  cardGrpc: {
    kind: choice(["address", "url", "omit"], "<how>"),
    help: "how cards name gRPC: by its address, by the URL of the HTTP port, or not",
  },
  trustProxy: {
    kind: list("[networks]", checks.trustProxy),
    help: "proxies whose Forwarded headers to believe, with commas between; every peer without a value",
  },
  allowedHosts: {
    kind: list("<names>", checks.allowedHosts),
    help: "hosts that requests may name, with commas between; * for every one",
    otherwise: "none on a loopback address, else every one",
  },
  cors: {
    kind: list("[origins]", checks.cors),
    help: "origins whose scripts may call, with commas between; every one without a value",
  },
  cardMaxAgeSeconds: { kind: duration(0, maxTime, "s"), help: "for how long clients may keep a card" },
  page: {
    kind: onOff,
    help: "show browsers a page at /, with a box to talk to the agent",
    otherwise: "on; off where the handler is embedded",
  },
  basePath: {
    kind: text("<path>", checks.basePath),
    help: "path that requests begin with, where a proxy leaves it there",
  },
  port: { kind: portNumber, help: "HTTP port, 0 for any free one", needsPorts: true },
  grpcPort: { kind: portOrOff, help: "gRPC port, 0 for any free one, or off", needsPorts: true },
  host: { kind: text("<address>", checks.host), help: "address to listen on, 0.0.0.0 for all", needsPorts: true },
  tls: { kind: codeOnly(checks.tls), needsPorts: true },
};

/** Every limit: what it is counted in, its name says. */
export const limitTable: { readonly [K in keyof Limits]: OptionRow<number> } = Object.fromEntries(
  Object.keys(defaultLimits).map((name) => [name, limitRow(name)]),
) as { [K in keyof Limits]: OptionRow<number> };

function limitRow(name: string): OptionRow<number> {
  if (name === "shutdownGraceMs") {
    return { kind: duration(0, maxTime), flag: "grace", help: "what running work gets to end at a shutdown" };
  }
  // No timer is set to it.
  if (name === "maxInterruptedMs") return { kind: duration(1, Number.MAX_SAFE_INTEGER) };
  if (name.endsWith("Ms")) return { kind: duration(name.endsWith("GraceMs") ? 0 : 1, maxTime) };
  if (name.includes("Bytes")) return { kind: size(1, name === "maxTaskBytes" ? MAX_TASK_BYTES : maxTime) };
  return { kind: wholeNumber(1, maxTime) };
}

function limitFaults(place: string, limits: unknown): string[] {
  if (typeof limits !== "object" || limits === null) return [`${place} is no object of limits`];
  const faults: string[] = [];
  for (const [name, value] of Object.entries(limits)) {
    const row = Object.hasOwn(limitTable, name) ? limitTable[name as keyof Limits] : undefined;
    if (row !== undefined && value !== undefined) faults.push(...row.kind.faults(`${place}.${name}`, value));
  }
  return [...faults, ...unknownNames(`${place}.`, Object.keys(limits), Object.keys(limitTable))];
}
