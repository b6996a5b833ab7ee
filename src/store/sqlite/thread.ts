import { Worker, type WorkerOptions } from "node:worker_threads";
import type { WriterData } from "./connection.js";

/** Starts the writer's thread, from the file beside this one: TypeScript when run from source, JavaScript when built. */
export function startWriter(data: WriterData): Worker {
  const source = import.meta.url.endsWith(".ts");
  const options: WorkerOptions = { workerData: data };
  if (source) {
    // What loads TypeScript in this thread is not always loaded in a new one (Node 20), so it is named again.
    const loader = `import { register } from "node:module"; register("tsx/esm", "${import.meta.url}", { data: {} });`;
    options.execArgv = ["--import", `data:text/javascript,${encodeURIComponent(loader)}`];
  }
  return new Worker(new URL(source ? "./writer.ts" : "./writer.js", import.meta.url), options);
}
