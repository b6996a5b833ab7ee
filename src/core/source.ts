/**
 * What counts as one client: an IPv4 address, also where it is written as IPv6, or an IPv6 network of 64 bits, which is
 * the smallest that a site is given (RFC 6177).
 */
export function sourceOf(address: string): string {
  if (!address.includes(":")) return address;
  if (address.startsWith("::ffff:") && address.includes(".")) return address.slice(7);
  const [head = "", tail] = address.split("%", 1)[0]?.split("::") ?? [];
  const groups = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  const all = tail === undefined ? groups : [...groups, ...Array(8 - groups.length - last.length).fill("0"), ...last];
  return `${all.slice(0, 4).join(":")}::/64`;
}
