import type { Worker } from "node:worker_threads";
import { startThread } from "../thread-beside.js";
import type { WriterPlace } from "./writer-link.js";

/** Starts the thread that repeats heartbeats. */
export function startHeartbeats(data: WriterPlace): Worker {
  return startThread({ beside: import.meta.url, name: "heartbeats", data, youngMib: 4 });
}
