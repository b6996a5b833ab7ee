// Jobs of graphile-worker, each added by a caller that waits for it: node graphile.mjs URL MS CALLERS. Prints what it
// measured. The worker takes jobs in batches and completes them in batches, as its own bench does.
import { makeWorkerUtils, run as runWorker } from "graphile-worker";

const [url, ms, callers] = process.argv.slice(2);
const waiting = new Map();
const quiet = { events: undefined, noHandleSignals: true };
const preset = {
  worker: {
    connectionString: url,
    concurrentJobs: Number(callers),
    maxPoolSize: 20,
    pollInterval: 2_000,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  },
};
const silent = { scope: () => silent, error: console.error, warn() {}, info() {}, debug() {} };
const utils = await makeWorkerUtils({ connectionString: url, maxPoolSize: 10, logger: silent });
await utils.migrate();
const runner = await runWorker({
  ...quiet,
  preset,
  logger: silent,
  taskList: { reply: ({ id }) => void waiting.get(id)?.() },
});

let next = 0;

/** Adds a job and waits until it ran, one after the other for each caller. */
async function run(duration) {
  let count = 0;
  const until = performance.now() + duration;
  await Promise.all(
    Array.from({ length: Number(callers) }, async () => {
      for (; performance.now() < until; count++) {
        const id = next++;
        const ran = new Promise((resolve) => waiting.set(id, resolve));
        await utils.addJob("reply", { id, text: "The answer of the agent." });
        await ran;
        waiting.delete(id);
      }
    }),
  );
  return count;
}

await run(1_000);
process.send?.("begin");
const [begin, usage] = [performance.now(), process.cpuUsage()];
const count = await run(Number(ms));
const { user, system } = process.cpuUsage(usage);
process.send?.({ count, ms: performance.now() - begin, cpuMicros: user + system });
await runner.stop();
await utils.release();
process.exit(0);
