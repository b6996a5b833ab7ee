import type { Worker } from "node:worker_threads";
import { startThread } from "../thread-beside.js";
import type { PulseData } from "./pulse.js";

/** Starts the thread that repeats heartbeats. */
export function startPulse(data: PulseData): Worker {
  return startThread({ beside: import.meta.url, name: "pulse", data, youngMib: 4 });
}
