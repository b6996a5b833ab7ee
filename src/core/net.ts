/**
 * What counts as one client: an IPv4 address, also where it is written as IPv6, or an IPv6 network of 64 bits, which is
 * the smallest that a site is given (RFC 6177).
 */
export function sourceOf(address: string): string {
  if (!address.includes(":")) return address;
  if (isMapped(address)) return address.slice(7);
  return `${groupsOf(address).slice(0, 4).join(":")}::/64`;
}

/** The IPv6 network of 48 bits that an address is in, the largest that a site is usually given; undefined for IPv4. */
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

/** What belongs to one connection, frames a body or says how it is written: only the transport knows that of an answer. */
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

/** Whether a header is one that the transport sets, in requests as well as in answers. */
export function isTransportHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return names.has(lower) || lower === "host" || lower === "expect" || lower.startsWith("grpc-");
}

/** Removes the headers of an answer that are the transport's, as when an interceptor hands on those of another answer. */
export function dropTransportHeaders(headers: { keys(): Iterable<string>; delete(name: string): unknown }): void {
  for (const name of [...headers.keys()]) {
    if (names.has(name.toLowerCase()) || /^grpc-/i.test(name)) headers.delete(name);
  }
}
