import { Worker } from "node:worker_threads";
import { sourceLoader } from "../source-loader.js";
import type { PulseData } from "./pulse.js";

/** Starts the thread from the file beside this one: TypeScript when run from source, JavaScript when built. */
export function startPulse(data: PulseData): Worker {
  const isSource = import.meta.url.endsWith(".ts");
  const worker = new Worker(new URL(isSource ? "./pulse.ts" : "./pulse.js", import.meta.url), {
    workerData: data,
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
    ...sourceLoader(import.meta.url),
  });
  worker.unref();
  return worker;
}
