import { A2AError } from "../../core/error.js";
import type { Platform, PlatformOptions } from "../platform.js";
import { connectTransport } from "../transport/connect.js";
import { grpcWebTransport } from "../transport/grpc.js";
import { fetchClient } from "./http.js";

/** Browsers, workers, edge runtimes: whatever has fetch. There is no gRPC, which needs more of HTTP/2 than fetch shows. */
export function webPlatform({ fetch = globalThis.fetch }: PlatformOptions = {}): Platform {
  const closed = new AbortController();
  const http = fetchClient(fetch, closed.signal);
  return {
    http,
    connect: (settings) => connectTransport(settings, http),
    grpcWeb: (settings) => grpcWebTransport(settings, http),
    grpc: undefined,
    close: async () => closed.abort(new A2AError("UNAVAILABLE", "The client is closed.")),
  };
}
