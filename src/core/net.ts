/**
 * Parses a URL, relative to `base` if that is given; undefined for a text that is not a URL. Used instead of
 * `URL.canParse`: on Node.js 20 it rejects names such as `münchen.example` after some thousand calls.
 */
export function parseUrl(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

/**
 * Shortens a text to 100 characters for errors and logs. In a URL, also one without a scheme or with mistakes,
 * credentials, query and fragment are replaced: `https://…@host/path?…`.
 */
export function withoutSecrets(text: string): string {
  const url = parseUrl(text);
  const isOpen = url?.host && url.username + url.password === "";
  return (isOpen ? text : text.replace(/^([a-z][a-z\d+.-]*:\/\/)?.*@/is, "$1…@"))
    .replace(/([?#]).+/s, "$1…")
    .replace(/^(.{100}).+/s, "$1…");
}

/**
 * Returns the network that counts as one client: an IPv4 address, including one mapped to IPv6, or an IPv6 network of
 * 64 bits, the smallest that a site is assigned (RFC 6177).
 */
export function sourceOf(address: string): string {
  if (!address.includes(":")) return address;
  if (isMapped(address)) return address.slice(7);
  return `${groupsOf(address).slice(0, 4).join(":")}::/64`;
}

/**
 * Returns the IPv6 network of 48 bits that contains an address, the largest that a site is usually assigned. Undefined
 * for IPv4.
 */
export function siteOf(address: string): string | undefined {
  return address.includes(":") && !isMapped(address) ? `${groupsOf(address).slice(0, 3).join(":")}::/48` : undefined;
}

const isMapped = (address: string): boolean => address.startsWith("::ffff:") && address.includes(".");

function groupsOf(address: string): string[] {
  const [head = "", tail] = address.split("%", 1)[0]?.split("::") ?? [];
  const groups = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  return tail === undefined ? groups : [...groups, ...Array(8 - groups.length - last.length).fill("0"), ...last];
}

/** The name of the loopback interface and names below it (RFC 6761, 6.3), and its addresses, in the form that `URL` gives them. */
const loopback = /^(?:(?:.+\.)?localhost|127\.\d+\.\d+\.\d+|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/;

/** Returns the host of a URL in lower case, without the dot of a fully qualified name; undefined for a text that is not a URL. */
export function hostnameOf(url: string): string | undefined {
  return parseUrl(url)?.hostname.replace(/\.$/, "");
}

/** A host with or without a port. It excludes characters that could change the rest of a URL (RFC 3986, 3.2). */
const authority = /^(?:[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_.])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/** True for the host of a request or of a URL in ASCII, with or without a port: `a.example:443`, `[::1]`. */
export function isAuthority(text: string): boolean {
  return authority.test(text);
}

/** True for an authority that is a name or an IPv4 address alone: `a.example`, `127.0.0.1`. */
export function isHostName(text: string): boolean {
  return isAuthority(text) && !/[:[]/.test(text);
}

/** True for a name of DNS that is not an address. Other programs would read a name whose last label is digits as one. */
export function isDnsName(text: string): boolean {
  const labels = text.toLowerCase().split(".");
  return (
    labels.every((label) => /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label)) &&
    !/^\d+$/.test(labels.at(-1) ?? "")
  );
}

/** True for the host of a URL in any script, without a port: `münchen.example`, `127.0.0.1`, `[::1]`. */
export function isUrlHost(text: string): boolean {
  const isBare = /^(?:\[[\da-f:.]+\]|[^\s/?#:@\\[\]]+)$/i.test(text);
  return isBare && parseUrl(`https://${text}`) !== undefined;
}

/** Returns the name in a pattern: without `*.`, which stands for all names below it. */
export function withoutWildcard(pattern: string): string {
  return pattern.replace(/^\*\./, "");
}

/** Returns the host of a URL as sockets take it: without the brackets of an IPv6 address. */
export function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

/** True if the host of a URL is this machine. */
export function isLoopback(url: string): boolean {
  const name = hostnameOf(url);
  return name !== undefined && loopback.test(name);
}

/** True if a host name or an address, in any spelling, is this machine. */
export function isLoopbackHost(host: string): boolean {
  return isLoopback(`http://${host.includes(":") ? `[${host}]` : host}`);
}

/** Headers of a connection, of framing or of encoding. Only the transport can set them for a response. */
const names: ReadonlySet<string> = new Set([
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Returns true for a header that the transport sets, in requests or in responses. */
export function isTransportHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return names.has(lower) || lower === "host" || lower === "expect" || lower.startsWith("grpc-");
}

/**
 * Removes the transport's headers from those of a response, as when an interceptor forwards another response's headers.
 */
export function dropTransportHeaders(headers: { keys(): Iterable<string>; delete(name: string): unknown }): void {
  for (const name of [...headers.keys()]) {
    if (names.has(name.toLowerCase()) || /^grpc-/i.test(name)) headers.delete(name);
  }
}

/** Decodes percent-encoded UTF-8; returns other text unchanged. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
