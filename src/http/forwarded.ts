import { isIP } from "node:net";
import { isAuthority } from "../core/net.js";

/** Facts that a proxy forwards about a request. A missing or malformed part is undefined. */
export interface Forwarded {
  readonly proto: "http" | "https" | undefined;
  readonly host: string | undefined;
  /** Path that the proxy removed, without a slash at the end. */
  readonly prefix: string | undefined;
  /** Address of the client. */
  readonly client: string | undefined;
}

/**
 * The headers that the trusted proxies write: `x-forwarded` means `X-Forwarded-For`, `-Host`, `-Proto` and `-Prefix`,
 * `forwarded` means `Forwarded` (RFC 7239). A proxy that writes one kind passes on the other unchanged from the client.
 */
export type ProxyHeaders = "x-forwarded" | "forwarded";

/** The headers that the server's address depends on, for `Vary`. */
export function addressHeaders(headers: ProxyHeaders): readonly string[] {
  return headers === "forwarded" ? ["Forwarded"] : ["X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Prefix"];
}

/** Reads the headers of a trusted proxy. Returns undefined if the peer is not trusted or sent none of them. */
export function forwardedBy(
  { header, address }: RequestOrigin,
  trust: Trust,
  headers: ProxyHeaders = "x-forwarded",
): Forwarded | undefined {
  if (!trust(address)) return undefined;
  return headers === "forwarded" ? standardOf(header("forwarded"), trust) : olderOf(header, trust);
}

function standardOf(header: string | undefined, trust: Trust): Forwarded | undefined {
  if (header === undefined) return undefined;
  const { proto, host, for: node } = elementOf(header, trust);
  return { proto: protoOf(proto), host: validHost(host), prefix: undefined, client: nodeAddress(node ?? "") };
}

function olderOf(header: RequestOrigin["header"], trust: Trust): Forwarded | undefined {
  const proto = header("x-forwarded-proto");
  const host = header("x-forwarded-host");
  const prefix = header("x-forwarded-prefix");
  const chain = header("x-forwarded-for");
  const says = proto !== undefined || host !== undefined || prefix !== undefined || chain !== undefined;
  if (!says) return undefined;
  return {
    proto: protoOf(firstInList(proto)),
    host: validHost(firstInList(host)),
    prefix: prefixOf(firstInList(prefix)),
    client: clientAddress(chain, trust),
  };
}

/**
 * Returns the first trusted element, which the trusted proxy nearest to the client added. Each proxy appends an element
 * that names its own peer in `for`, so an element is trusted if all elements after it come from trusted proxies.
 */
function elementOf(header: string, trust: Trust): Record<string, string> {
  // A quote that a client leaves open would make one element of its own and those that proxies append.
  const elements = splitOutsideQuotes(header, ",")?.map(pairsOf) ?? [];
  let i = elements.length - 1;
  while (i > 0 && isTrusted(nodeAddress(elements[i]?.for ?? ""), trust)) i--;
  return elements[i] ?? {};
}

/**
 * Returns the last entry of `X-Forwarded-For` that is not a trusted proxy. A client may have forged the entries before
 * it. Returns undefined if the entry is not an IP address.
 */
function clientAddress(chain: string | undefined, trust: Trust): string | undefined {
  const addresses = chain?.split(",").map((node) => nodeAddress(node.trim())) ?? [];
  return addresses.findLast((address, i) => i === 0 || !isTrusted(address, trust));
}

const isTrusted = (address: string | undefined, trust: Trust): boolean => address !== undefined && trust(address);

function pairsOf(element: string): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const pair of splitOutsideQuotes(element, ";") ?? []) {
    const at = pair.indexOf("=");
    if (at < 0) continue;
    const value = pair.slice(at + 1).trim();
    const quoted = /^"(.*)"$/.exec(value)?.[1];
    pairs[pair.slice(0, at).trim().toLowerCase()] = quoted === undefined ? value : quoted.replace(/\\(.)/g, "$1");
  }
  return pairs;
}

/** Returns undefined for a text that ends inside quotes. */
function splitOutsideQuotes(text: string, separator: "," | ";"): string[] | undefined {
  const pieces: string[] = [];
  let quoted = false;
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\" && quoted) i++;
    else if (text[i] === '"') quoted = !quoted;
    else if (text[i] === separator && !quoted) {
      pieces.push(text.slice(from, i));
      from = i + 1;
    }
  }
  return quoted ? undefined : [...pieces, text.slice(from)];
}

/**
 * Returns the address in a node of `Forwarded` or `X-Forwarded-For`, with or without a port: `192.0.2.1`,
 * `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80` (RFC 7239, 6). Returns undefined for `unknown`, obfuscated names
 * and anything else.
 */
function nodeAddress(node: string): string | undefined {
  const bare = /^\[([^\]]*)\](?::\w+)?$/.exec(node)?.[1] ?? /^([\d.]+):\w+$/.exec(node)?.[1] ?? node;
  return isIP(bare) === 0 ? undefined : bare;
}

/** Returns the first value of a list. Proxies append their values, so it is the one nearest to the client. */
const firstInList = (value: string | undefined): string | undefined => value?.split(",", 1)[0]?.trim();

function protoOf(value: string | undefined): Forwarded["proto"] {
  const proto = value?.toLowerCase();
  return proto === "http" || proto === "https" ? proto : undefined;
}

const validHost = (value: string | undefined): string | undefined =>
  value !== undefined && isAuthority(value) ? value : undefined;

function prefixOf(value: string | undefined): string | undefined {
  // Path segments (RFC 3986, 3.3). None may be empty, because `//` would begin a host.
  if (value === undefined || !/^(?:\/[\w.~!$&'()*+,;=:@%-]+)+\/?$/.test(value)) return undefined;
  return value.replace(/\/$/, "");
}

/** The parts of a request that show the server's address as the client used it, and the client's own address. */
export interface RequestOrigin {
  /** A header by its lower-case name; several values are joined by commas. */
  readonly header: (name: string) => string | undefined;
  /** Address of the other end of the connection. */
  readonly address: string;
  readonly encrypted: boolean;
  /** Path that the handler is mounted below, without a slash at the end; empty at the root. */
  readonly mount: string;
}

/** Returns true for the address of a proxy whose headers are trusted. */
export type Trust = (address: string) => boolean;

/** The host that the client named in `:authority` (HTTP/2) or `Host` (HTTP/1.1), if it is well formed. */
export function requestedHost(origin: RequestOrigin): string | undefined {
  const named = origin.header(":authority") ?? origin.header("host");
  return named !== undefined && isAuthority(named) ? named : undefined;
}
