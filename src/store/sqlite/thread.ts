import { Worker, type WorkerOptions } from "node:worker_threads";
import { sourceLoader } from "../source-loader.js";
import type { WriterData } from "./connection.js";

/**
 * Young generation of the writer's heap, in MiB: its objects are short-lived, and V8 would let it grow several times as
 * large.
 */
const YOUNG_MIB = 8;

/** Starts the writer thread from the file beside this one: TypeScript when run from source, JavaScript when built. */
export function startWriter(data: WriterData): Worker {
  const options: WorkerOptions = {
    workerData: data,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
    ...sourceLoader(import.meta.url),
  };
  const isSource = import.meta.url.endsWith(".ts");
  return new Worker(new URL(isSource ? "./writer.ts" : "./writer.js", import.meta.url), options);
}
