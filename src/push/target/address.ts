import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** An address as it is judged: an IPv4 address that IPv6 only maps is the IPv4 address. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A network, as its first address and the bits that count. */
export type Network = readonly [Address, number];

/** What an address is. */
export interface AddressKind {
  /** For people: `public`, or what else it is. */
  readonly name: string;
  /** IPv4 addresses that a network may translate it to. */
  readonly embedded: readonly ipaddr.IPv4[];
  /** Whether it is a service that tells a machine's secrets to whoever asks from it. */
  readonly isMetadata: boolean;
}

/** The one kind of address that may be reached without being allowed. */
export const PUBLIC = "public";

/** Reads an address as sockets use it: none in other spellings, and none that needs a zone. */
export function readAddress(text: string): Address | undefined {
  const version = isIP(text);
  if (version === 0 || text.includes("%")) return undefined;
  try {
    return version === 4 ? ipaddr.IPv4.parse(text) : unmapped(ipaddr.IPv6.parse(text));
  } catch {
    return undefined;
  }
}

/** Reads an address, or a network in the notation of CIDR. */
export function readNetwork(text: string): Network | undefined {
  const [first = "", bits, ...more] = text.split("/");
  const version = isIP(first);
  const address = readAddress(first);
  if (address === undefined || more.length > 0) return undefined;
  const most = version === 4 ? 32 : 128;
  if (bits === undefined) return [address, address.kind() === "ipv4" ? 32 : 128];
  if (!/^\d{1,3}$/.test(bits) || Number(bits) > most) return undefined;
  if (version === 4 || address.kind() === "ipv6") return [address, Number(bits)];
  // A network of mapped addresses is one of IPv4, unless it is wider than all of these.
  return Number(bits) >= 96 ? [address, Number(bits) - 96] : undefined;
}

/** Whether an address is in a network. */
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
  if (read === undefined) throw new TypeError(`${text} is no network`);
  return read;
};

/**
 * Services of clouds that answer any process of a machine, mostly with credentials. Some are at addresses that are public elsewhere,
 * or in networks that somebody may want to allow.
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

/** What `ipaddr.js` does not know, or has no name for. */
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

/** Words for what `ipaddr.js` names for programs. */
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

/** What an address is, whoever has it. */
export function kindOf(address: Address): AddressKind {
  const embedded = address.kind() === "ipv6" ? embeddedIn((address as ipaddr.IPv6).parts) : [];
  const isMetadata = [address, ...embedded].some((each) => metadata.some((service) => isIn(each, service)));
  return { name: isMetadata ? "metadata service" : nameOf(address), embedded, isMetadata };
}

function nameOf(address: Address): string {
  const range: string = address.range();
  // These two are also in the network of IPv4-compatible addresses.
  if (range === "unspecified" || range === "loopback") return range;
  const other = others.find(([, each]) => isIn(address, each))?.[0];
  if (other !== undefined) return other;
  if (range !== "unicast") return words[range] ?? range;
  return address.kind() === "ipv4" || isIn(address, globalUnicast) ? PUBLIC : "reserved";
}

/** The IPv4 addresses in one of IPv6, by every way of writing them there that some network may undo. */
function embeddedIn(parts: readonly number[]): ipaddr.IPv4[] {
  const [a, b, c, d, e, f, g, h] = parts;
  const last = v4(g, h);
  if (a === 0x2002) return [v4(b, c), ...isatap(parts)];
  if (a === 0x2001 && b === 0) return [v4(c, d), v4((g ?? 0) ^ 0xffff, (h ?? 0) ^ 0xffff)];
  // NAT64, whose local prefixes have 96 bits here.
  if (a === 0x64 && b === 0xff9b) return [last];
  const isZero = (a ?? 0) + (b ?? 0) + (c ?? 0) + (d ?? 0) === 0;
  // IPv4-compatible and IPv4-translated, but not :: and ::1.
  if (isZero && f === 0 && (e === 0xffff || (e === 0 && (g !== 0 || (h ?? 0) > 1)))) return [last];
  return isatap(parts);
}

/** ISATAP (RFC 5214) writes the address into any network's last half. */
function isatap([, , , , e, f, g, h]: readonly number[]): ipaddr.IPv4[] {
  return (e === 0 || e === 0x200) && f === 0x5efe ? [v4(g, h)] : [];
}
