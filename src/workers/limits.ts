import type { Limits } from "../core/limits.js";

/**
 * Limits of a server as a whole, of which each worker gets its share. Connections are handed out in turn, so shares are
 * used alike.
 */
export const sharedLimits: readonly (keyof Limits)[] = [
  "maxArrivingBytes",
  "maxOutgoingBytes",
  "maxConnections",
  "maxStreams",
  "maxCalls",
  "maxExecutions",
  "maxQueuedExecutions",
  "maxDeliveries",
  "maxDeliveriesPerHost",
  "maxDeliveriesPerHostPerSecond",
];

/** Returns the limits of one of `count` workers. */
export function limitsOfWorker(limits: Limits, count: number): Limits {
  const shares = sharedLimits.map((name) => [name, Math.max(1, Math.ceil(limits[name] / count))] as const);
  const share = { ...limits, ...Object.fromEntries(shares) };
  // A worker has to be able to receive one request.
  return { ...share, maxArrivingBytes: Math.max(share.maxArrivingBytes, limits.maxRequestBytes) };
}
