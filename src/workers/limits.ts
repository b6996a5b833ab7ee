import type { Limits } from "../core/limits.js";

/**
 * Limits of a whole server that are divided among its workers. Workers get connections in turn, so they use their
 * shares evenly.
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

export function limitsOfWorker(limits: Limits, count: number): Limits {
  const shares = sharedLimits.map((name) => [name, Math.max(1, Math.ceil(limits[name] / count))] as const);
  const share = { ...limits, ...Object.fromEntries(shares) };
  // A worker has to be able to receive one request.
  return { ...share, maxArrivingBytes: Math.max(share.maxArrivingBytes, limits.maxRequestBytes) };
}
