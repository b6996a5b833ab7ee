/** Deliveries of one task's events to many subscribers, of which some do not read. */
import { setTimeout } from "node:timers/promises";
import { rpcSubscribe } from "../calls.js";
import { type Chunks, DONE_TEXT, PRELUDE_TEXT, WORKING_TEXT } from "../servers/answers.js";
import type { TestServer } from "./child.js";
import type { Bench } from "./scenario.js";

/** Time between two requests to the server for its memory or its task, in milliseconds. */
const LOOK_MS = 50;

/** Maximum time until the agent has said an expected text, in milliseconds. */
const SAYS_MS = 120_000;

/** Begins a task that waits for a sign, and gives its id when it does. */
export async function begin(server: TestServer, text: string): Promise<string> {
  const message = { messageId: "begin", role: "ROLE_USER", parts: [{ text }] };
  const response = await fetch(`http://127.0.0.1:${server.at.http}${server.at.restPath}/message:send`, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0" },
    body: JSON.stringify({ message, configuration: { returnImmediately: true } }),
  });
  const { task } = (await response.json()) as { task?: { id: string } };
  if (task === undefined) throw new Error(`a task could not be begun, status ${response.status}`);
  await said(server, task.id, WORKING_TEXT);
  return task.id;
}

/** Waits until the agent has said something. */
async function said(server: TestServer, id: string, text: string): Promise<void> {
  for (const end = performance.now() + SAYS_MS; performance.now() < end; await setTimeout(LOOK_MS)) {
    const response = await fetch(`http://127.0.0.1:${server.at.http}${server.at.restPath}/tasks/${id}`, {
      headers: { "a2a-version": "1.0" },
    });
    if ((await response.text()).includes(text)) return;
  }
  throw new Error(`the agent did not say "${text}"`);
}

export interface DeliveryOrder {
  readonly readers: number;
  /** Subscribers that stop reading after their first event. */
  readonly stalled: number;
  /** Published when only the stalled are subscribed: more than the buffers between hold, so that they are truly behind. */
  readonly prelude: Chunks;
  readonly chunks: Chunks;
  /** True if the readers receive the prelude too. Default: false. */
  readonly isWhole?: boolean;
}

export interface Delivery {
  /** Events that arrived in a second, at all readers together. */
  readonly perSecond: number;
  /** CPU time of the server for one event at one reader, in microseconds. */
  readonly cpuMicros: number;
  /** Share of one core that the readers' process used. */
  readonly generatorBusy: number;
  /** The most memory that the server had, from the first subscriber to the end, in bytes. */
  readonly mostRss: number;
  /** Settled, when all that read are done and the stalled ones are still behind: what the server holds for them. */
  readonly heldRss: number;
  readonly heldHeap: number;
  /** Time that the stalled subscribers need to read the rest once they read again, in milliseconds. NaN without any. */
  readonly catchUpMs: number;
}

/** Delivers one task on a server of its own: what another delivery left in memory would be seen in this one. */
export async function deliver(bench: Bench, order: DeliveryOrder): Promise<Delivery> {
  const server = await bench.start("parley", "task", bench.database());
  try {
    const warmUp = { ...order, readers: Math.ceil(order.readers / 10), stalled: 0, isWhole: false };
    await deliverOnce(bench, server, { ...warmUp, prelude: { ...order.prelude, count: 1 } });
    await server.usage(true);
    return await deliverOnce(bench, server, order);
  } finally {
    await server.end();
  }
}

async function deliverOnce(bench: Bench, server: TestServer, order: DeliveryOrder): Promise<Delivery> {
  const { readers, stalled, prelude, chunks, isWhole = false } = order;
  const text = `wait prelude ${prelude.count} ${prelude.length} chunks ${chunks.count} ${chunks.length}`;
  const id = await begin(server, text);
  const call = rpcSubscribe(server, id, DONE_TEXT);
  let isDone = false;
  const watching = mostMemory(server, () => isDone);
  try {
    await bench.load.run({ kind: "subscribe", call, readers: isWhole ? readers : 0, stalled });
    let before = (await server.usage()).cpuMicros;
    await server.go();
    await said(server, id, PRELUDE_TEXT);
    if (!isWhole) {
      await bench.load.run({ kind: "subscribe", call, readers, stalled: 0 });
      before = (await server.usage()).cpuMicros;
    }
    const gathering = bench.load.run({ kind: "gather" });
    await server.go();
    const { events, ms, cpuMs } = await gathering;
    const cpuMicros = ((await server.usage()).cpuMicros - before) / events;
    isDone = true;
    const mostRss = await watching;
    const held = await server.usage(true);
    // A subscriber's first event is not counted: the task as it was.
    const expected = chunks.count + 1 + (isWhole ? prelude.count + 1 : 0);
    if (events !== readers * expected) throw new Error(`${events} events arrived instead of ${readers * expected}`);
    const catchUp = await bench.load.run({ kind: "catch-up" });
    const missed = stalled * (1 + prelude.count + 1 + chunks.count + 1);
    if (catchUp.events !== missed) throw new Error(`the stalled read ${catchUp.events} events instead of ${missed}`);
    const busy = { generatorBusy: cpuMs / ms, catchUpMs: stalled === 0 ? Number.NaN : catchUp.ms };
    const memory = { mostRss, heldRss: held.rss, heldHeap: held.heap + held.external };
    return { perSecond: (events * 1_000) / ms, cpuMicros, ...busy, ...memory };
  } finally {
    isDone = true;
    await bench.load.run({ kind: "leave" });
  }
}

/** The most memory that a server has until something is done, as far as one can see from outside, in bytes. */
async function mostMemory(server: TestServer, isDone: () => boolean): Promise<number> {
  let most = 0;
  while (!isDone()) {
    most = Math.max(most, (await server.usage()).rss);
    await setTimeout(LOOK_MS);
  }
  return most;
}
