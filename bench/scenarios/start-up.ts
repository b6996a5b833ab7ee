/** Costs of a process from its start to its first answer, with its files in the system's cache, and then at rest. */
import { setTimeout } from "node:timers/promises";
import { restGet, restSend, rpcSend } from "../calls.js";
import { judge } from "../goals.js";
import type { MeasuredServer } from "../harness/child.js";
import { CommandLine } from "../harness/command-line.js";
import { filledFile } from "../harness/filled.js";
import { median } from "../harness/rates.js";
import { type Bench, MB, type Row, type Scenario } from "../harness/scenario.js";
import type { Usage, WireCall } from "../protocol.js";
import { REPLY_TEXT, RESULT_TEXT } from "../servers/answers.js";

/** Time at rest before the memory of a server is read, in milliseconds. */
const REST_MS = 2_000;

/** One start. */
interface Start {
  /** To its first answer, in milliseconds. */
  readonly ms: number;
  /** CPU time of all threads until then, in milliseconds. */
  readonly cpu: number;
  /** Bytes at rest, nothing collected by order. */
  readonly rss: number;
}

/** A server that was started, as this scenario sees it. */
interface Started extends MeasuredServer {
  usage(): Promise<Pick<Usage, "cpuMicros" | "rss">>;
}

interface Lane {
  readonly name: string;
  readonly start: () => Promise<Started>;
  readonly first: (server: Pick<MeasuredServer, "at">) => WireCall;
}

async function once(bench: Bench, { start, first }: Lane): Promise<Start> {
  const begin = performance.now();
  const server = await start();
  await bench.load.answer(first(server));
  const ms = performance.now() - begin;
  const { cpuMicros } = await server.usage();
  await setTimeout(bench.options.quick ? REST_MS / 10 : REST_MS);
  const { rss } = await server.usage();
  await server.end();
  return { ms, cpu: cpuMicros / 1_000, rss };
}

const CARD_PATH = "/.well-known/agent-card.json";
const CARD = "Parley, new file, its card";

async function lanesOf(bench: Bench): Promise<readonly Lane[]> {
  const count = bench.options.quick ? 10_000 : 100_000;
  const file = await filledFile(bench, count);
  const task: Lane["first"] = (server) => restSend(server, `echo ${RESULT_TEXT}`, RESULT_TEXT);
  const card: Lane["first"] = (server) => restGet(server, CARD_PATH, { expect: "supportedInterfaces" });
  const parley = (name: string, path: () => string, first = task): Lane => {
    return { name: `Parley, ${name}`, start: () => CommandLine.start(path()), first };
  };
  return [
    {
      name: "node:http, codec",
      start: () => bench.start("bare-http", "codec"),
      first: (server) => restSend(server, "task", REPLY_TEXT),
    },
    {
      name: "@a2a-js/sdk, in memory",
      start: () => bench.start("peer", "task"),
      first: (server) => rpcSend(server, "task", RESULT_TEXT),
    },
    parley("in memory", () => "memory"),
    parley("new file", () => bench.database()),
    { ...parley("", () => bench.database(), card), name: CARD },
    parley(`file of ${count.toLocaleString("en")} tasks`, () => file),
  ];
}

function rowOf(name: string, starts: readonly Start[]): Row {
  const ms = median(starts.map((start) => start.ms));
  const rss = median(starts.map((start) => start.rss)) / MB;
  const cpu = median(starts.map((start) => start.cpu));
  const figures = { "ms to first answer": ms, "CPU ms until then": cpu, "MB RSS at rest": rss };
  return name === CARD
    ? { name, figures, targets: [judge("startCard", ms), judge("restMemory", rss)] }
    : { name, figures };
}

export const startUp: Scenario = {
  name: "start-up",
  async run(bench) {
    const lanes = await lanesOf(bench);
    const starts = lanes.map((): Start[] => []);
    for (let round = 0; round < (bench.options.quick ? 1 : 5); round++) {
      for (const [index, lane] of lanes.entries()) starts[index]?.push(await once(bench, lane));
    }
    const rows = lanes.map(({ name }, index) => rowOf(name, starts[index] ?? []));
    return { title: "Start of a process to its first answer", rows };
  },
};
