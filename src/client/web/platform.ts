import { A2AError } from "../../core/error.js";
import type { Platform, PlatformOptions } from "../platform.js";
import { lateTransport } from "../transport/late.js";
import { fetchClient } from "./http.js";

/** Browsers, workers, edge runtimes: whatever has fetch. There is no gRPC, which needs more of HTTP/2 than fetch shows. */
export function webPlatform({ fetch = globalThis.fetch }: PlatformOptions = {}): Platform {
  const closed = new AbortController();
  const http = fetchClient(fetch, closed.signal);
  return {
    http,
    // Most agents are called over JSON alone.
    connect: (settings) =>
      lateTransport(async () => (await import("../transport/connect.js")).connectTransport(settings, http)),
    grpcWeb: (settings) =>
      lateTransport(async () => (await import("../transport/grpc.js")).grpcWebTransport(settings, http)),
    grpc: undefined,
    close: async () => closed.abort(new A2AError("UNAVAILABLE", "The client is closed.")),
  };
}
