import { Worker } from "node:worker_threads";
import { sourceLoader } from "../source-loader.js";
import type { WriterPlace } from "./writer-link.js";

/** Starts the thread of heartbeats from the file beside this one: TypeScript when run from source. */
export function startBeats(data: WriterPlace): Worker {
  const isSource = import.meta.url.endsWith(".ts");
  const worker = new Worker(new URL(isSource ? "./beat-thread.ts" : "./beat-thread.js", import.meta.url), {
    workerData: data,
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
    ...sourceLoader(import.meta.url),
  });
  worker.unref();
  return worker;
}
