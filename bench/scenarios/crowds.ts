/** Many subscribers of one task: one that does not read must cost the others nothing, and idle ones little memory. */
import { rpcSubscribe } from "../calls.js";
import type { TestServer } from "../harness/child.js";
import { median } from "../harness/rates.js";
import { atLeast, atMost, type Bench, type Row, type Scenario } from "../harness/scenario.js";
import { DONE_TEXT, WORKING_TEXT } from "../servers/answers.js";

const MB = 1024 * 1024;

/** Chunks of one task, and their length: more than the buffers of one connection hold. */
const CHUNKS = 300;
const CHUNK_LENGTH = 4_096;

/** Sends a message without waiting for its end, and gives the id of the task. */
async function begin(server: TestServer, text: string): Promise<string> {
  const message = { messageId: "begin", role: "ROLE_USER", parts: [{ text }] };
  const response = await fetch(`http://127.0.0.1:${server.at.http}${server.at.restPath}/message:send`, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0" },
    body: JSON.stringify({ message, configuration: { returnImmediately: true } }),
  });
  const { task } = (await response.json()) as { task?: { id: string } };
  if (task === undefined) throw new Error(`a task could not be begun, status ${response.status}`);
  return task.id;
}

/** Events that arrive in a second at `readers` subscribers of one task while `stalled` further ones do not read. */
async function deliver(bench: Bench, server: TestServer, readers: number, stalled: number): Promise<number> {
  const id = await begin(server, `wait chunks ${CHUNKS} ${CHUNK_LENGTH}`);
  await bench.load.run({ kind: "subscribe", call: rpcSubscribe(server, id, DONE_TEXT), readers, stalled });
  const gathering = bench.load.run({ kind: "gather" });
  await server.go();
  const { events, ms } = await gathering;
  if (events < readers * (CHUNKS + 1)) throw new Error(`only ${events} events arrived`);
  return (events * 1_000) / ms;
}

export const fanOut: Scenario = {
  name: "fan-out",
  async run(bench) {
    const readers = bench.options.quick ? 100 : 1_000;
    const server = await bench.start("parley", "task", bench.database());
    await deliver(bench, server, readers / 10, 0);
    const rates: [number[], number[]] = [[], []];
    const memory: [number, number] = [0, 0];
    for (let round = 0; round < (bench.options.quick ? 1 : 3); round++) {
      for (const stalled of [0, 1] as const) {
        rates[stalled].push(await deliver(bench, server, readers, stalled));
        memory[stalled] = (await server.usage(true)).rss / MB;
      }
    }
    const [none, one] = rates.map(median) as [number, number];
    const ratio = median(rates[1].map((rate, round) => rate / (rates[0][round] ?? Number.NaN)));
    return {
      title: `${readers.toLocaleString("en")} subscribers of one task over SSE, chunks of ${CHUNK_LENGTH} bytes`,
      rows: [
        { name: "all read", figures: { "events/s": none, "x all read": 1, "MB RSS": memory[0] } },
        {
          name: "one more that never reads",
          figures: { "events/s": one, "x all read": ratio, "MB RSS": memory[1] },
          targets: [atLeast(ratio, 0.9, "all read")],
        },
      ],
    };
  },
};

export const idle: Scenario = {
  name: "idle",
  async run(bench) {
    const readers = bench.options.quick ? 1_000 : 10_000;
    const server = await bench.start("parley", "task", bench.database());
    const id = await begin(server, "wait");
    const before = await server.usage(true);
    await bench.load.run({ kind: "subscribe", call: rpcSubscribe(server, id, WORKING_TEXT), readers, stalled: 0 });
    const after = await server.usage(true);
    await bench.load.run({ kind: "leave" });
    await server.go();
    const row = (name: string, rss: number, heap: number): Row => ({
      name,
      figures: { "MB RSS": rss / MB, "MB heap": heap / MB, "KB RSS each": (rss - before.rss) / 1024 / readers },
    });
    return {
      title: "Idle subscribers over SSE",
      rows: [
        { name: "none", figures: { "MB RSS": before.rss / MB, "MB heap": before.heap / MB } },
        { ...row(readers.toLocaleString("en"), after.rss, after.heap), targets: [atMost(after.rss / MB, 1_024, "MB")] },
      ],
    };
  },
};
