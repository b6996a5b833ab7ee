/** Calls to a server of one process and to one of two workers, with replies that are not stored and with tasks in a file. */
import { rpcSend } from "../calls.js";
import { judge } from "../goals.js";
import { CommandLine } from "../harness/command-line.js";
import { type Lane, ownGenerator, Rates } from "../harness/rates.js";
import type { Bench, Row, Scenario } from "../harness/scenario.js";
import { REPLY_TEXT, RESULT_TEXT } from "../servers/answers.js";

const WORKERS = 2;

const CAPACITY = "x capacity of two cores";

/** Kinds of calls, each with the text that asks for it and the text of its answer. */
const KINDS = [
  ["replies", `say ${REPLY_TEXT}`, REPLY_TEXT],
  ["tasks, SQLite FULL", `echo ${RESULT_TEXT}`, RESULT_TEXT],
] as const;

/** Calls that two workers serve with two cores, divided by those of one process with the cores that it can use. */
function capacity(one: Row, two: Row): number {
  const cores = (one.figures["server % CPU"] ?? Number.NaN) / 100;
  return ((two.figures["x by CPU"] ?? Number.NaN) * WORKERS) / Math.min(WORKERS, Math.max(1, cores));
}

async function measure(bench: Bench, [kind, text, expect]: (typeof KINDS)[number]): Promise<Row[]> {
  const { quick, seconds } = bench.options;
  const servers: CommandLine[] = [];
  try {
    for (const workers of [1, WORKERS]) servers.push(await CommandLine.start(bench.database(), workers));
    const names = [`${kind}, one process`, `${kind}, two workers`] as const;
    const lanes = servers.map(
      (server, index): Lane => ({ name: names[index] ?? "", server, call: rpcSend(server, text, expect) }),
    );
    const rounds = quick ? 2 : 5;
    // Each process compiles the code for itself.
    const plan = { rounds, roundMs: (seconds * 1_000) / rounds, warmUpMs: quick ? 500 : 6_000 };
    const rates = await Rates.measure(bench, lanes, ownGenerator, plan);
    const [one, two] = names.map((name) => rates.row(name, names[0], { column: "one process" })) as [Row, Row];
    const found = capacity(one, two);
    const targets = kind === "replies" ? [judge("workersReplies", found)] : [];
    return [one, { ...two, figures: { ...two.figures, [CAPACITY]: found }, targets }];
  } finally {
    for (const server of servers) await server.end();
  }
}

export const workers: Scenario = {
  name: "workers",
  async run(bench) {
    const rows: Row[] = [];
    for (const kind of KINDS) rows.push(...(await measure(bench, kind)));
    return { title: "One process and two workers on the same port and file", rows };
  },
};
