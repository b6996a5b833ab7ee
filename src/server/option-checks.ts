import { isIP } from "node:net";
import proxyAddr from "proxy-addr";
import { described, unknownNames } from "../core/describe.js";
import { isHost } from "../http/request-origin.js";
import { pushFaults } from "../push/option-checks.js";
import { PROTOCOL_VERSION } from "../version/v1.js";
import { servedVersions } from "../version/versions.js";
import { shown } from "./option-kinds.js";
import { authorityFaults, tlsFaults } from "./tls.js";
import { readTls, type TlsPaths } from "./tls-reload.js";

// Each function returns what is wrong with the value of an option, as sentences that begin with its name; empty when nothing
// is. Options from plain JavaScript may have values of any type.

export const nothing = (): string[] => [];

export function store(_name: string, value: unknown): string[] {
  if (value === undefined || value === null) return ["store is missing: sqliteStore(path) or memoryStore()"];
  if (typeof value === "string") return [`store is a text: write sqliteStore(${shown(value)})`];
  if (typeof (value as { append?: unknown }).append === "function") return [];
  return [`store is ${described(value)}, not a store: write sqliteStore(path) or memoryStore()`];
}

export function logger(name: string, value: unknown): string[] {
  const given = value as Record<string, unknown> | null;
  const missing = ["debug", "info", "warn", "error"].filter((level) => typeof given?.[level] !== "function");
  return missing.length === 0 ? [] : [`${name} has no function ${missing.join(", ")}`];
}

export function audit(name: string, value: unknown): string[] {
  if (typeof value === "boolean") return [];
  const given = value as { write?: unknown } | null;
  return typeof given?.write === "function" ? [] : [`${name} is neither true, false nor has a function write`];
}

export function authenticator(name: string, value: unknown): string[] {
  const given = value as { authenticate?: unknown } | null;
  return typeof given?.authenticate === "function" ? [] : [`${name} has no function authenticate`];
}

export function aFunction(name: string, value: unknown): string[] {
  return typeof value === "function" ? [] : [`${name} is ${shown(value)}, not a function`];
}

export function interceptors(name: string, given: unknown): string[] {
  const areFunctions = Array.isArray(given) && given.every((each) => typeof each === "function");
  return areFunctions ? [] : [`${name} is not a list of functions (next) => (invocation) => next(invocation)`];
}

const remoteAgentFields = ["url", "credentials", "credentialHosts", "passCaller", "tls", "fetch"];

export function remoteAgents(name: string, given: unknown): string[] {
  if (typeof given !== "object" || given === null)
    return [`${name} is ${shown(given)}, not an object of agents by name`];
  return Object.entries(given).flatMap(([agent, value]: [string, unknown]) => {
    const place = `${name}.${agent}`;
    const options = typeof value === "object" && value !== null ? value : { url: value };
    const { url } = options as { url?: unknown };
    const unknown = unknownNames(`${place}.`, Object.keys(options), remoteAgentFields);
    return typeof url === "string" && URL.canParse(url) && /^https?:/i.test(url)
      ? unknown
      : [`${place} has no url of http or https`, ...unknown];
  });
}

export function publicUrl(name: string, given: string): string[] {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  const plain = url !== undefined && `${url.username}${url.password}${url.search}${url.hash}` === "";
  if (url !== undefined && plain && /^https?:$/.test(url.protocol)) return [];
  return [`${name} "${given}" is not an absolute http or https URL without query and fragment`];
}

export function grpcPublicUrl(name: string, given: string): string[] {
  return isHost(given) && /:\d+$/.test(given) ? [] : [`${name} "${given}" is not of the form host:port`];
}

export function trustProxy(name: string, given: unknown): string[] {
  if (typeof given === "boolean" || given === "") return [];
  const networks = typeof given === "string" ? [given] : given;
  if (!Array.isArray(networks)) return [`${name} is ${shown(given)}, not true or a list of networks`];
  try {
    if (networks.length > 0) proxyAddr.compile(networks);
    return [];
  } catch (error) {
    return [`${name}: ${(error as Error).message}`];
  }
}

export function versions(name: string, given: unknown): string[] {
  if (!Array.isArray(given))
    return [`${name} is ${shown(given)}, not a list of versions such as "${PROTOCOL_VERSION}"`];
  const { names } = servedVersions;
  const unknown = given.filter((each) => !names.includes(each));
  return [
    ...unknown.map(
      (each) => `${name}: ${shown(each)} is no version that is spoken here, which are ${names.join(", ")}`,
    ),
    ...(given.includes(PROTOCOL_VERSION) ? [] : [`${name} has no "${PROTOCOL_VERSION}", which cannot be switched off`]),
  ];
}

export function allowedHosts(name: string, given: unknown): string[] {
  if (given === true) return [];
  if (!Array.isArray(given)) return [`${name} is ${shown(given)}, not true or a list of names`];
  return given
    .filter((host) => host !== "*" && !isName(host))
    .map((host) => `${name}: "${host}" is not a name such as agents.example.com`);
}

function isName(host: unknown): boolean {
  const bare = String(host).replace(/^\*\./, "");
  return isHost(bare) && !bare.includes(":");
}

export function cors(name: string, given: unknown): string[] {
  if (typeof given === "boolean") return [];
  if (!Array.isArray(given)) return [`${name} is ${shown(given)}, not true or a list of origins`];
  return given
    .filter((origin) => origin !== "*" && !(URL.canParse(origin) && new URL(origin).origin === origin))
    .map((origin) => `${name}: "${origin}" is not an origin such as https://app.example.org`);
}

export function basePath(name: string, given: string): string[] {
  return given === "" || /^(?:\/[^/?#]+)+$/.test(given) ? [] : [`${name} "${given}" is not of the form /path`];
}

export function host(name: string, given: string): string[] {
  return given !== "" && (isIP(given) !== 0 || isHost(given)) ? [] : [`${name} is no host: ${shown(given)}`];
}

export function tls(_name: string, given: unknown): readonly string[] {
  if (typeof given !== "object" || given === null || !("keyFile" in given)) return tlsFaults(given);
  try {
    return tlsFaults(readTls(given as TlsPaths));
  } catch (error) {
    return [`tls: ${(error as Error).message}`];
  }
}

export function push(name: string, given: unknown): readonly string[] {
  const { tls: used } = (given ?? {}) as { tls?: unknown };
  const faults = pushFaults(name, given);
  if (faults.length > 0 || used === undefined) return faults;
  return clientTlsFaults(used as object).map((fault) => fault.replace(/^tls/, `${name}.tls`));
}

/** What is wrong with the TLS of a client, which may have authorities, a certificate, or both. */
function clientTlsFaults({ ca, cert, key }: { ca?: unknown; cert?: unknown; key?: unknown }): string[] {
  if ((cert === undefined) !== (key === undefined)) return ["tls needs both cert and key, or neither"];
  return [
    ...(cert === undefined ? [] : tlsFaults({ cert, key })),
    ...[ca ?? []].flat().flatMap((each) => authorityFaults(String(each))),
  ];
}
