import type { Carrier } from "../signals/carrier.js";
import type { Worker } from "./worker.js";

/**
 * Maximum size of one text, in bytes. The channel has no limit, but each text occupies the event loop of the primary
 * process.
 */
const MOST_BYTES = 256 * 1024;

/** Carries signals between the workers of a server, through the primary process. */
export function workerCarrier(worker: Pick<Worker, "broadcast" | "onSignal" | "hasEnded">): Carrier {
  return {
    maxBytes: MOST_BYTES,
    open: (hear) => worker.onSignal(hear),
    broadcast: (texts) => worker.broadcast(texts),
    // All workers receive it. They are few, and each ignores questions to another.
    send: async (to, text) => {
      if (worker.hasEnded(to)) return false;
      worker.broadcast([text]);
      return true;
    },
    close: async () => {},
  };
}
