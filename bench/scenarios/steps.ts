/** Steps of an agent beside events that it yields: each is stored before the next one, and clients see the events only. */
import { rpcSend } from "../calls.js";
import { judge } from "../goals.js";
import { type Lane, Rates } from "../harness/rates.js";
import type { Bench, Row, Scenario } from "../harness/scenario.js";
import { DONE_TEXT } from "../servers/answers.js";

/** Number of events or steps of a task, and the pause after each, in milliseconds: it is stored meanwhile. */
interface Work {
  readonly store: string;
  readonly count: number;
  readonly ms: number;
}

/** The memory store has it in the next turn of the event loop, SQLite after a commit. */
const MEMORY: Work = { store: "in memory", count: 200, ms: 0 };
const SQLITE: Work = { store: "SQLite FULL", count: 20, ms: 10 };

const column = "events";

async function measure(bench: Bench, { store, count, ms }: Work): Promise<{ rows: Row[]; cost: number }> {
  const server = await bench.start("parley", "steps", store === MEMORY.store ? "memory" : bench.database());
  const lane = (what: string): Lane => {
    return { name: `${count} ${what}, ${store}`, server, call: rpcSend(server, `${what} ${count} ${ms}`, DONE_TEXT) };
  };
  const [events, steps] = [lane("events"), lane("steps")];
  const rates = await Rates.measure(bench, [events, steps]);
  await server.end();
  const rows = [events, steps].map(({ name }) => rates.row(name, events.name, { column }));
  // Both wait most of the time, so only their CPU times are compared.
  return { rows, cost: 1 / rates.cpuRatio(steps.name, events.name) };
}

export const steps: Scenario = {
  name: "steps",
  async run(bench) {
    const { rows, cost } = await measure(bench, MEMORY);
    const judged = rows.map((row, index) => (index === 1 ? { ...row, targets: [judge("stepCost", cost)] } : row));
    const stored = bench.options.quick ? [] : (await measure(bench, SQLITE)).rows;
    return {
      title: "Tasks of steps or of events, each stored before the next, JSON-RPC",
      rows: [...judged, ...stored],
    };
  },
};
