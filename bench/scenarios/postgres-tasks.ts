/** Durable tasks on PostgreSQL by one server and by two, beside other libraries for durable work on the same database. */
import { availableParallelism } from "node:os";
import { rpcSend } from "../calls.js";
import { judge } from "../goals.js";
import { CommandLine } from "../harness/command-line.js";
import { median } from "../harness/rates.js";
import { type Bench, CALLERS, type Row, type Scenario } from "../harness/scenario.js";
import { BenchDatabase, lacksPostgres } from "../postgres/database.js";
import { ofRival } from "../postgres/rival.js";
import { RESULT_TEXT } from "../servers/answers.js";

const ROUNDS = 5;

/** One measurement of one unit of work. CPU times are for one unit, in microseconds. */
interface Worked {
  readonly perSecond: number;
  readonly nodeMicros: number;
  readonly databaseMicros: number;
  readonly generatorMicros?: number;
}

/** Tasks over JSON-RPC, each server with its own callers. */
async function ofServers(bench: Bench, database: BenchDatabase, count: number, ms: number): Promise<Worked> {
  const servers: CommandLine[] = [];
  for (let index = 0; index < count; index++) servers.push(await CommandLine.start(database.url));
  try {
    const calls = servers.map((server) => rpcSend(server, `echo ${RESULT_TEXT}`, RESULT_TEXT));
    const load = (duration: number) =>
      Promise.all(calls.map((call) => bench.load.run({ kind: "rate", call, callers: CALLERS, ms: duration })));
    const used = async (): Promise<number> =>
      (await Promise.all(servers.map((server) => server.usage()))).reduce((sum, { cpuMicros }) => sum + cpuMicros, 0);
    await load(2_000);
    const rounds: Worked[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const [node, before] = [await used(), database.cpuMicros()];
      const results = await load(ms / ROUNDS);
      const tasks = results.reduce((sum, { calls }) => sum + calls, 0);
      rounds.push({
        perSecond: results.reduce((sum, { calls, ms: took }) => sum + (calls * 1_000) / took, 0),
        nodeMicros: ((await used()) - node) / tasks,
        databaseMicros: (database.cpuMicros() - before) / tasks,
        // One process makes the calls of all, and its CPU time is in each result.
        generatorMicros: (Math.max(...results.map(({ cpuMs = Number.NaN }) => cpuMs)) * 1_000) / tasks,
      });
    }
    return medianOf(rounds);
  } finally {
    for (const server of servers) await server.end();
  }
}

/** The rate in the middle, and the CPU times of the least disturbed round. */
function medianOf(rounds: readonly Worked[]): Worked {
  const least = (of: (round: Worked) => number): number => Math.min(...rounds.map(of));
  return {
    perSecond: median(rounds.map(({ perSecond }) => perSecond)),
    nodeMicros: least(({ nodeMicros }) => nodeMicros),
    databaseMicros: least(({ databaseMicros }) => databaseMicros),
    generatorMicros: least(({ generatorMicros = Number.NaN }) => generatorMicros),
  };
}

function row(name: string, { perSecond, nodeMicros, databaseMicros, generatorMicros }: Worked): Row {
  const cores = (micros: number): number => (perSecond * micros) / 1e6;
  return {
    name,
    figures: {
      "units/s": perSecond,
      "Node us/unit": nodeMicros,
      "database us/unit": databaseMicros,
      "units/s per database core": 1e6 / databaseMicros,
      "cores of Node": cores(nodeMicros),
      "cores of database": cores(databaseMicros),
      ...(generatorMicros !== undefined && { "cores of generator": cores(generatorMicros) }),
    },
  };
}

/** Names the limit that keeps two servers from twice the rate of one. */
function limitOf({ perSecond, nodeMicros, databaseMicros, generatorMicros = 0 }: Worked): string {
  const used = (perSecond * (nodeMicros + databaseMicros + generatorMicros)) / 1e6;
  const cores = availableParallelism();
  if (used > 0.85 * cores) return `the limit is the machine: ${used.toFixed(1)} of ${cores} cores are used`;
  return (perSecond * databaseMicros) / 1e6 > 0.85 ? "the limit is the database" : "the limit is the wait for commits";
}

export const postgresTasks: Scenario = {
  name: "postgres-tasks",
  lacks: lacksPostgres,
  async run(bench) {
    const ms = bench.options.seconds * 1_000;
    const database = new BenchDatabase();
    try {
      const one = await ofServers(bench, database, 1, ms);
      const two = await ofServers(bench, database, 2, ms);
      const dbos = await ofRival(database, "dbos", CALLERS, ms);
      const graphile = await ofRival(database, "graphile", CALLERS, ms);
      const perCore = (of: Worked): number => of.databaseMicros / one.databaseMicros;
      const targets = [judge("postgresDbos", perCore(dbos)), judge("postgresGraphile", perCore(graphile))];
      const replicas = [judge("postgresReplicas", two.perSecond / one.perSecond)];
      const rows = [
        { ...row("parley serve, a task of four events", one), targets },
        { ...row("parley serve twice, a task of four events", two), targets: replicas, note: limitOf(two) },
        row("DBOS, a workflow of two steps", dbos),
        row("graphile-worker, a job", graphile),
      ];
      return { title: "Durable work on one database", rows };
    } finally {
      database.stop();
    }
  },
};
