import { Worker } from "node:worker_threads";
import type { WriterPlace } from "../../src/store/sqlite/writer-link.js";
import { bundle } from "./writer-thread.js";

/** Stands for `store/sqlite/start-heartbeats.ts` in the tests' own process: the same thread, bundled. */
export function startHeartbeats(data: WriterPlace): Worker {
  const worker = new Worker(bundle("heartbeats.js"), { workerData: data, execArgv: [] });
  worker.unref();
  return worker;
}
