import { Worker } from "node:worker_threads";
import type { PulseData } from "./pulse.js";

/** Starts the thread from the file beside this one: TypeScript when run from source, JavaScript when built. */
export function startPulse(data: PulseData): Worker {
  const isSource = import.meta.url.endsWith(".ts");
  // A new thread does not always inherit the TypeScript loader (Node 20), so it is registered again.
  const loader = `import { register } from "node:module"; register("tsx/esm", "${import.meta.url}", { data: {} });`;
  const execArgv = isSource ? ["--import", `data:text/javascript,${encodeURIComponent(loader)}`] : undefined;
  const worker = new Worker(new URL(isSource ? "./pulse.ts" : "./pulse.js", import.meta.url), {
    workerData: data,
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
    ...(execArgv && { execArgv }),
  });
  worker.unref();
  return worker;
}
