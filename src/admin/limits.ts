import { type Limits, withinHeap } from "../core/limits.js";

/** Limits of the operator's service, whose calls do not count against those of the A2A protocol. */
export const adminBounds = {
  /** Unary calls in progress. */
  calls: 64,
  /** Streams open at once. */
  streams: 64,
  /** Connections open at once. */
  connections: 256,
  /** Size of a request in bytes: room for the export of a task. At most a sixteenth of the heap. */
  requestBytes: 64 * 1024 * 1024,
  /** Length of a text in a request, except an export and a message to a task's client, in characters. */
  textLength: 2_048,
  /** Items of a list in a request. */
  items: 1_000,
} as const;

/** Returns the limits of a server with those of the operator's service in place of the public ones. */
export function adminLimitsOf(limits: Limits): Limits {
  const { calls, streams, connections, requestBytes } = adminBounds;
  const maxRequestBytes = Math.max(limits.maxRequestBytes, withinHeap(requestBytes, 16));
  return {
    ...limits,
    maxCalls: calls,
    maxStreams: streams,
    maxConnections: connections,
    maxConnectionsPerAddress: connections,
    maxRequestBytes,
    maxArrivingBytes: 2 * maxRequestBytes,
  };
}
