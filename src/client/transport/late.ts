import type { Transport } from "@connectrpc/connect";
import { loaded } from "../../version/callable.js";

/**
 * A transport whose program is loaded with its first call: pages load only what they call by. What could not be loaded is tried again
 * with the next call.
 */
export function lateTransport(load: () => Promise<Transport>): Transport {
  let made: Promise<Transport> | undefined;
  const transport = (): Promise<Transport> => {
    made ??= loaded(load());
    // What could not be loaded now may be there later.
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
