import { type Address, isIn, type Network, readNetwork } from "./address-ranges.js";

/** One element of a list of hosts: a name, a suffix of names, or a network. */
type HostRule =
  | { readonly name: string }
  | { readonly below: string }
  | { readonly network: Network; readonly isSingle: boolean };

/**
 * Suffixes of names that are never public: they lead to this machine or to a private network (RFC 6761, 6762, 8375).
 */
const innerSuffixes = [
  "localhost",
  "localdomain",
  "localdomain6",
  "local",
  "internal",
  "intranet",
  "private",
  "corp",
  "home",
  "lan",
  "home.arpa",
  "cluster.local",
];

/** Parses an element of a list; undefined if it is neither a name nor a network. */
function readRule(text: string): HostRule | undefined {
  const network = readNetwork(text);
  if (network !== undefined) return { network, isSingle: network[1] === (network[0].kind() === "ipv4" ? 32 : 128) };
  const isBelow = text.startsWith("*.");
  const name = plainName(isBelow ? text.slice(2) : text);
  if (name === undefined || /^\d+$/.test(name.slice(name.lastIndexOf(".") + 1))) return undefined;
  return isBelow ? { below: `.${name}` } : { name };
}

/** A name without the root's dot; undefined if it is not a host name (RFC 1035, 2.3.4; underscores are in use). */
export function plainName(hostname: string): string | undefined {
  const name = hostname.toLowerCase().replace(/\.$/, "");
  const labels = name.split(".");
  const isName = name.length <= 253 && labels.every((label) => /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label));
  return isName ? name : undefined;
}

/** True if the form of a name shows that it is private. */
export function isInnerName(name: string): boolean {
  return !name.includes(".") || innerSuffixes.some((suffix) => name === suffix || name.endsWith(`.${suffix}`));
}

export class HostRules {
  readonly #rules: readonly HostRule[];

  /** @throws TypeError for an element that is neither a name nor a network. */
  constructor(list: readonly string[] = []) {
    this.#rules = list.map((text) => {
      const rule = readRule(text);
      if (rule === undefined) throw new TypeError(`${JSON.stringify(text)} is not a name, an address or a network`);
      return rule;
    });
  }

  hasName(name: string): boolean {
    return this.#rules.some(
      (rule) => ("name" in rule && rule.name === name) || ("below" in rule && name.endsWith(rule.below)),
    );
  }

  hasAddress(address: Address): boolean {
    return this.#rules.some((rule) => "network" in rule && isIn(address, rule.network));
  }

  /** True if the list has this exact address, not only a network around it. */
  namesAddress(address: Address): boolean {
    return this.#rules.some((rule) => "network" in rule && rule.isSingle && isIn(address, rule.network));
  }
}
