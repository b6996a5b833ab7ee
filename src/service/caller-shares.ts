import type { Call } from "../core/call.js";
import { sourceOf } from "../core/net.js";

/** Number of open calls and streams of one caller. */
class CallerShare {
  calls = 0;
  streams = 0;
}

/** Number of shares beyond which idle ones are evicted. */
const MAX_IDLE = 4_096;

/**
 * The shares of all callers, by owner if authenticated, otherwise by address. A share is kept when its caller has
 * nothing open, because removing and adding it for each call would be most of its cost (core/maps.ts).
 */
export class CallerShares {
  #owners = new Map<string, CallerShare>();
  #addresses = new Map<string, CallerShare>();
  /** Number of shares at which idle ones are evicted next. */
  #most = MAX_IDLE;

  /** Number of shares in memory. */
  get size(): number {
    return this.#owners.size + this.#addresses.size;
  }

  /** Returns the share of a call's caller; undefined if neither owner nor address is known. */
  of({ caller, peer }: Call): CallerShare | undefined {
    if (caller.authenticated) return this.#owners.get(caller.owner) ?? this.#add(this.#owners, caller.owner);
    if (peer.address === "") return undefined;
    const source = sourceOf(peer.address);
    return this.#addresses.get(source) ?? this.#add(this.#addresses, source);
  }

  #add(shares: Map<string, CallerShare>, key: string): CallerShare {
    const share = new CallerShare();
    shares.set(key, share);
    if (this.size > this.#most) {
      this.#owners = withOpen(this.#owners, share);
      this.#addresses = withOpen(this.#addresses, share);
      this.#most = this.size + MAX_IDLE;
    }
    return share;
  }
}

/** Returns a new table with the shares in use and the added one. */
function withOpen(shares: ReadonlyMap<string, CallerShare>, added: CallerShare): Map<string, CallerShare> {
  return new Map([...shares].filter(([, share]) => share === added || share.calls > 0 || share.streams > 0));
}

/**
 * Returns the key that a call is counted under: the owner of an authenticated caller, otherwise the address (of IPv6
 * the network of 64 bits). Undefined if neither is known, so that callers cannot be distinguished.
 */
export function callerKeyOf({ caller, peer }: Call): string | undefined {
  if (caller.authenticated) return `owner ${caller.owner}`;
  return peer.address === "" ? undefined : `address ${sourceOf(peer.address)}`;
}
