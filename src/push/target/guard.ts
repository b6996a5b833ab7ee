import type { LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { networkInterfaces } from "node:os";
import { A2AError, invalid } from "../../core/error.js";
import type { TargetOptions } from "../options.js";
import { type Address, addressKind, PUBLIC, readAddress } from "./address-ranges.js";
import { HostRules, isInnerName } from "./host-rules.js";
import { LookupError, Lookups } from "./lookup.js";
import { readTarget, type Target, type UrlRules } from "./target-url.js";

/** A host, or one of its addresses, is forbidden. The error does not reveal the address. */
export class ForbiddenTarget extends Error {
  override name = "ForbiddenTarget";
  readonly code = "ERR_FORBIDDEN_TARGET";
}

/** One text for unresolvable and internal names: a difference would tell clients which internal names exist. */
const NOT_REACHABLE = "has a host that does not resolve, or resolves to an address that is not public";

/** Decides on permitted targets, by the URL and by every address that a socket would use. */
export class TargetGuard {
  /**
   * Resolves a name for a socket and checks all its addresses; one forbidden address forbids the name, since the next
   * connection might use it.
   */
  readonly lookup: LookupFunction;
  readonly #urls: UrlRules;
  readonly #allow: HostRules;
  readonly #deny: HostRules;
  readonly #lookups: Lookups;

  /** @throws TypeError for an element of a list that is neither a name nor a network. */
  constructor({ allowHttp = false, ports, allow, deny, lookup }: TargetOptions) {
    this.#urls = { allowHttp, ports: new Set(ports ?? (allowHttp ? [443, 80] : [443])) };
    this.#allow = new HostRules(allow);
    this.#deny = new HostRules(deny);
    this.#lookups = new Lookups(lookup);
    this.lookup = (host, options, callback) => {
      this.resolve(host).then(
        (addresses) => {
          const family = options.family === "IPv4" ? 4 : options.family === "IPv6" ? 6 : options.family;
          const wanted = addresses.filter((each) => family === undefined || family === 0 || each.family === family);
          const [first] = wanted;
          if (first === undefined) callback(new LookupError("ENOTFOUND", "the name does not resolve"), "");
          else if (options.all === true) callback(null, wanted);
          else callback(null, first.address, first.family);
        },
        (error: NodeJS.ErrnoException) => callback(error, ""),
      );
    };
  }

  /**
   * Checks a URL without resolving its host.
   *
   * @throws A2AError INVALID_PARAMS, which names the field `url`.
   */
  parse(url: string): Target {
    const target = readTarget(url, this.#urls);
    if (typeof target === "string") throw urlViolation(target);
    try {
      this.admit(target.url.hostname);
    } catch (error) {
      throw urlViolation("has a host that must not be reached", error);
    }
    return target;
  }

  /**
   * Checks the URL of a new configuration, with one look-up of at most `pushLookup.timeoutMs`.
   *
   * @throws A2AError INVALID_PARAMS, which names the field `url`; UNAVAILABLE if the name cannot be resolved at
   * present.
   */
  async check(url: string): Promise<Target> {
    const target = this.parse(url);
    const { hostname } = target.url;
    if (addressIn(hostname) !== undefined) return target;
    try {
      await this.resolve(hostname);
      return target;
    } catch (error) {
      if (error instanceof LookupError && error.code === "EAI_AGAIN") {
        throw new A2AError("UNAVAILABLE", "The host of the URL cannot be looked up at the moment.", { cause: error });
      }
      throw urlViolation(NOT_REACHABLE, error);
    }
  }

  /**
   * Resolves a name to its addresses, all of them permitted.
   *
   * @throws ForbiddenTarget, LookupError
   */
  async resolve(name: string): Promise<readonly LookupAddress[]> {
    this.admit(name);
    const addresses = await this.#lookups.find(name);
    for (const { address } of addresses) this.judge(address, name);
    return addresses;
  }

  /**
   * Checks the host of a URL without resolving it: a name, or a literal address.
   *
   * @throws ForbiddenTarget
   */
  admit(hostname: string): void {
    const address = addressIn(hostname);
    if (address !== undefined) {
      this.judge(address, undefined);
      return;
    }
    if (this.#deny.hasName(hostname)) throw new ForbiddenTarget("the host is denied");
    if (isInnerName(hostname) && !this.#allow.hasName(hostname)) {
      throw new ForbiddenTarget("the host has a name of inner networks");
    }
  }

  /**
   * Checks an address, of a named host or of a literal one.
   *
   * @throws ForbiddenTarget
   */
  judge(text: string, name: string | undefined): void {
    const address = readAddress(text);
    if (address === undefined) throw new ForbiddenTarget("the host has an invalid address");
    const { name: kind, embedded, isMetadata } = addressKind(address);
    if ([address, ...embedded].some((each) => this.#deny.hasAddress(each))) {
      throw new ForbiddenTarget("the host has a denied address");
    }
    if (this.#allow.namesAddress(address)) return;
    if (!isMetadata) {
      if (name !== undefined && this.#allow.hasName(name)) return;
      // An allowed translation network permits only permitted embedded addresses.
      const isOpen = (each: Address): boolean => this.#allow.hasAddress(each) || isPublic(each);
      if (isOpen(address) && embedded.every(isOpen)) return;
    }
    throw new ForbiddenTarget(`the host has an address that must not be reached (${kind})`);
  }
}

function urlViolation(fault: string, cause?: unknown): A2AError {
  const { message, violations } = invalid([{ field: "url", description: `It ${fault}.` }]);
  return new A2AError("INVALID_PARAMS", message, { violations, cause });
}

/** The literal address in the host of a URL, without the brackets of IPv6; undefined for a name. */
function addressIn(hostname: string): string | undefined {
  const text = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return isIP(text) === 0 ? undefined : text;
}

function isPublic(address: Address): boolean {
  return addressKind(address).name === PUBLIC && !ownAddresses().has(address.toString());
}

/** Time for which this machine's addresses are cached, in milliseconds. */
const OWN_MS = 5_000;

let own: { readonly addresses: ReadonlySet<string>; readonly at: number } | undefined;

/** Addresses of this machine, which may look public: services that listen on them may trust local connections. */
function ownAddresses(): ReadonlySet<string> {
  const now = performance.now();
  if (own === undefined || now - own.at > OWN_MS) {
    const found = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    const addresses = found.map(({ address }) => readAddress(address)?.toString() ?? "");
    own = { addresses: new Set(addresses), at: now };
  }
  return own.addresses;
}
