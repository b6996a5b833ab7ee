import type { Call } from "../../core/call.js";
import { limitReached } from "../../core/error.js";
import type { Limits } from "../../core/limits.js";
import { sourceOf } from "../../core/net.js";
import { RateLimiter } from "../../core/rate-limiter.js";
import { CallerShares, callerKeyOf } from "../caller-shares.js";
import type { Interceptor } from "../invoke.js";

/**
 * What one caller may have open, and ask in a second; it runs when the caller is known. `admission` counts down what it counts up here
 * (`Call.share`), whatever becomes of the call.
 */
export function callerLimits(limits: Limits): Interceptor {
  const { maxCallsPerCaller, maxStreamsPerCaller } = limits;
  const shares = new CallerShares();
  return (next) => (invocation) => {
    const { call, method } = invocation;
    const share = shares.of(call);
    if (share === undefined) return next(invocation);
    if (method.methodKind === "unary") {
      if (share.calls >= maxCallsPerCaller) {
        throw limitReached("maxCallsPerCaller", `This caller has ${maxCallsPerCaller} calls in progress.`);
      }
      share.calls++;
    } else {
      if (share.streams >= maxStreamsPerCaller) {
        throw limitReached("maxStreamsPerCaller", `This caller has ${maxStreamsPerCaller} streams open.`);
      }
      share.streams++;
    }
    call.share = share;
    return next(invocation);
  };
}

/** Rates of requests of addresses and callers. */
export const requestRates = {
  /** Part of a rate that may come at once after a pause, as time in milliseconds; at least one call. */
  burstMs: 1_000,
  /** Addresses, and callers, whose rates are remembered; those that were silent the longest are evicted first. */
  maxKeys: 100_000,
} as const;

/** How often one address may call, before anything is asked about the caller; nothing where there is no such limit. */
export function addressRate(limits: Limits): readonly Interceptor[] {
  const keyOf = ({ peer }: Call): string | undefined => (peer.address === "" ? undefined : sourceOf(peer.address));
  return rate(limits, "maxRequestsPerSecondPerAddress", keyOf);
}

/** How often one caller may call; nothing where there is no such limit. */
export function callerRate(limits: Limits): readonly Interceptor[] {
  return rate(limits, "maxRequestsPerSecondPerCaller", callerKeyOf);
}

function rate(
  limits: Limits,
  limit: "maxRequestsPerSecondPerAddress" | "maxRequestsPerSecondPerCaller",
  keyOf: (call: Call) => string | undefined,
): readonly Interceptor[] {
  const perSecond = limits[limit];
  if (perSecond === 0) return [];
  const burst = Math.max(1, Math.round((perSecond * requestRates.burstMs) / 1_000));
  const requests = new RateLimiter({ intervalMs: 1_000 / perSecond, burst, maxKeys: requestRates.maxKeys });
  const whose = limit === "maxRequestsPerSecondPerAddress" ? "address" : "caller";
  return [
    (next) => (invocation) => {
      const key = keyOf(invocation.call);
      const waitMs = key === undefined ? 0 : requests.take(key);
      if (waitMs === 0) return next(invocation);
      const message = `This ${whose} has sent more than ${perSecond} requests a second.`;
      throw limitReached(limit, message, Math.ceil(waitMs));
    },
  ];
}
