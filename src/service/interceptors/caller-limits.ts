import type { Call } from "../../core/call.js";
import { limitReached } from "../../core/error.js";
import type { Limits } from "../../core/limits.js";
import { sourceOf } from "../../core/net.js";
import { SharedCount } from "../../signals/shared-count.js";
import { SharedRate } from "../../signals/shared-rate.js";
import type { SignalMember } from "../../signals/signals.js";
import { type CallerShare, CallerShares, callerKeyOf } from "../caller-shares.js";
import type { ServiceInterceptor } from "../invoke.js";

/**
 * Limits the open calls and streams of each caller, over all processes that share a store. It runs once the caller is
 * known. `admission` decrements the counts (`Call.share`) when the call ends in any way.
 */
export function callerLimits(limits: Limits, signals?: SignalMember): ServiceInterceptor {
  const { maxCallsPerCaller, maxStreamsPerCaller } = limits;
  const shares = new CallerShares();
  const calls = new SharedCount<CallerShare>({
    ...{ signals, topic: "calls", max: maxCallsPerCaller },
    countOf: (share) => share.calls,
  });
  const streams = new SharedCount<CallerShare>({
    ...{ signals, topic: "streams", max: maxStreamsPerCaller },
    countOf: (share) => share.streams,
  });
  return (next) => (invocation) => {
    const { call, method } = invocation;
    const share = shares.of(call);
    if (share === undefined) return next(invocation);
    if (method.methodKind === "unary") {
      if (share.calls + elsewhere(calls, call) >= maxCallsPerCaller) {
        throw limitReached("maxCallsPerCaller", `This caller has ${maxCallsPerCaller} calls in progress.`);
      }
      if (++share.calls > calls.publishAbove) publish(calls, call, share);
    } else {
      if (share.streams + elsewhere(streams, call) >= maxStreamsPerCaller) {
        throw limitReached("maxStreamsPerCaller", `This caller has ${maxStreamsPerCaller} streams open.`);
      }
      if (++share.streams > streams.publishAbove) publish(streams, call, share);
    }
    call.share = share;
    return next(invocation);
  };
}

/** Returns the number of calls or streams that the caller has open in other processes. */
function elsewhere(counts: SharedCount<CallerShare>, call: Call): number {
  return counts.isAlone ? 0 : counts.elsewhere(callerKeyOf(call) ?? "");
}

function publish(counts: SharedCount<CallerShare>, call: Call, share: CallerShare): void {
  counts.publish(callerKeyOf(call) ?? "", share);
}

/** Constants of the request rates of addresses and callers. */
export const requestRates = {
  /** Burst allowed after a pause, as a duration at the configured rate, in milliseconds; at least one call. */
  burstMs: 1_000,
  /**
   * Maximum number of addresses, and of callers, whose rates are remembered. The least recently active are evicted
   * first.
   */
  maxKeys: 100_000,
} as const;

/**
 * Limits the rate of calls from one address, before the caller is identified. Returns no interceptor without such a
 * limit.
 */
export function addressRate(limits: Limits, signals?: SignalMember): readonly ServiceInterceptor[] {
  const keyOf = ({ peer }: Call): string | undefined => (peer.address === "" ? undefined : sourceOf(peer.address));
  return rate(limits, "maxRequestsPerSecondPerAddress", keyOf, signals);
}

/** Limits the rate of calls of one caller. Returns no interceptor without such a limit. */
export function callerRate(limits: Limits, signals?: SignalMember): readonly ServiceInterceptor[] {
  return rate(limits, "maxRequestsPerSecondPerCaller", callerKeyOf, signals);
}

function rate(
  limits: Limits,
  limit: "maxRequestsPerSecondPerAddress" | "maxRequestsPerSecondPerCaller",
  keyOf: (call: Call) => string | undefined,
  signals: SignalMember | undefined,
): readonly ServiceInterceptor[] {
  const perSecond = limits[limit];
  if (perSecond === 0) return [];
  const burst = Math.max(1, Math.round((perSecond * requestRates.burstMs) / 1_000));
  const whose = limit === "maxRequestsPerSecondPerAddress" ? "address" : "caller";
  const { maxKeys } = requestRates;
  const requests = new SharedRate({ intervalMs: 1_000 / perSecond, burst, maxKeys }, signals, `requests.${whose}`);
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
