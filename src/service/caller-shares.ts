import type { Call } from "../core/call.js";
import { sourceOf } from "../core/net.js";

/** What one caller has open. */
class CallerShare {
  calls = 0;
  streams = 0;
}

/** So many shares of callers with nothing open are kept, before they are looked through. */
const MAX_IDLE = 4_096;

/**
 * The shares of all callers: of owners where they are authenticated, otherwise of addresses. A share stays when its caller has nothing
 * open: to take it out of the table for each call, and to put it in again, would be most of what it costs (core/maps.ts).
 */
export class CallerShares {
  #owners = new Map<string, CallerShare>();
  #addresses = new Map<string, CallerShare>();
  /** How many there may be before those with nothing open are dropped. */
  #most = MAX_IDLE;

  /** How many shares are kept. */
  get size(): number {
    return this.#owners.size + this.#addresses.size;
  }

  /** The share of a call's caller; undefined where neither owner nor address are known. */
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

/** Those with something open, and the one that is new, in a table of their own. */
function withOpen(shares: ReadonlyMap<string, CallerShare>, added: CallerShare): Map<string, CallerShare> {
  return new Map([...shares].filter(([, share]) => share === added || share.calls > 0 || share.streams > 0));
}

/**
 * Whom a call counts for: the owner where the caller is authenticated, otherwise the address (of IPv6 the network of 64 bits).
 * Undefined where neither is known, so that callers cannot be told apart.
 */
export function callerKeyOf({ caller, peer }: Call): string | undefined {
  if (caller.authenticated) return `owner ${caller.owner}`;
  return peer.address === "" ? undefined : `address ${sourceOf(peer.address)}`;
}
