import type { Worker } from "node:worker_threads";
import { startThread } from "../thread-beside.js";
import type { WriterPlace } from "./writer-link.js";

/** Starts the thread that repeats heartbeats. */
export function startBeats(data: WriterPlace): Worker {
  return startThread({ beside: import.meta.url, name: "beat-thread", data, youngMib: 4 });
}
