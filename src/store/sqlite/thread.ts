import { Worker, type WorkerOptions } from "node:worker_threads";
import type { WriterData } from "./connection.js";

/** Room for the young objects of the writer, in MiB: it keeps nothing for long, and V8 would let its room grow to several times as much. */
const YOUNG_MIB = 8;

/** Starts the writer's thread, from the file beside this one: TypeScript when run from source, JavaScript when built. */
export function startWriter(data: WriterData): Worker {
  const source = import.meta.url.endsWith(".ts");
  const options: WorkerOptions = {
    workerData: data,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
  };
  if (source) {
    // What loads TypeScript in this thread is not always loaded in a new one (Node 20), so it is named again.
    const loader = `import { register } from "node:module"; register("tsx/esm", "${import.meta.url}", { data: {} });`;
    options.execArgv = ["--import", `data:text/javascript,${encodeURIComponent(loader)}`];
  }
  return new Worker(new URL(source ? "./writer.ts" : "./writer.js", import.meta.url), options);
}
