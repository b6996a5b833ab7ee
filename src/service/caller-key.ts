import type { Call } from "../core/call.js";
import { sourceOf } from "../core/net.js";

/**
 * Whom a call counts for: the owner where the caller is authenticated, otherwise the address (of IPv6 the network of 64 bits).
 * Undefined where neither is known, so that callers cannot be told apart.
 */
export function callerKeyOf({ caller, peer }: Call): string | undefined {
  if (caller.authenticated) return `owner ${caller.owner}`;
  return peer.address === "" ? undefined : `address ${sourceOf(peer.address)}`;
}
