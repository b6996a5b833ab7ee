// Workflows of two steps by DBOS, each awaited by its caller: node dbos.mjs URL MS CALLERS. Prints its measurements.
import { DBOS } from "@dbos-inc/dbos-sdk";

const [url, ms, callers] = process.argv.slice(2);
DBOS.setConfig({ name: "bench", systemDatabaseUrl: url, logLevel: "error", runAdminServer: false });
const reply = DBOS.registerWorkflow(
  async (text) => {
    const working = await DBOS.runStep(async () => ({ state: "working", text }), { name: "work" });
    return DBOS.runStep(async () => ({ state: "completed", text: working.text }), { name: "complete" });
  },
  { name: "reply" },
);
await DBOS.launch();

/** Runs workflows one after the other for each caller. */
async function run(duration) {
  let count = 0;
  const until = performance.now() + duration;
  await Promise.all(
    Array.from({ length: Number(callers) }, async () => {
      for (; performance.now() < until; count++) await reply("The answer of the agent.");
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
await DBOS.shutdown();
process.exit(0);
