import { Worker } from "node:worker_threads";
import type { WriterData } from "../../src/store/sqlite/connection.js";

/** Environment variable with the folder of the files that `bundles.ts` makes. */
export const bundlesVariable: string = "PARLEY_TEST_BUNDLES";

/** A bundled file by its name. */
export const bundle = (name: string): URL => new URL(name, process.env[bundlesVariable]);

/** Replaces `store/sqlite/start-writer.ts` in the tests' own process: the same thread, bundled. */
export function startWriter(data: WriterData): Worker {
  return new Worker(bundle("writer.js"), { workerData: data, execArgv: [] });
}
