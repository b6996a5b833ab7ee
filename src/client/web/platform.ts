import { A2AError } from "../../core/error.js";
import type { StopSignal } from "../calls/stop-signal.js";
import type { HttpClient, Platform, PlatformOptions } from "../platform.js";
import { lazyTransport } from "../transport/lazy.js";
import { fetchClient } from "./http.js";

/** Options of the platform, and what callers within the project add. */
interface WebPlatformOptions extends PlatformOptions {
  /** Wraps the HTTP client, to see each request and answer. */
  readonly tap?: (http: HttpClient) => HttpClient;
}

/**
 * Platform of browsers, workers and edge runtimes: everything with fetch. Without gRPC, which needs more of HTTP/2 than
 * fetch offers.
 */
export function webPlatform({ fetch = globalThis.fetch, tap }: WebPlatformOptions = {}): Platform {
  const closed = new Closed();
  const plain = fetchClient(fetch, closed);
  const http = tap === undefined ? plain : tap(plain);
  return {
    http,
    // Imported on demand, since most agents are called over JSON only.
    connect: (settings) =>
      lazyTransport(async () => (await import("../transport/connect.js")).connectTransport(settings, http)),
    grpcWeb: (settings) =>
      lazyTransport(async () => (await import("../transport/grpc.js")).grpcWebTransport(settings, http)),
    grpc: undefined,
    spans: async (telemetry) => (telemetry ? (await import("../spans.js")).clientSpans(telemetry) : undefined),
    close: async () => closed.close(),
  };
}

/** Ends all calls of a client. Not an AbortController, which workers cannot create at module scope. */
class Closed implements StopSignal {
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
