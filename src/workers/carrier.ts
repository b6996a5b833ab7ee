import type { Carrier } from "../signals/carrier.js";
import type { Worker } from "./worker.js";

/** Most bytes of one text. The channel has no limit, but each text occupies the event loop of the primary process. */
const MOST_BYTES = 256 * 1024;

/** Carries signals between the workers of a server, by the primary process. */
export function workerCarrier(worker: Pick<Worker, "broadcast" | "onSignal" | "hasEnded">): Carrier {
  return {
    maxBytes: MOST_BYTES,
    open: (hear) => worker.onSignal(hear),
    broadcast: (texts) => worker.broadcast(texts),
    // All of them hear it: they are few, and each ignores questions to another.
    send: async (to, text) => {
      if (worker.hasEnded(to)) return false;
      worker.broadcast([text]);
      return true;
    },
    close: async () => {},
  };
}
