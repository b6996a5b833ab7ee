import type { Transport } from "@connectrpc/connect";
import { onceDone } from "../../core/async.js";
import { loaded } from "../../version/client-versions.js";

/**
 * Returns a transport whose module is imported with its first call, so that pages load only the transports they use.
 * The next call retries a failed import.
 */
export function lazyTransport(load: () => Promise<Transport>): Transport {
  const transport = onceDone(() => loaded(load()));
  return {
    unary: async (...call) => (await transport()).unary(...call),
    stream: async (...call) => (await transport()).stream(...call),
  };
}
