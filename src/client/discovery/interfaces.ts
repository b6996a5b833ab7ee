import type { AgentCard, AgentInterface } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../core/error.js";
import { isLoopback, parseUrl, withoutSecrets } from "../../core/net.js";
import { type OlderVersion, olderVersions } from "../../version/client-versions.js";
import { PROTOCOL_VERSION } from "../../version/v1.js";
import { CONNECT_BINDING } from "../../wire/card-names.js";
import { parseVersion } from "../../wire/service-params.js";
import { versionNotSupported } from "./card-reader.js";

/** Name of a binding. The first three are the names in cards; gRPC-Web is served beside Connect, under the same URL. */
export type Binding = "GRPC" | "JSONRPC" | "HTTP+JSON" | "CONNECT" | "GRPC-WEB";

/** All bindings. */
export const bindings: readonly Binding[] = ["GRPC", "CONNECT", "JSONRPC", "HTTP+JSON", "GRPC-WEB"];

/** An interface of a card that this client can call. */
export interface Candidate {
  readonly declared: AgentInterface;
  readonly binding: Binding;
  /** With `http:` or `https:`, for gRPC too; otherwise as in the card, a trailing slash included. */
  readonly url: string;
  /** `Major.Minor`, as in calls. */
  readonly version: string;
  /** Adapter of an older protocol version; undefined for the client's own. */
  readonly older: OlderVersion | undefined;
  /** The same interface in another version, if the card does not name its version. */
  readonly other?: Candidate;
}

/** True if calls of both go to the same interface, in the same version. */
export function isSameInterface(one: Candidate, other: Candidate): boolean {
  const key = ({ binding, url, version, declared }: Candidate) => [binding, url, version, declared.tenant].join(" ");
  return key(one) === key(other);
}

/** Parameters of the choice, besides the card. */
export interface Choosing {
  /** Bindings of the platform. */
  readonly available: ReadonlySet<Binding>;
  /** Allowed bindings, in order of preference; undefined for all, in the order of the card. */
  readonly only: readonly Binding[] | undefined;
  /** Preferred bindings. */
  readonly prefer: readonly Binding[];
  /** URL of the card; undefined if the caller gave it. */
  readonly cardUrl: string | undefined;
  readonly allowHttp: boolean;
  /** Tells whether a URL may receive credentials; undefined if the caller has none. */
  readonly mayShow?: ((url: string) => boolean) | undefined;
  /** Selects plaintext or TLS for gRPC addresses without a scheme; undefined to follow the card's URL. */
  readonly plaintextGrpc: boolean | undefined;
  readonly maxInterfaces: number;
  /** The only accepted version; undefined for the newest that both sides speak. */
  readonly version?: string | undefined;
  /** True if the card names no version: it may be 0.1 or 0.2. */
  readonly isGuessed?: boolean;
}

/**
 * Returns the interfaces that both sides speak, in the order of calling: those of the newest common version, sorted by
 * the caller's preference and then by the card's order (specification 5.2, 8.3.2).
 *
 * @throws A2AError VERSION_NOT_SUPPORTED without a common version; UNSUPPORTED_OPERATION without a common binding, with
 * the card's interfaces
 */
export function candidatesOf(card: AgentCard, choosing: Choosing): readonly Candidate[] {
  const declared = card.supportedInterfaces.slice(0, choosing.maxInterfaces);
  const all = declared.flatMap((each) => candidatesIn(each, choosing));
  const wanted = choosing.version === undefined ? all : all.filter(({ version }) => version === choosing.version);
  const known = newest(wanted);
  if (known === undefined) throw noneOf(declared, all, choosing);
  const encrypted = encryptedFirst(known, choosing);
  // Calls of the other interfaces would fail for lack of credentials.
  const shown = encrypted.filter(({ url }) => choosing.mayShow?.(url) !== false);
  const usable = shown.length > 0 ? shown : encrypted;
  const rank = ({ binding }: Candidate): number => {
    const order = choosing.only ?? choosing.prefer;
    return order.includes(binding) ? order.indexOf(binding) : order.length;
  };
  const sorted = usable.toSorted((one, other) => rank(one) - rank(other));
  return choosing.isGuessed === true ? sorted.map(withOther) : sorted;
}

function withOther(candidate: Candidate): Candidate {
  const older = olderVersions.find(({ name }) => name === candidate.older?.alike);
  if (older === undefined) return candidate;
  const declared = { ...candidate.declared, protocolVersion: older.name };
  return { ...candidate, other: { ...candidate, declared, version: older.name, older } };
}

/** Returns the interfaces of one version only, since an agent's answers may differ between versions. */
function newest(all: readonly Candidate[]): readonly Candidate[] | undefined {
  const groups = [
    // The client's own version is preferred to a later minor version of the same interface.
    all.filter(({ version }) => version === PROTOCOL_VERSION),
    all.filter(({ version }) => version.startsWith("1.")),
    ...olderVersions.map((older) => all.filter((candidate) => candidate.older === older)),
  ];
  return groups.find((group) => group.length > 0);
}

function candidatesIn(declared: AgentInterface, choosing: Choosing): Candidate[] {
  const { available, only, prefer } = choosing;
  const version = declared.protocolVersion.trim() === "" ? PROTOCOL_VERSION : parsedVersion(declared.protocolVersion);
  const older = olderVersions.find(({ name }) => name === version);
  return bindingsNamed(declared.protocolBinding)
    .filter((binding) => older?.bindings.includes(binding) !== false)
    .filter((binding) => available.has(binding) && only?.includes(binding) !== false)
    .filter((binding) => binding !== "GRPC-WEB" || (only ?? prefer).includes(binding) || isGrpcWeb(declared))
    .flatMap((binding) => {
      const url = binding === "GRPC" ? grpcUrl(declared.url, choosing) : httpUrl(declared.url, choosing.cardUrl);
      return url === undefined ? [] : [{ declared, binding, url, version, older }];
    });
}

/**
 * Normalizes a version. Some cards name a major version only, or a patch version, which is ignored (specification 3.6).
 */
function parsedVersion(version: string): string {
  const text = version.trim().replace(/^v/i, "");
  return parseVersion(/^\d{1,4}$/.test(text) ? `${text}.0` : text) ?? text.slice(0, 32);
}

const isGrpcWeb = ({ protocolBinding }: AgentInterface): boolean => /^grpc-?web$/i.test(protocolBinding);

function bindingsNamed(name: string): readonly Binding[] {
  if (name === CONNECT_BINDING) return ["CONNECT", "GRPC-WEB"];
  // Names are case-sensitive (specification 5.8), but these variants are unambiguous.
  switch (name.trim().toUpperCase()) {
    case "GRPC":
      return ["GRPC"];
    case "JSONRPC":
    case "JSON-RPC":
      return ["JSONRPC"];
    case "HTTP+JSON":
    case "REST":
      return ["HTTP+JSON"];
    case "GRPC-WEB":
    case "GRPCWEB":
      return ["GRPC-WEB"];
    default:
      return [];
  }
}

/**
 * Returns an absolute URL with the path unchanged, since servers may distinguish `/rpc` and `/rpc/`. A relative path is
 * resolved against the card's URL; an empty URL is invalid.
 */
function httpUrl(given: string, cardUrl: string | undefined): string | undefined {
  const url = /^\s*(?:[?#]|$)/.test(given) ? undefined : parseUrl(given, cardUrl);
  if (url === undefined) return undefined;
  const { protocol, origin, pathname, search, username, password } = url;
  // URLs appear in logs, and a card must not contain credentials (specification 13.3).
  if (!/^https?:$/.test(protocol) || username !== "" || password !== "") return undefined;
  return origin + (pathname === "/" ? "" : pathname) + search;
}

/**
 * Returns the URL of a `host:port`, with or without a gRPC scheme. Encrypted unless its scheme says otherwise, it is
 * this machine, or its card was not encrypted.
 */
function grpcUrl(given: string, { cardUrl, plaintextGrpc }: Choosing): string | undefined {
  const [, scheme = "", rest = ""] = /^(?:(https?|grpcs?|dns):\/{2,3})?(.+)$/i.exec(given.trim()) ?? [];
  if (/^https?$/i.test(scheme)) return httpUrl(given, undefined);
  if (!/^[^\s/@?#]+$/.test(rest.replace(/\/$/, "")) || parseUrl(`http://${rest}`) === undefined) return undefined;
  const isPlain =
    /^grpc$/i.test(scheme) || (!/^grpcs$/i.test(scheme) && (plaintextGrpc ?? isPlainHost(`http://${rest}`, cardUrl)));
  return httpUrl(`${isPlain ? "http" : "https"}://${rest}`, undefined);
}

function isPlainHost(url: string, cardUrl: string | undefined): boolean {
  if (new URL(url).port === "443") return false;
  return cardUrl === undefined ? isLoopback(url) : cardUrl.startsWith("http:");
}

/**
 * Removes plaintext interfaces if the card was encrypted or encrypted interfaces exist: blocking the encrypted ones
 * must not make the client fall back to plaintext. Loopback needs no encryption.
 */
function encryptedFirst(all: readonly Candidate[], { cardUrl, allowHttp }: Choosing): readonly Candidate[] {
  if (allowHttp) return all;
  const isSafe = ({ url }: Candidate): boolean => url.startsWith("https:") || isLoopback(url);
  const safe = all.filter(isSafe);
  const isEncrypted = cardUrl?.startsWith("https:") === true || safe.some(({ url }) => url.startsWith("https:"));
  if (!isEncrypted) return all;
  if (safe.length > 0) return safe;
  const urls = all.map(({ url }) => withoutSecrets(url)).join(", ");
  const message = `The agent's card is encrypted, and its interfaces are not: ${urls}. (allowHttp)`;
  throw new A2AError("UNSUPPORTED_OPERATION", message);
}

function noneOf(declared: readonly AgentInterface[], all: readonly Candidate[], choosing: Choosing): A2AError {
  const where = withoutSecrets(choosing.cardUrl ?? "the card");
  const versions = [...new Set(all.map(({ version }) => version))];
  if (versions.length > 0) return versionNotSupported(where, versions, choosing.version);
  const named = declared.map(({ protocolBinding, url, protocolVersion }) =>
    [protocolBinding || "no binding", protocolVersion, "at", url || "no URL"].filter((it) => it !== "").join(" "),
  );
  const has = named.length === 0 ? "no interface" : named.slice(0, 8).join(", ").slice(0, 500);
  const available = [...choosing.available].filter((it) => choosing.only?.includes(it) !== false).join(", ");
  const message = `The agent has ${has}; this client can call ${available || "none of its bindings"}.`;
  return new A2AError("UNSUPPORTED_OPERATION", message);
}
