import { Worker, type WorkerOptions } from "node:worker_threads";
import type { WriterData } from "./connection.js";

/**
 * Young generation of the writer's heap, in MiB: its objects are short-lived, and V8 would let it grow several times as
 * large.
 */
const YOUNG_MIB = 8;

/** Starts the writer thread from the file beside this one: TypeScript when run from source, JavaScript when built. */
export function startWriter(data: WriterData): Worker {
  const source = import.meta.url.endsWith(".ts");
  const options: WorkerOptions = {
    workerData: data,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
  };
  if (source) {
    // A new thread does not always inherit the TypeScript loader (Node 20), so it is registered again.
    const loader = `import { register } from "node:module"; register("tsx/esm", "${import.meta.url}", { data: {} });`;
    options.execArgv = ["--import", `data:text/javascript,${encodeURIComponent(loader)}`];
  }
  return new Worker(new URL(source ? "./writer.ts" : "./writer.js", import.meta.url), options);
}
