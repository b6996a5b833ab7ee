import type { Transport } from "@connectrpc/connect";
import { loaded } from "../../version/callable.js";

/**
 * A transport whose module is imported with its first call, so that pages load only what they use. A failed import is
 * retried with the next call.
 */
export function lateTransport(load: () => Promise<Transport>): Transport {
  let made: Promise<Transport> | undefined;
  const transport = (): Promise<Transport> => {
    made ??= loaded(load());
    // The import may succeed later.
    made.catch(() => {
      made = undefined;
    });
    return made;
  };
  return {
    unary: async (...call) => (await transport()).unary(...call),
    stream: async (...call) => (await transport()).stream(...call),
  };
}
