import { describe, expect, it, onTestFinished } from "vitest";
import { memoryStore } from "../../src/store/memory/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { type Answer, type Receiver, receive } from "./receiver.js";
import { chunk, Log, Rig } from "./rig.js";

const patience = { timeout: 60_000, interval: 20 };

const limits = { maxDeliveries: 16, maxDeliveriesPerHost: 4, maxDeliveriesPerHostPerSecond: 1e6 };

const stores: [string, () => TaskStore][] = [
  ["memory", () => memoryStore()],
  [
    "SQLite",
    () => {
      const store = sqliteStore({ path: temporaryFile(), synchronous: "NORMAL" });
      onTestFinished(() => store.close());
      return store;
    },
  ],
];

/** Answers with a short delay, like a busy host. */
const busy: Answer = (_, response) => void setTimeout(() => response.writeHead(204).end(), 2);

async function logs(store: TaskStore, receiver: Receiver, count: number): Promise<Log[]> {
  const path = (index: number): string => receiver.url(`/${index}`);
  return Promise.all(Array.from({ length: count }, (_, index) => Log.create(store, [path(index)], [chunk("1")])));
}

describe.each(stores)("a backlog of one host, on the store %s", { timeout: 120_000 }, (_, open) => {
  it("is claimed as the host takes it, each of it once, and not to be put off", async () => {
    const receiver = await receive(busy);
    const store = open();
    const all = await logs(store, receiver, 400);
    const claims = { calls: 0, rows: 0 };
    const claim = store.claimDeliveries.bind(store);
    const watched: TaskStore = Object.assign(store, {
      async claimDeliveries(request: Parameters<typeof claim>[0]) {
        const claimed = await claim(request);
        claims.calls++;
        claims.rows += claimed.length;
        return claimed;
      },
    });
    await new Rig(watched, { receivers: [receiver], limits }).start();
    await expect.poll(() => receiver.hits.length, patience).toBe(800);
    for (const [index, log] of all.entries()) expect(receiver.generationsOf(`/${index}`)).toEqual(log.generations);
    await expect.poll(() => store.nextDelivery(), patience).toBeUndefined();
    // The bound exceeds the backlog, because the dispatcher claims extra rows until it has learned the host's rate.
    expect(claims.rows).toBeLessThan(440);
    expect(claims.calls).toBeLessThan(400);
  });

  it("keeps nothing from another host, and is not kept waiting by it", async () => {
    const receiver = await receive(busy);
    const other = await receive();
    const store = open();
    await logs(store, receiver, 400);
    const one = await new Rig(store, { receivers: [receiver, other], limits }).start();
    await expect.poll(() => receiver.hits.length, patience).toBeGreaterThan(40);
    for (let index = 0; index < 5; index++) {
      const log = await Log.create(store, [other.url(`/${index}`)]);
      one.news();
      await expect.poll(() => other.generationsOf(`/${index}`), patience).toEqual(log.generations);
    }
    expect(receiver.hits.length).toBeLessThan(800);
    await expect.poll(() => receiver.hits.length, patience).toBe(800);
  });
});
