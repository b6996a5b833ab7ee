import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** An address for checks: an IPv4-mapped IPv6 address is converted to IPv4. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A network, as its first address and its prefix length. */
export type Network = readonly [Address, number];

interface AddressKind {
  /** Name for people: `public`, or the name of the range. */
  readonly name: string;
  /** IPv4 addresses to which a network may translate it. */
  readonly embedded: readonly ipaddr.IPv4[];
  /** True for a metadata service, which reveals secrets to any program on the machine. */
  readonly isMetadata: boolean;
}

/** The only range that is permitted by default. */
export const PUBLIC = "public";

/** Parses an address in the form that sockets use, without other spellings and zones. */
export function readAddress(text: string): Address | undefined {
  const version = isIP(text);
  if (version === 0 || text.includes("%")) return undefined;
  try {
    return version === 4 ? ipaddr.IPv4.parse(text) : unmapped(ipaddr.IPv6.parse(text));
  } catch {
    return undefined;
  }
}

/** Parses an address, or a network in CIDR notation. */
export function readNetwork(text: string): Network | undefined {
  const [first = "", bits, ...more] = text.split("/");
  const version = isIP(first);
  const address = readAddress(first);
  if (address === undefined || more.length > 0) return undefined;
  const most = version === 4 ? 32 : 128;
  if (bits === undefined) return [address, address.kind() === "ipv4" ? 32 : 128];
  if (!/^\d{1,3}$/.test(bits) || Number(bits) > most) return undefined;
  if (version === 4 || address.kind() === "ipv6") return [address, Number(bits)];
  // A network of mapped addresses is an IPv4 network, unless it is wider than the mapped range.
  return Number(bits) >= 96 ? [address, Number(bits) - 96] : undefined;
}

export function isIn(address: Address, [first, bits]: Network): boolean {
  return address.kind() === first.kind() && address.match(first, bits);
}

function unmapped(address: ipaddr.IPv6): Address {
  const { parts } = address;
  const isMapped = parts.slice(0, 5).every((part) => part === 0) && parts[5] === 0xffff;
  return isMapped ? v4(parts[6], parts[7]) : address;
}

function v4(high = 0, low = 0): ipaddr.IPv4 {
  return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff]);
}

const network = (text: string): Network => {
  const read = readNetwork(text);
  if (read === undefined) throw new TypeError(`${text} is not a network`);
  return read;
};

/**
 * Cloud metadata services, which answer any process of a machine, mostly with credentials. Some have public addresses,
 * or are in networks that an operator may want to allow.
 */
const metadata = [
  "169.254.169.254", // AWS, Google, Azure, DigitalOcean, Oracle, OpenStack
  "169.254.169.253", // AWS: DNS
  "169.254.169.123", // AWS: time
  "169.254.170.2", // AWS: credentials of containers
  "169.254.170.23", // AWS: credentials of pods
  "fd00:ec2::254", // AWS
  "fd00:ec2::253",
  "fd00:ec2::23",
  "fd20:ce::254", // Google
  "168.63.129.16", // Azure: the host, at an address that looks public
  "100.100.100.200", // Alibaba
  "192.0.0.192", // Oracle
  "fd00:c1::a9fe:a9fe",
  "169.254.0.23", // Tencent
  "169.254.42.42", // Scaleway
  "fd00:42::42",
].map(network);

/** The only IPv6 addresses that are assigned to networks of the internet (IANA, RFC 4291); there are exceptions among them. */
const globalUnicast = network("2000::/3");

/** Ranges that `ipaddr.js` does not know, or does not name. */
const others: readonly (readonly [string, Network])[] = [
  ["IPv4-compatible", network("::/96")],
  ["site-local", network("fec0::/10")],
  ["NAT64", network("64:ff9b::/96")],
  ["NAT64", network("64:ff9b:1::/48")],
  ["documentation", network("192.0.2.0/24")],
  ["documentation", network("198.51.100.0/24")],
  ["documentation", network("203.0.113.0/24")],
  ["documentation", network("2001:db8::/32")],
  ["documentation", network("3fff::/20")],
  ["benchmarking", network("198.18.0.0/15")],
  ["benchmarking", network("2001:2::/48")],
];

/** Readable names for the ranges of `ipaddr.js`. */
const words: Readonly<Record<string, string>> = {
  unicast: PUBLIC,
  linkLocal: "link-local",
  carrierGradeNat: "shared",
  uniqueLocal: "private",
  ipv4Mapped: "IPv4-mapped",
  rfc6145: "IPv4-translated",
  rfc6052: "NAT64",
  teredo: "Teredo",
};

export function addressKind(address: Address): AddressKind {
  const embedded = address.kind() === "ipv6" ? embeddedIn((address as ipaddr.IPv6).parts) : [];
  const isMetadata = [address, ...embedded].some((each) => metadata.some((service) => isIn(each, service)));
  return { name: isMetadata ? "metadata service" : rangeName(address), embedded, isMetadata };
}

function rangeName(address: Address): string {
  const range: string = address.range();
  // These two are also in the IPv4-compatible range.
  if (range === "unspecified" || range === "loopback") return range;
  const other = others.find(([, each]) => isIn(address, each))?.[0];
  if (other !== undefined) return other;
  if (range !== "unicast") return words[range] ?? range;
  return address.kind() === "ipv4" || isIn(address, globalUnicast) ? PUBLIC : "reserved";
}

/** The IPv4 addresses embedded in an IPv6 address, by every encoding that a network may translate. */
function embeddedIn(parts: readonly number[]): ipaddr.IPv4[] {
  const [a, b, c, d, e, f, g, h] = parts;
  const last = v4(g, h);
  if (a === 0x2002) return [v4(b, c), ...isatap(parts)];
  if (a === 0x2001 && b === 0) return [v4(c, d), v4((g ?? 0) ^ 0xffff, (h ?? 0) ^ 0xffff)];
  // NAT64; local prefixes are assumed to have 96 bits.
  if (a === 0x64 && b === 0xff9b) return [last];
  const isZero = (a ?? 0) + (b ?? 0) + (c ?? 0) + (d ?? 0) === 0;
  // IPv4-compatible and IPv4-translated, but not :: and ::1.
  if (isZero && f === 0 && (e === 0xffff || (e === 0 && (g !== 0 || (h ?? 0) > 1)))) return [last];
  return isatap(parts);
}

/** ISATAP (RFC 5214) embeds the address in the last half of any network. */
function isatap([, , , , e, f, g, h]: readonly number[]): ipaddr.IPv4[] {
  return (e === 0 || e === 0x200) && f === 0x5efe ? [v4(g, h)] : [];
}
