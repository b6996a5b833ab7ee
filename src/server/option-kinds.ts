import { isIP } from "node:net";
import proxyAddr from "proxy-addr";
import { membersOf, messageIn } from "../core/members.js";
import { isAuthority, isHostName, parseUrl, withoutSecrets, withoutWildcard } from "../core/net.js";
import * as check from "../core/options.js";
import { described, firstFaults } from "../core/options.js";
import type { RemoteAgentOptions } from "../delegation/options.js";
import { pushFaults } from "../push/option-checks.js";
import { PROTOCOL_VERSION } from "../version/v1.js";
import { servedVersions } from "../version/versions.js";
import { authorityFaults, tlsFaults } from "./tls.js";
import { readTls, type TlsPaths } from "./tls-reload.js";

/** A kind of option: checks, reads and shows its values. */
export interface OptionKind<T> {
  readonly faults: check.OptionCheck;
  /**
   * Reads a value from the command line or the environment; undefined if only code can set the option.
   *
   * @throws RangeError that names the fault of the text.
   */
  readonly read?: (text: string) => T;
  /** The placeholder of the value in the help: `<number>`, or `[origins]` for an optional one; empty for a switch. */
  readonly placeholder?: string;
  /** The unit of values in code; undefined without a unit. */
  readonly unit?: "ms" | "s" | "bytes";
  /** The allowed values, if they are a fixed list. */
  readonly choices?: readonly string[];
  /** Formats a value for people, such as `8MiB`. */
  show(value: T): string;
}

/** A count, without a unit. */
export function wholeNumber(min: number, max: number): OptionKind<number> {
  return {
    faults: check.aWholeNumber(min, max),
    read: (text) => {
      if (!/^\d{1,15}$/.test(text)) throw new RangeError("It is not a whole number.");
      return checkedRange(Number(text), min, max, String);
    },
    placeholder: "<number>",
    // `toLocaleString` would load all of Intl at each start.
    show: (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ","),
  };
}

/** A time in milliseconds, or in seconds; on the command line with its unit, such as `10s`. */
export function duration(min: number, max: number, unit: "ms" | "s" = "ms"): OptionKind<number> {
  const scale = unit === "ms" ? 1 : 1_000;
  const show = (value: number): string => showDuration(value * scale);
  return {
    faults: check.aWholeNumber(min, max),
    read: (text) => {
      const ms = parseDuration(text);
      if (ms % scale !== 0) throw new RangeError("It is not a number of whole seconds.");
      return checkedRange(ms / scale, min, max, show);
    },
    placeholder: "<duration>",
    unit,
    show,
  };
}

/** A size in bytes; on the command line with its unit, such as `8MiB`. */
export function size(min: number, max: number): OptionKind<number> {
  return {
    faults: check.aWholeNumber(min, max),
    read: (text) => checkedRange(parseSize(text), min, max, showSize),
    placeholder: "<size>",
    unit: "bytes",
    show: showSize,
  };
}

function checkedRange(value: number, min: number, max: number, show: (value: number) => string): number {
  if (value < min || value > max) throw new RangeError(`It is not between ${show(min)} and ${show(max)}.`);
  return value;
}

const port = wholeNumber(0, 65_535);

/** The number of a port; 0 for any free port. */
export const portNumber: OptionKind<number> = { ...port, show: String };

/** The number of a port, or false (`off`) for none. */
export const portOrOff: OptionKind<number | false> = {
  ...port,
  faults: check.unless((value) => value === false, port.faults),
  read: (text) => (text === "off" ? false : (port.read?.(text) as number)),
  show: (value) => (value === false ? "off" : String(value)),
};

/** True or false; a switch on the command line. */
export const yesNo: OptionKind<boolean> = {
  faults: check.aBoolean(),
  read: (text) => {
    const word = text.toLowerCase();
    if (["", "false", "0", "no", "off"].includes(word)) return false;
    if (["true", "1", "yes", "on"].includes(word)) return true;
    throw new RangeError("It is not true or false.");
  },
  placeholder: "",
  show: (value) => (value ? "on" : "off"),
};

/** True or false for an option whose default is true: on the command line it needs a value. */
export const onOff: OptionKind<boolean> = { ...yesNo, placeholder: "<on/off>" };

/** One of several words. */
export function choice<T extends string>(choices: readonly T[], placeholder: string): OptionKind<T> {
  return {
    faults: check.oneOf(choices),
    read: (text) => {
      const chosen = choices.find((each) => each === text);
      if (chosen === undefined) throw new RangeError(`Allowed choices are ${choices.join(", ")}.`);
      return chosen;
    },
    placeholder,
    choices,
    show: String,
  };
}

/** A text, optionally of a form. */
export function text(placeholder: string, faults: check.OptionCheck = check.aText()): OptionKind<string> {
  return {
    faults,
    read: (given) => given,
    placeholder,
    show: (value) => (value === "" ? "none" : value),
  };
}

/**
 * A list, separated by commas on the command line. If `true` means all values, the word `true` and the flag without a
 * value mean the same on the command line.
 */
export function list<T>(placeholder: string, faults: check.OptionCheck): OptionKind<T> {
  const hasAll = placeholder.startsWith("[");
  return {
    faults,
    read: (given) => (hasAll && /^(true|false)$/.test(given) ? given === "true" : entriesOf(given)) as T,
    placeholder,
    show: (value) => (value === false ? "none" : String(value)),
  };
}

function entriesOf(given: string): string[] {
  return given
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}

/** An option that only code can set. */
export function codeOnly<T>(faults: check.OptionCheck): OptionKind<T> {
  return { faults, show: String };
}

/** Milliseconds of each unit of time, longest first. */
const durations: readonly (readonly [unit: string, ms: number])[] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
  ["ms", 1],
];

/** Bytes of each unit of size, largest first. */
const sizes: readonly (readonly [unit: string, bytes: number])[] = [
  ["GiB", 2 ** 30],
  ["MiB", 2 ** 20],
  ["KiB", 2 ** 10],
  ["B", 1],
];

/**
 * Parses a time such as `500ms`, `10s`, `15m`, `2h`, `7d` or `1.5h` to milliseconds. 0 needs no unit.
 *
 * @throws RangeError for a text without a unit, and for a fraction of a millisecond.
 */
export function parseDuration(text: string): number {
  return parse(text, durations, "a time with its unit, such as 500ms, 10s, 15m, 2h or 7d");
}

/**
 * Parses a size such as `64KiB`, `8MiB`, `1GiB` or `1.5MiB` to bytes. 0 needs no unit.
 *
 * @throws RangeError for a text without a unit, and for a fraction of a byte.
 */
export function parseSize(text: string): number {
  return parse(text, sizes, "a size with its unit, such as 512B, 64KiB, 8MiB or 1GiB");
}

/** Formats milliseconds for `parseDuration`, in the longest unit that gives a whole number. */
export function showDuration(ms: number): string {
  return show(ms, durations);
}

/** Formats bytes for `parseSize`, in the largest unit that gives a whole number. */
export function showSize(bytes: number): string {
  return show(bytes, sizes);
}

type Units = readonly (readonly [unit: string, factor: number])[];

function parse(text: string, units: Units, form: string): number {
  const [, digits, name = ""] = /^(\d{1,12}(?:\.\d{1,9})?) ?([a-z]*)$/i.exec(text.trim()) ?? [];
  const [, factor] = units.find(([unit]) => unit.toLowerCase() === name.toLowerCase()) ?? [];
  if (digits !== undefined && name === "" && Number(digits) === 0) return 0;
  const exact = Number(digits) * (factor ?? Number.NaN);
  const value = Math.round(exact);
  // 2.3 times 1,000 is a little less than 2,300 in floating point.
  if (!Number.isSafeInteger(value) || Math.abs(exact - value) > 1e-6) throw new RangeError(`It is not ${form}.`);
  return value;
}

function show(value: number, units: Units): string {
  const [unit, factor] = units.find(([, each]) => value >= each && value % each === 0) ?? units.at(-1) ?? ["", 1];
  return value === 0 ? "0" : `${value / factor}${unit}`;
}

export function store(_name: string, value: unknown): string[] {
  if (value === undefined || value === null) return ["store is missing: sqliteStore(path) or memoryStore()"];
  if (typeof value === "string") return [`store is a text: write sqliteStore(${check.shown(value)})`];
  if (typeof membersOf(value).append === "function") return [];
  if (typeof membersOf(value).then === "function") return ["store is a promise: write await postgresStore({ url })"];
  return [`store is ${described(value)}, not a store: write sqliteStore(path) or memoryStore()`];
}

export const audit: check.OptionCheck = check.expects(
  "true, false or an object with a function write",
  (value) => typeof value === "boolean" || typeof membersOf(value).write === "function",
);

const remoteAgent: check.OptionChecks<RemoteAgentOptions> = {
  url: check.aText("a URL of http or https", (url) => /^https?:$/.test(parseUrl(url)?.protocol ?? "")),
  credentials: check.anything(),
  credentialHosts: check.anything(),
  passCaller: check.aBoolean(),
  tls: check.anything(),
  fetch: check.aFunction(),
};

export function remoteAgents(name: string, given: unknown): string[] {
  if (typeof given !== "object" || given === null)
    return [`${name} is ${check.shown(given)}, not an object of agents by name`];
  return firstFaults(Object.entries(given), ([agent, value]: [string, unknown]) => {
    const options = typeof value === "object" && value !== null ? value : { url: value };
    return check.optionFaults(options, remoteAgent, `${name}.${agent}.`, ["url"]);
  });
}

export const publicUrl: check.OptionCheck = check.aText(
  "an absolute http or https URL without query and fragment",
  (given) => {
    const url = parseUrl(given);
    const isPlain = url !== undefined && `${url.username}${url.password}${url.search}${url.hash}` === "";
    return isPlain && /^https?:$/.test(url.protocol);
  },
);

export const grpcPublicUrl: check.OptionCheck = check.aText(
  "of the form host:port",
  (given) => isAuthority(given) && /:\d+$/.test(given),
);

export function trustProxy(name: string, given: unknown): string[] {
  if (typeof given === "boolean" || given === "") return [];
  const networks = typeof given === "string" ? [given] : given;
  if (!Array.isArray(networks)) return [`${name} is ${check.shown(given)}, not true or a list of networks`];
  try {
    if (networks.length > 0) proxyAddr.compile(networks);
    return [];
  } catch (error) {
    // The message ends with the refused text, such as `invalid IP address: nowhere`.
    return [`${name}: ${messageIn(error).replace(/(?<=: ).*$/s, withoutSecrets)}`];
  }
}

const servedVersion = check.oneOf(servedVersions.names);

export function versions(name: string, given: unknown): readonly string[] {
  const faults = check.listOf(
    servedVersion,
    true,
    `a list of versions such as ${check.shown(PROTOCOL_VERSION)}`,
  )(name, given);
  return !Array.isArray(given) || given.includes(PROTOCOL_VERSION)
    ? faults
    : [...faults, `${name} has no ${check.shown(PROTOCOL_VERSION)}, which cannot be switched off`];
}

export const allowedHosts: check.OptionCheck = check.unless(
  (given) => given === true,
  check.listOf(
    check.aText("a name such as agents.example.com", (host) => host === "*" || isHostName(withoutWildcard(host))),
    true,
    "true or a list of names",
  ),
);

const origin = check.aText(
  "an origin such as https://app.example.org",
  (given) => given === "*" || parseUrl(given)?.origin === given,
);

export const cors: check.OptionCheck = check.unless(
  (given) => typeof given === "boolean",
  check.listOf(origin, true, "true or a list of origins"),
);

export const basePath: check.OptionCheck = check.aText("of the form /path", (given) =>
  /^(?:(?:\/[^/?#]+)+)?$/.test(given),
);

export const host: check.OptionCheck = check.aText(
  "a name or address",
  (given) => isIP(given) !== 0 || isHostName(given),
);

const descriptor = check.aWholeNumber(0, 2 ** 31 - 1);

export function sockets(name: string, given: unknown): readonly string[] {
  return check.optionFaults(given, { http: descriptor, grpc: descriptor }, `${name}.`);
}

/** Node.js ignores the option before these versions. */
export function reusePort(name: string, given: unknown): readonly string[] {
  const { node = "" } = globalThis.process?.versions ?? {};
  const [major = 0, minor = 0] = node.split(".").map(Number);
  const isNew = major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);
  const faults = check.aBoolean()(name, given);
  return faults.length > 0 || given === false || isNew
    ? faults
    : [`${name} needs Node.js 22.12 or later, and this is ${node}`];
}

export function tls(_name: string, given: unknown): readonly string[] {
  if (typeof given !== "object" || given === null || !("keyFile" in given)) return tlsFaults(given);
  try {
    return tlsFaults(readTls(given as TlsPaths));
  } catch (error) {
    return [`tls: ${messageIn(error)}`];
  }
}

export function push(name: string, given: unknown): readonly string[] {
  const { tls: used } = membersOf(given);
  const faults = pushFaults(name, given);
  if (faults.length > 0 || used === undefined) return faults;
  return clientTlsFaults(used as object).map((fault) => fault.replace(/^tls/, `${name}.tls`));
}

/** Returns the faults of a client's TLS options, which may have authorities, a certificate, or both. */
function clientTlsFaults({ ca, cert, key }: { ca?: unknown; cert?: unknown; key?: unknown }): string[] {
  if ((cert === undefined) !== (key === undefined)) return ["tls needs both cert and key, or neither"];
  return [
    ...(cert === undefined ? [] : tlsFaults({ cert, key })),
    ...[ca ?? []].flat().flatMap((each) => authorityFaults(String(each))),
  ];
}
