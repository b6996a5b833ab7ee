/** One task of 200 MB: what small calls feel while it is written, read by slow readers, and listed. */
import { setTimeout } from "node:timers/promises";
import { restGet, restSend } from "../calls.js";
import { judge } from "../goals.js";
import type { TestServer } from "../harness/child.js";
import { filledServer } from "../harness/filled.js";
import { median } from "../harness/rates.js";
import { type Bench, MB, type Row, type Scenario } from "../harness/scenario.js";
import { NUMBER, type PacedResult, type Stopped } from "../protocol.js";
import { RESULT_TEXT } from "../servers/answers.js";

const TASKS = 1_000;
const CHUNK = 256 * 1024;
const READERS = { readers: 10, bytesPerSecond: 4 * MB };
const SMALL = { callers: 4, pauseMs: 5 };

/** What small calls feel beside some work. */
interface Felt {
  readonly get: PacedResult;
  readonly send: PacedResult;
  readonly stop: Stopped;
}

/** Reads and sends small tasks until the work is over, and for so many milliseconds at least. */
async function beside(bench: Bench, server: TestServer, ms: number, work: Promise<unknown>): Promise<Felt> {
  const gets: PacedResult[] = [];
  const sends: PacedResult[] = [];
  let over = false;
  const done = work.finally(() => {
    over = true;
  });
  await server.beginStops();
  do {
    const get = restGet(server, `/tasks/task-${NUMBER}`, { expect: RESULT_TEXT, numbersBelow: TASKS });
    const send = restSend(server, "task", RESULT_TEXT);
    const jobs = [get, send].map((call) => bench.load.run({ kind: "paced", call, ...SMALL, ms }));
    const [got, sent] = await Promise.all(jobs);
    if (got !== undefined) gets.push(got);
    if (sent !== undefined) sends.push(sent);
  } while (!over);
  const stop = await server.endStops();
  await done;
  return { get: worst(gets), send: worst(sends), stop };
}

function worst(results: readonly PacedResult[]): PacedResult {
  return {
    calls: results.reduce((sum, { calls }) => sum + calls, 0),
    p50: median(results.map(({ p50 }) => p50)),
    p99: median(results.map(({ p99 }) => p99)),
    most: Math.max(...results.map(({ most }) => most)),
  };
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

export const size: Scenario = {
  name: "size",
  async run(bench) {
    const { quick } = bench.options;
    const chunks = (quick ? 20 : 200) * (MB / CHUNK);
    const ms = quick ? 1_000 : 4_000;
    const server = await filledServer(bench, TASKS);
    const page = await perPage(bench, server, ms / 2);
    await beside(bench, server, ms, Promise.resolve());
    const idle = await beside(bench, server, ms, Promise.resolve());
    const writing = write(server, chunks);
    const felt: [string, Felt][] = [["written", await beside(bench, server, ms / 2, writing)]];
    const { id, contextId } = await writing;
    const path = `/tasks/${id}`;
    const readers = { kind: "slow-readers", call: restGet(server, path, { expect: "" }), ...READERS, ms } as const;
    felt.push(["read by ten slow readers", await beside(bench, server, ms, bench.load.run(readers))]);
    const all = restGet(server, `/tasks?contextId=${contextId}`, { expect: id });
    const listing = bench.load.run({ kind: "rate", call: all, callers: 1, ms });
    felt.push(["listed", await beside(bench, server, ms, listing)]);
    const row = (name: string, { get, send, stop }: Felt): Row => ({
      name,
      figures: {
        "GetTask p50, ms": get.p50,
        "GetTask p99, ms": get.p99,
        "x idle": get.p99 / idle.get.p99,
        "new task p99, ms": send.p99,
        "x idle, new task": send.p99 / idle.send.p99,
        "longest stop, ms": stop.longest,
        "of CPU, ms": stop.mostCpu,
      },
    });
    const times = felt.flatMap(([, { get, send }]) => [get.p99 / idle.get.p99, send.p99 / idle.send.p99]);
    const rows = [row("idle", idle), ...felt.map(([name, each]) => row(name, each))];
    const targets = [
      judge("sizeLatency", Math.max(...times)),
      judge("sizeStop", Math.max(...felt.map(([, { stop }]) => stop.longest))),
    ];
    rows.push({ name: "the worst of these", figures: {}, targets });
    rows.push({ name: "page of 50 small tasks", figures: { ms: page }, targets: [judge("listPage", page)] });
    return { title: `Small calls beside a task of ${(chunks * CHUNK) / MB} MB, REST, SQLite FULL`, rows };
  },
};
