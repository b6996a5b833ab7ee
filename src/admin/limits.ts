import { type Limits, withinHeap } from "../core/limits.js";

/** Limits of the operator's service, whose calls do not count against those of the A2A protocol. */
export const adminBounds: Readonly<
  Record<"calls" | "streams" | "connections" | "requestBytes" | "textLength" | "items", number>
> = {
  calls: 64,
  streams: 64,
  connections: 256,
  /** Size of a request in bytes: room for the export of a task. At most a sixteenth of the heap. */
  requestBytes: 64 * 1024 * 1024,
  /** Length of a text in a request, except an export, in characters. */
  textLength: 2_048,
  /** Items of a list in a request. */
  items: 1_000,
};

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
