/**
 * Time from an event that an agent yields on one server to a subscriber on another with the same PostgreSQL database, beside
 * a subscriber on the agent's own server: by NOTIFY, by polling alone, and by NATS if `BENCH_NATS` is the URL of a server.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { judge } from "../goals.js";
import type { Bench, Row, Scenario } from "../harness/scenario.js";
import { type Ages, begin, subscribe } from "../postgres/clocks.js";
import { BenchDatabase, lacksPostgres } from "../postgres/database.js";

/** Tasks at once, with the time between two events of a task in milliseconds. */
const LOADS = [
  [1, 50],
  [20, 200],
  [200, 1_000],
] as const;

/** The load of the goals. */
const JUDGED = 20;

/** Duration for which each task yields events, in seconds. */
const SECONDS = 20;

/** Age below which a share of the events was, in milliseconds. */
function quantile(ages: readonly number[], share: number): number {
  const sorted = [...ages].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}

/** Returns the delay of each event at the other server after its arrival at the agent's own, in milliseconds. */
function later(here: Ages, there: Ages): number[] {
  return [...there].map(([time, age]) => age - (here.get(time) ?? Number.NaN)).filter(Number.isFinite);
}

async function measure(bench: Bench, url: string, carrier: string, [tasks, ms]: (typeof LOADS)[number]): Promise<Row> {
  const a = await bench.start("replica", url, carrier);
  const b = await bench.start("replica", url, carrier);
  await sleep(500);
  const cpu = (): Promise<number[]> => Promise.all([a, b].map(async (server) => (await server.usage()).cpuMicros));
  const count = Math.max(1, Math.round(((bench.options.quick ? 1 : SECONDS) * 1_000) / ms));
  const [here, there]: [Ages, Ages] = [new Map(), new Map()];
  const before = await cpu();
  const follow = async (): Promise<void> => {
    const id = await begin(a, `${count} ${ms}`);
    const seen = await Promise.all([subscribe(a, id, here), subscribe(b, id, there)]);
    if (seen.some((events) => events !== count)) throw new Error(`${seen.join(" and ")} of ${count} events were seen`);
  };
  await Promise.all(Array.from({ length: tasks }, follow));
  const used = (await cpu()).map((micros, index) => (micros - (before[index] ?? 0)) / (tasks * count));
  await Promise.all([a.end(), b.end()]);
  const [own, other, lag] = [[...here.values()], [...there.values()], later(here, there)];
  const name = carrier.includes("://") ? "NATS" : carrier;
  const isJudged = carrier === "NOTIFY" && tasks === JUDGED;
  return {
    name: `${name}, ${tasks} ${tasks === 1 ? "task" : "tasks"}, ${(tasks * 1_000) / ms} events/s`,
    figures: {
      "ms p50": quantile(other, 0.5),
      "ms p99": quantile(other, 0.99),
      "same server ms p50": quantile(own, 0.5),
      "same server ms p99": quantile(own, 0.99),
      "later ms p50": quantile(lag, 0.5),
      "later ms p99": quantile(lag, 0.99),
      "us CPU/event": used[1] ?? Number.NaN,
      "agent's server us CPU/event": used[0] ?? Number.NaN,
    },
    targets: isJudged
      ? [judge("replicasMedian", quantile(other, 0.5)), judge("replicasLate", quantile(other, 0.99))]
      : [],
  };
}

export const fanOutReplicas: Scenario = {
  name: "fan-out-replicas",
  lacks: lacksPostgres,
  async run(bench) {
    const database = new BenchDatabase();
    try {
      const { BENCH_NATS } = process.env;
      const rows: Row[] = [];
      for (const carrier of ["NOTIFY", ...(BENCH_NATS === undefined ? [] : [BENCH_NATS]), "polling"]) {
        const loads = bench.options.quick ? LOADS.filter(([tasks]) => tasks === JUDGED) : LOADS;
        for (const load of loads) rows.push(await measure(bench, database.url, carrier, load));
      }
      return { title: "Events of an agent at a subscriber on another server with the same database", rows };
    } finally {
      database.stop();
    }
  },
};
