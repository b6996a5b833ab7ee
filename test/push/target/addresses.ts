import { BlockList } from "node:net";
import fc from "fast-check";

/**
 * Forbidden addresses, from the IANA registries of special addresses (RFC 6890 and its successors). The list is
 * independent of the guard's, and another algorithm judges it.
 */
const inner4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.31.196.0", 24],
  ["192.52.193.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["192.175.48.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const;

/** Forbidden IPv6 addresses. Only 2000::/3 belongs to the internet. */
const inner6 = [
  ["::", 3],
  ["4000::", 2],
  ["8000::", 1],
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["2620:4f:8000::", 48],
  ["3fff::", 20],
] as const;

// One list for each, since IPv4 addresses are in networks of IPv6 to it.
const [four, six] = [new BlockList(), new BlockList()];
for (const [address, bits] of inner4) four.addSubnet(address, bits, "ipv4");
for (const [address, bits] of inner6) six.addSubnet(address, bits, "ipv6");

const bytes4 = fc.uint8Array({ minLength: 4, maxLength: 4 });
const words6 = fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 });

export const dotted = (bytes: ArrayLike<number>): string => Array.from(bytes).join(".");

const groups = (bytes: ArrayLike<number>): [number, number] => [
  ((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0),
  ((bytes[2] ?? 0) << 8) | (bytes[3] ?? 0),
];

const isInner = (bytes: ArrayLike<number>): boolean => four.check(dotted(bytes), "ipv4");

/** Puts the bits of a network before those of an address. */
function within(bytes: Uint8Array, first: readonly number[], bits: number): Uint8Array {
  return bytes.map((byte, i) => {
    const mask = (0xff00 >> Math.min(8, Math.max(0, bits - i * 8))) & 0xff;
    return ((first[i] ?? 0) & mask) | (byte & ~mask & 0xff);
  });
}

/** Any IPv4 address that must not be reached, each network as likely as the others. */
export const innerV4: fc.Arbitrary<Uint8Array> = fc
  .tuple(fc.constantFrom(...inner4), bytes4)
  .map(([[first, bits], bytes]) => within(bytes, first.split(".").map(Number), bits));

/** Any IPv4 address of the internet. */
export const publicV4: fc.Arbitrary<Uint8Array> = bytes4.filter((bytes) => !isInner(bytes));

/** An IPv4 address in any spelling that a URL may have. */
export const writtenV4 = (bytes: Uint8Array): fc.Arbitrary<string> => {
  const [a = 0, b = 0, c = 0, d = 0] = bytes;
  const part = (value: number): fc.Arbitrary<string> =>
    fc
      .tuple(fc.constantFrom(10, 8, 16), fc.nat(6))
      .map(([base, zeros]) =>
        base === 10 ? `${value}` : `${base === 8 ? "0" : "0x"}${"0".repeat(zeros)}${value.toString(base)}`,
      );
  const parts = fc.constantFrom(
    [a, b, c, d],
    [a, b, c * 256 + d],
    [a, (b * 256 + c) * 256 + d],
    [((a * 256 + b) * 256 + c) * 256 + d],
  );
  return fc
    .tuple(parts, fc.constantFrom(".", "。", "．", "｡", "%2e"), fc.constantFrom("", "."))
    .chain(([values, dot, end]) => fc.tuple(...values.map(part)).map((texts) => texts.join(dot) + end));
};

/** An IPv6 address in which there is one of IPv4. */
export const embedding = (bytes: Uint8Array): fc.Arbitrary<number[]> => {
  const [high, low] = groups(bytes);
  return fc
    .tuple(
      words6,
      fc.constantFrom("mapped", "compatible", "translated", "nat64", "local", "6to4", "server", "client", "isatap"),
    )
    .map(([[a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0], how]) => {
      switch (how) {
        case "mapped":
          return [0, 0, 0, 0, 0, 0xffff, high, low];
        case "compatible":
          return [0, 0, 0, 0, 0, 0, high, low];
        case "translated":
          return [0, 0, 0, 0, 0xffff, 0, high, low];
        case "nat64":
          return [0x64, 0xff9b, 0, 0, 0, 0, high, low];
        case "local":
          return [0x64, 0xff9b, 1, d, e, f, high, low];
        case "6to4":
          return [0x2002, high, low, d, e, f, g, h];
        case "server":
          return [0x2001, 0, high, low, e, f, g, h];
        case "client":
          return [0x2001, 0, c, d, e, f, high ^ 0xffff, low ^ 0xffff];
        default:
          return [0x2000 | (a & 0x1fff), b, c, d, e & 0x200, 0x5efe, high, low];
      }
    });
};

/** Any IPv6 address that must not be reached, each network as likely as the others. */
export const innerV6: fc.Arbitrary<number[]> = fc
  .tuple(fc.constantFrom(...inner6), words6)
  .map(([[first, bits], words]) => {
    const heads = first
      .slice(0, -2)
      .split(":")
      .map((word) => Number.parseInt(word || "0", 16));
    return words.map((word, i) => {
      const mask = (0xffff0000 >> Math.min(16, Math.max(0, bits - i * 16))) & 0xffff;
      return ((heads[i] ?? 0) & mask) | (word & ~mask & 0xffff);
    });
  });

/** True for an address that the guard must refuse. */
const isInnerV6 = (words: readonly number[]): boolean => six.check(plainV6(words), "ipv6");

/** Any IPv6 address of the internet, and none in which others would see one of IPv4. */
export const publicV6: fc.Arbitrary<number[]> = words6
  .map(([a = 0, ...rest]) => [0x2000 | (a & 0x1fff), ...rest])
  .filter((words) => !isInnerV6(words) && words[5] !== 0x5efe);

export const plainV6 = (words: readonly number[]): string => words.map((word) => word.toString(16)).join(":");

/** An IPv6 address in any spelling: with zeros or without, in capitals, shortened anywhere, its end as IPv4. */
export const writtenV6 = (words: readonly number[]): fc.Arbitrary<string> =>
  fc
    .tuple(fc.array(fc.nat(3), { minLength: 8, maxLength: 8 }), fc.boolean(), fc.boolean(), fc.nat(7), fc.nat(8))
    .map(([zeros, capitals, ipv4, from, count]) => {
      const texts = words.map((word, i) => {
        const text = word.toString(16).padStart((zeros[i] ?? 0) + 1, "0");
        return capitals ? text.toUpperCase() : text;
      });
      const [g = 0, h = 0] = words.slice(6);
      const tail = ipv4 ? [dotted([g >> 8, g & 0xff, h >> 8, h & 0xff])] : texts.slice(6);
      const all = [...texts.slice(0, 6), ...tail];
      const last = Math.min(from + count, 6);
      const canShorten = last > from && words.slice(from, last).every((word) => word === 0);
      if (!canShorten) return all.join(":");
      return `${all.slice(0, from).join(":")}::${all.slice(last).join(":")}`;
    });
