/** One task of 200 MB: what small calls feel while it is written, read by slow readers, and listed. */
import { setTimeout } from "node:timers/promises";
import { restGet, restSend } from "../calls.js";
import { judge } from "../goals.js";
import type { TestServer } from "../harness/child.js";
import { filledServer } from "../harness/filled.js";
import { median } from "../harness/rates.js";
import { type Bench, MB, type Row, type Scenario } from "../harness/scenario.js";
import { FILLED_TASK, type Stopped } from "../protocol.js";
import { RESULT_TEXT } from "../servers/answers.js";

const TASKS = 1_000;
const CHUNK = 256 * 1024;
const READERS = { readers: 10, bytesPerSecond: 4 * MB };
const SMALL = { callers: 4, pauseMs: 5 };

/** Small calls are looked at in slices of so many milliseconds; the one in which the work ends does not count. */
const SLICE_MS = 500;

/** So often all of it is done, each time right behind a look at the idle server; medians are shown. */
const ROUNDS = 3;

/**
 * Columns that judge the stops of a server: the longest work of its main thread at once, and the longest time for which the
 * thread neither ran nor was ready to run, such as a wait for the disk. The thread also waits for helpers of V8, which other
 * processes can keep from a processor, so that the median of the rounds counts. The report also has the elapsed time.
 */
const OWN = "without others' time, ms";
const CPU = "of CPU, ms";

/** Delays of small calls beside some work. */
interface Felt {
  readonly get: Waits;
  readonly send: Waits;
  readonly stop: Stopped;
}

/** Percentiles of the times of answers, in milliseconds. */
interface Waits {
  readonly p50: number;
  readonly p99: number;
}

/** Delays of small calls beside some work, and on the idle server immediately before. */
interface Compared {
  readonly idle: Felt;
  readonly felt: Felt;
}

/** Reads and sends small tasks until the work is over, and for so many milliseconds at least. */
async function beside(bench: Bench, server: TestServer, ms: number, work?: Promise<unknown>): Promise<Felt> {
  const gets: (readonly number[])[] = [];
  const sends: (readonly number[])[] = [];
  let over = work === undefined;
  const done = work?.finally(() => {
    over = true;
  });
  const end = performance.now() + ms;
  await server.beginStops();
  do {
    const get = restGet(server, `/tasks/${FILLED_TASK}`, { expect: RESULT_TEXT, numbersBelow: TASKS });
    const send = restSend(server, "task", RESULT_TEXT);
    const jobs = [get, send].map((call) => bench.load.run({ kind: "paced", call, ...SMALL, ms: SLICE_MS }));
    const [got, sent] = await Promise.all(jobs);
    if (work !== undefined && over && gets.length > 0) break;
    if (got !== undefined) gets.push(got.took);
    if (sent !== undefined) sends.push(sent.took);
  } while (!over || (work === undefined && performance.now() < end));
  const stop = await server.endStops();
  await done;
  return { get: waits(gets), send: waits(sends), stop };
}

function waits(slices: readonly (readonly number[])[]): Waits {
  const took = slices.flat().sort((a, b) => a - b);
  const at = (share: number): number => took[Math.min(took.length - 1, Math.floor(took.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/** Begins the large task, and waits until it is over. */
async function write(server: TestServer, chunks: number): Promise<{ id: string; contextId: string }> {
  const url = `http://127.0.0.1:${server.at.http}${server.at.restPath}`;
  const headers = { "content-type": "application/json", "a2a-version": "1.0" };
  const message = { messageId: "large", role: "ROLE_USER", parts: [{ text: `chunks ${chunks} ${CHUNK}` }] };
  const body = JSON.stringify({ message, configuration: { returnImmediately: true, historyLength: 0 } });
  const answer = await fetch(`${url}/message:send`, { method: "POST", headers, body });
  const { task } = (await answer.json()) as { task: { id: string; contextId: string } };
  for (;;) {
    await setTimeout(100);
    // The list shows its state without its artifacts.
    const listed = await fetch(`${url}/tasks?contextId=${task.contextId}&historyLength=0`, { headers });
    if ((await listed.text()).includes("TASK_STATE_COMPLETED")) return task;
  }
}

/** The time of the server's main thread for a page of 50 small tasks, in milliseconds. */
async function perPage(bench: Bench, server: TestServer, ms: number): Promise<number> {
  const call = restGet(server, "/tasks?pageSize=50", { expect: `"totalSize":${TASKS}` });
  const list = (time: number) => bench.load.run({ kind: "rate", call, callers: 1, ms: time });
  await list(ms);
  const rounds: number[] = [];
  for (let round = 0; round < 5; round++) {
    const before = await server.usage();
    const { calls } = await list(ms / 2);
    rounds.push(((await server.usage()).mainMicros - before.mainMicros) / 1_000 / calls);
  }
  return median(rounds);
}

/** One round: the task is written, read slowly and listed, each time behind a look at the idle server. */
async function round(bench: Bench, server: TestServer, chunks: number, ms: number): Promise<Compared[]> {
  const compared: Compared[] = [];
  const compare = async (begin: () => Promise<unknown>): Promise<void> => {
    const idle = await beside(bench, server, ms);
    compared.push({ idle, felt: await beside(bench, server, ms, begin()) });
  };
  let task = { id: "", contextId: "" };
  await compare(async () => {
    task = await write(server, chunks);
  });
  const call = restGet(server, `/tasks/${task.id}`, { expect: "" });
  await compare(() => bench.load.run({ kind: "slow-readers", call, ...READERS, ms: 2 * ms }));
  const all = restGet(server, `/tasks?contextId=${task.contextId}`, { expect: task.id });
  await compare(() => bench.load.run({ kind: "rate", call: all, callers: 1, ms: 2 * ms }));
  return compared;
}

function row(name: string, felt: readonly Felt[], idle: readonly Felt[]): Row {
  const of = (pick: (felt: Felt) => number): number => median(felt.map(pick));
  const ratio = (pick: (felt: Felt) => number): number =>
    median(felt.map((each, index) => pick(each) / pick(idle[index] as Felt)));
  return {
    name,
    figures: {
      "GetTask p50, ms": of(({ get }) => get.p50),
      "GetTask p99, ms": of(({ get }) => get.p99),
      "x idle": ratio(({ get }) => get.p99),
      "new task p99, ms": of(({ send }) => send.p99),
      "x idle, new task": ratio(({ send }) => send.p99),
      "longest stop, ms": Math.max(...felt.map(({ stop }) => stop.longest)),
      [OWN]: of(({ stop }) => stop.longestOwn),
      [CPU]: Math.max(...felt.map(({ stop }) => stop.mostCpu)),
    },
  };
}

const WORKS = ["written", "read by ten slow readers", "listed"];

export const size: Scenario = {
  name: "size",
  async run(bench) {
    const { quick } = bench.options;
    const chunks = (quick ? 20 : 200) * (MB / CHUNK);
    const ms = quick ? 500 : 1_500;
    const server = await filledServer(bench, TASKS);
    const page = await perPage(bench, server, ms);
    await beside(bench, server, 2 * ms);
    const rounds: Compared[][] = [];
    for (let i = 0; i < (quick ? 1 : ROUNDS); i++) rounds.push(await round(bench, server, chunks, ms));
    const idle = rounds.flat().map((each) => each.idle);
    const rows = [row("idle", idle, idle)];
    for (const [at, name] of WORKS.entries()) {
      const works = rounds.map((each) => each[at] as Compared);
      const felt = works.map((each) => each.felt);
      const before = works.map((each) => each.idle);
      rows.push(row(name, felt, before));
    }
    const all = (figure: string): number => Math.max(...rows.slice(1).map(({ figures }) => Number(figures[figure])));
    const targets = [
      judge("sizeLatency", Math.max(all("x idle"), all("x idle, new task"))),
      judge("sizeStop", Math.max(all(OWN), all(CPU))),
    ];
    rows.push({ name: "the worst of these", figures: {}, targets });
    rows.push({ name: "page of 50 small tasks", figures: { ms: page }, targets: [judge("listPage", page)] });
    return { title: `Small calls beside a task of ${(chunks * CHUNK) / MB} MB, REST, SQLite FULL`, rows };
  },
};
