import { A2AError } from "../../core/error.js";
import type { Stop } from "../calls/stop.js";
import type { Platform, PlatformOptions } from "../platform.js";
import { lateTransport } from "../transport/late.js";
import { fetchClient } from "./http.js";

/** Browsers, workers, edge runtimes: whatever has fetch. There is no gRPC, which needs more of HTTP/2 than fetch shows. */
export function webPlatform({ fetch = globalThis.fetch }: PlatformOptions = {}): Platform {
  const closed = new Closed();
  const http = fetchClient(fetch, closed);
  return {
    http,
    // Most agents are called over JSON alone.
    connect: (settings) =>
      lateTransport(async () => (await import("../transport/connect.js")).connectTransport(settings, http)),
    grpcWeb: (settings) =>
      lateTransport(async () => (await import("../transport/grpc.js")).grpcWebTransport(settings, http)),
    grpc: undefined,
    close: async () => closed.close(),
  };
}

/** Ends all calls of a client. Not an AbortController, which workers may not make at module scope. */
class Closed implements Stop {
  readonly #listeners = new Set<() => void>();
  #reason: A2AError | undefined;

  get aborted(): boolean {
    return this.#reason !== undefined;
  }

  get reason(): unknown {
    return this.#reason;
  }

  addEventListener(_: "abort", listener: () => void): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_: "abort", listener: () => void): void {
    this.#listeners.delete(listener);
  }

  close(): void {
    this.#reason = new A2AError("UNAVAILABLE", "The client is closed.");
    for (const listener of this.#listeners) listener();
  }
}
