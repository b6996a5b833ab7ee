import type { AgentCard, AgentInterface } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../core/error.js";
import { type OlderVersion, olderVersions, otherGuess } from "../../version/callable.js";
import { PROTOCOL_VERSION } from "../../version/v1.js";
import { CONNECT_BINDING } from "../../wire/card-names.js";
import { parseVersion } from "../../wire/service-params.js";
import { isLoopback } from "../hosts.js";
import { versionNotSupported } from "./card-reader.js";

/**
 * Name of a binding. The first three are named as cards name them; gRPC-Web is served beside Connect, under the same
 * URL.
 */
export type Binding = "GRPC" | "JSONRPC" | "HTTP+JSON" | "CONNECT" | "GRPC-WEB";

/** All of them. */
export const bindings: readonly Binding[] = ["GRPC", "CONNECT", "JSONRPC", "HTTP+JSON", "GRPC-WEB"];

/** An interface of a card that this client can call. */
export interface Candidate {
  readonly declared: AgentInterface;
  readonly binding: Binding;
  /** With `http:` or `https:`, for gRPC too; otherwise as the card has it, a slash at the end included. */
  readonly url: string;
  /** `Major.Minor`, as calls name it. */
  readonly version: string;
  /** How that is spoken where it is one before that of this client; undefined for its own. */
  readonly older: OlderVersion | undefined;
  /** The same interface in another version, where the card does not say which one it is. */
  readonly other?: Candidate;
}

/** What a choice depends on besides the card. */
export interface Choosing {
  /** The bindings that the platform has. */
  readonly spoken: ReadonlySet<Binding>;
  /** Only these, in this order; undefined: all, in the order of the card. */
  readonly only: readonly Binding[] | undefined;
  /** These before others. */
  readonly prefer: readonly Binding[];
  /** Where the card came from; undefined for one that was given. */
  readonly cardUrl: string | undefined;
  readonly allowHttp: boolean;
  /** Whether a URL may be shown credentials; undefined: there are none to show. */
  readonly mayShow?: ((url: string) => boolean) | undefined;
  /** Addresses of gRPC without a scheme are called without TLS, or with it; undefined: as the card suggests. */
  readonly plaintextGrpc: boolean | undefined;
  readonly maxInterfaces: number;
  /** This version alone; undefined: the newest that both have. */
  readonly version?: string | undefined;
  /** The card names no version: it may be of 0.1 or 0.2. */
  readonly isGuessed?: boolean;
}

/**
 * The interfaces that both sides speak, the one to be called first in front: those of the newest version that both have, and of these
 * those of the caller's preference, then in the order of the card (specification 5.2, 8.3.2).
 *
 * @throws A2AError VERSION_NOT_SUPPORTED where the agent has versions alone that this client does not speak; UNSUPPORTED_OPERATION where both have no binding in
 * common, with what the card names.
 */
export function candidatesOf(card: AgentCard, choosing: Choosing): readonly Candidate[] {
  const declared = card.supportedInterfaces.slice(0, choosing.maxInterfaces);
  const all = declared.flatMap((each) => candidatesIn(each, choosing));
  const wanted = choosing.version === undefined ? all : all.filter(({ version }) => version === choosing.version);
  const known = newest(wanted);
  if (known === undefined) throw noneOf(declared, all, choosing);
  const encrypted = encryptedFirst(known, choosing);
  // Calls of the others would fail, as they have to show credentials.
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
  const version = otherGuess(candidate.version);
  const older = olderVersions.find(({ name }) => name === version);
  const declared = { ...candidate.declared, protocolVersion: version };
  return { ...candidate, other: { ...candidate, declared, version, older } };
}

/** Of the versions that are spoken here, those of one alone: what an agent answers in one is not always what it answers in another. */
function newest(all: readonly Candidate[]): readonly Candidate[] | undefined {
  const groups = [
    // A minor version more of the same interface is no reason to call it by the version that this client knows less well.
    all.filter(({ version }) => version === PROTOCOL_VERSION),
    all.filter(({ version }) => version.startsWith("1.")),
    ...olderVersions.map((older) => all.filter((candidate) => candidate.older === older)),
  ];
  return groups.find((group) => group.length > 0);
}

function candidatesIn(declared: AgentInterface, choosing: Choosing): Candidate[] {
  const { spoken, only, prefer } = choosing;
  const version = declared.protocolVersion.trim() === "" ? PROTOCOL_VERSION : parsedVersion(declared.protocolVersion);
  const older = olderVersions.find(({ name }) => name === version);
  return bindingsNamed(declared.protocolBinding)
    .filter((binding) => older?.bindings.includes(binding) !== false)
    .filter((binding) => spoken.has(binding) && only?.includes(binding) !== false)
    .filter((binding) => binding !== "GRPC-WEB" || (only ?? prefer).includes(binding) || isGrpcWeb(declared))
    .flatMap((binding) => {
      const url = binding === "GRPC" ? grpcUrl(declared.url, choosing) : httpUrl(declared.url, choosing.cardUrl);
      return url === undefined ? [] : [{ declared, binding, url, version, older }];
    });
}

/** Cards of some servers name a whole number, or a patch number, which does not count (specification 3.6). */
function parsedVersion(version: string): string {
  const text = version.trim().replace(/^v/i, "");
  return parseVersion(/^\d{1,4}$/.test(text) ? `${text}.0` : text) ?? text.slice(0, 32);
}

const isGrpcWeb = ({ protocolBinding }: AgentInterface): boolean => /^grpc-?web$/i.test(protocolBinding);

function bindingsNamed(name: string): readonly Binding[] {
  if (name === CONNECT_BINDING) return ["CONNECT", "GRPC-WEB"];
  // The names are not to be read loosely (specification 5.8), but no other binding can be meant.
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
 * An absolute URL, with a path as the card has it: servers answer `/rpc` and `/rpc/` differently. A path without a host is one of
 * the card's host; a URL without a path is none.
 */
function httpUrl(given: string, cardUrl: string | undefined): string | undefined {
  if (/^\s*(?:[?#]|$)/.test(given) || !URL.canParse(given, cardUrl)) return undefined;
  const { protocol, origin, pathname, search, username, password } = new URL(given, cardUrl);
  // What is in a URL is shown in logs, and no credentials belong into a card (specification 13.3).
  if (!/^https?:$/.test(protocol) || username !== "" || password !== "") return undefined;
  return origin + (pathname === "/" ? "" : pathname) + search;
}

/** `host:port`, with or without a scheme of gRPC's; encrypted unless it says otherwise, is of this machine, or its card was not either. */
function grpcUrl(given: string, { cardUrl, plaintextGrpc }: Choosing): string | undefined {
  const [, scheme = "", rest = ""] = /^(?:(https?|grpcs?|dns):\/{2,3})?(.+)$/i.exec(given.trim()) ?? [];
  if (/^https?$/i.test(scheme)) return httpUrl(given, undefined);
  if (!/^[^\s/@?#]+$/.test(rest.replace(/\/$/, "")) || !URL.canParse(`http://${rest}`)) return undefined;
  const isPlain =
    /^grpc$/i.test(scheme) || (!/^grpcs$/i.test(scheme) && (plaintextGrpc ?? isPlainHost(`http://${rest}`, cardUrl)));
  return httpUrl(`${isPlain ? "http" : "https"}://${rest}`, undefined);
}

function isPlainHost(url: string, cardUrl: string | undefined): boolean {
  if (new URL(url).port === "443") return false;
  return cardUrl === undefined ? isLoopback(url) : cardUrl.startsWith("http:");
}

/**
 * Without those that are not encrypted, where the card was, or where there are others: who keeps a client from an encrypted interface
 * must not get what it says by another. Loopback needs no encryption.
 */
function encryptedFirst(all: readonly Candidate[], { cardUrl, allowHttp }: Choosing): readonly Candidate[] {
  if (allowHttp) return all;
  const isSafe = ({ url }: Candidate): boolean => url.startsWith("https:") || isLoopback(url);
  const safe = all.filter(isSafe);
  const isEncrypted = cardUrl?.startsWith("https:") === true || safe.some(({ url }) => url.startsWith("https:"));
  if (!isEncrypted) return all;
  if (safe.length > 0) return safe;
  const urls = all.map(({ url }) => url).join(", ");
  const message = `The agent's card is encrypted, and its interfaces are not: ${urls}. (allowHttp)`;
  throw new A2AError("UNSUPPORTED_OPERATION", message);
}

function noneOf(declared: readonly AgentInterface[], all: readonly Candidate[], choosing: Choosing): A2AError {
  const where = choosing.cardUrl ?? "the card";
  const versions = [...new Set(all.map(({ version }) => version))];
  if (versions.length > 0) return versionNotSupported(where, versions, choosing.version);
  const named = declared.map(({ protocolBinding, url, protocolVersion }) =>
    [protocolBinding || "no binding", protocolVersion, "at", url || "no URL"].filter((it) => it !== "").join(" "),
  );
  const has = named.length === 0 ? "no interface" : named.slice(0, 8).join(", ").slice(0, 500);
  const spoken = [...choosing.spoken].filter((it) => choosing.only?.includes(it) !== false).join(", ");
  const message = `The agent has ${has}; this client can call ${spoken || "none of its bindings"}.`;
  return new A2AError("UNSUPPORTED_OPERATION", message);
}
