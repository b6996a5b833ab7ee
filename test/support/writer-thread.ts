import { Worker } from "node:worker_threads";
import type { WriterData } from "../../src/store/sqlite/connection.js";

/** Where the tests find the writer's thread as one file of JavaScript. */
export const writerVariable: string = "PARLEY_TEST_WRITER";

/** Stands for `store/sqlite/thread.ts` in the tests' own process: the same thread, bundled (see `bundle-writer.ts`). */
export function startWriter(data: WriterData): Worker {
  return new Worker(new URL(process.env[writerVariable] ?? ""), { workerData: data, execArgv: [] });
}
