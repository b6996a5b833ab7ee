/** Many subscribers of one task: one that does not read must cost the others nothing, and idle ones little memory. */
import { setTimeout } from "node:timers/promises";
import { rpcSubscribe } from "../calls.js";
import type { TestServer } from "../harness/child.js";
import { median } from "../harness/rates.js";
import { atLeast, atMost, type Bench, type Row, type Scenario, type Target } from "../harness/scenario.js";
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

interface Delivery {
  /** Events that arrived in a second, at all readers together. */
  readonly perSecond: number;
  /** The most memory that the server had meanwhile, in bytes. */
  readonly rss: number;
  readonly heap: number;
}

/** Sends the chunks of one task to `readers` subscribers while `stalled` further ones do not read. */
async function deliver(bench: Bench, server: TestServer, readers: number, stalled: number): Promise<Delivery> {
  const id = await begin(server, `wait chunks ${CHUNKS} ${CHUNK_LENGTH}`);
  await bench.load.run({ kind: "subscribe", call: rpcSubscribe(server, id, DONE_TEXT), readers, stalled });
  await server.usage(true);
  let done = false;
  const gathering = bench.load.run({ kind: "gather" }).finally(() => {
    done = true;
  });
  const [{ events, ms }, most] = await Promise.all([gathering, mostMemory(server, () => done), server.go()]);
  if (events < readers * (CHUNKS + 1)) throw new Error(`only ${events} events arrived`);
  return { perSecond: (events * 1_000) / ms, ...most };
}

/** The most memory that a server has until something is done, as far as one can see from outside. */
async function mostMemory(server: TestServer, done: () => boolean): Promise<Pick<Delivery, "rss" | "heap">> {
  let [rss, heap] = [0, 0];
  while (!done()) {
    const usage = await server.usage();
    rss = Math.max(rss, usage.rss);
    heap = Math.max(heap, usage.heap);
    await setTimeout(50);
  }
  return { rss, heap };
}

export const fanOut: Scenario = {
  name: "fan-out",
  async run(bench) {
    const readers = bench.options.quick ? 100 : 1_000;
    const server = await bench.start("parley", "task", bench.database());
    await deliver(bench, server, readers / 10, 0);
    const none: Delivery[] = [];
    const one: Delivery[] = [];
    for (let round = 0; round < (bench.options.quick ? 1 : 3); round++) {
      none.push(await deliver(bench, server, readers, 0));
      one.push(await deliver(bench, server, readers, 1));
    }
    const ratio = median(one.map(({ perSecond }, round) => perSecond / (none[round]?.perSecond ?? Number.NaN)));
    const row = (name: string, deliveries: readonly Delivery[], x: number, targets: readonly Target[]): Row => {
      const rss = Math.max(...deliveries.map((delivery) => delivery.rss)) / MB;
      const heap = Math.max(...deliveries.map((delivery) => delivery.heap)) / MB;
      const perSecond = median(deliveries.map((delivery) => delivery.perSecond));
      const figures = { "events/s": perSecond, "x all read": x, "MB RSS, most": rss, "MB heap, most": heap };
      return { name, figures, targets };
    };
    return {
      title: `${readers.toLocaleString("en")} subscribers of one task over SSE, chunks of ${CHUNK_LENGTH} bytes`,
      rows: [
        row("all read", none, 1, []),
        row("one more that never reads", one, ratio, [atLeast(ratio, 0.9, "all read")]),
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
