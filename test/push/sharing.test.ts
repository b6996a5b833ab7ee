import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { memoryStore } from "../../src/store/memory/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { Receiver } from "./receiver.js";
import { chunk, Log, Rig } from "./rig.js";

const patience = { timeout: 60_000, interval: 20 };

let receiver: Receiver;

beforeEach(async () => {
  receiver = await Receiver.start((_, response) => void setTimeout(() => response.writeHead(204).end(), 3));
  onTestFinished(() => receiver.stop());
});

const kinds: [string, () => [TaskStore, TaskStore]][] = [
  [
    "memory",
    () => {
      const store = memoryStore({ shared: true });
      return [store, store];
    },
  ],
  [
    "SQLite",
    () => {
      const path = temporaryFile();
      const open = (): TaskStore => sqliteStore({ path, shared: true, synchronous: "NORMAL" });
      const stores: [TaskStore, TaskStore] = [open(), open()];
      onTestFinished(async () => {
        for (const store of stores) await store.close();
      });
      return stores;
    },
  ],
];

describe.each(kinds)("two dispatchers on one store in %s", { timeout: 120_000 }, (_, open) => {
  const limits = {
    maxDeliveriesPerHost: 64,
    maxDeliveriesPerHostPerSecond: 100_000,
    maxDeliveries: 8,
    pushTimeoutMs: 15_000,
  };

  async function logs(store: TaskStore, count: number): Promise<Log[]> {
    return Promise.all(Array.from({ length: count }, (_, i) => Log.create(store, [receiver.url(`/${i}`)])));
  }

  async function expectAll(all: readonly Log[]): Promise<void> {
    for (const [i, log] of all.entries()) {
      await expect.poll(() => receiver.generationsOf(`/${i}`), patience).toEqual(log.generations);
    }
  }

  it("share the work, and send no event twice", async () => {
    const [here, there] = open();
    const one = await new Rig(here, { receivers: [receiver], limits, pollMs: 50 }).start();
    const two = await new Rig(there, { receivers: [receiver], limits, pollMs: 50 }).start();
    const all = await logs(here, 40);
    for (let round = 0; round < 20; round++) {
      for (const log of all) await log.append([chunk(`${round}`)]);
      one.news();
      two.news();
    }
    await expectAll(all);
    expect(receiver.overlaps).toBe(0);
    expect(receiver.hits).toHaveLength(40 * 21);
    expect(one.control.status().sent).toBeGreaterThan(0);
    expect(two.control.status().sent).toBeGreaterThan(0);
  });

  it("leave what one of them has to it, however long it takes, while it lives", async () => {
    const [here, there] = open();
    const leaseMs = 1_000;
    receiver.answer = (_, response) => void setTimeout(() => response.writeHead(204).end(), 2_000);
    const one = await new Rig(here, { receivers: [receiver], limits, leaseMs, pollMs: 50 }).start();
    const [log] = await logs(here, 1);
    one.news();
    await expect.poll(() => receiver.hits.length, patience).toBe(1);
    await new Rig(there, { receivers: [receiver], limits, leaseMs, pollMs: 50 }).start();
    await expectAll([log as Log]);
    await sleep(2_500);
    expect(receiver.hits).toHaveLength(1);
  });

  it("take over what one has that shows no life, which then sends nothing more of it", async () => {
    const [here, there] = open();
    const leaseMs = 400;
    const one = await new Rig(here, { receivers: [receiver], limits, leaseMs, pollMs: 50 }).start();
    const all = await logs(here, 8);
    for (const log of all) await log.append(Array.from({ length: 300 }, () => chunk("x")));
    one.news();
    await expect.poll(() => receiver.hits.length, patience).toBeGreaterThan(100);
    const two = await new Rig(there, { receivers: [receiver], limits, leaseMs, pollMs: 50 }).start();
    // The process continues to run, but its store does not accept its heartbeats.
    one.silent = true;
    one.pushes.heartbeat = () => Promise.reject(new Error("the store does not answer"));
    await expect.poll(() => two.control.status().sent, patience).toBeGreaterThan(100);
    await expectAll(all);
    expect(receiver.overlaps).toBe(0);
  });

  it("go on after a pause of both without taking anything from each other", async () => {
    const [here, there] = open();
    const leaseMs = 400;
    const one = await new Rig(here, { receivers: [receiver], limits, leaseMs, pollMs: 50 }).start();
    const two = await new Rig(there, { receivers: [receiver], limits, leaseMs, pollMs: 50 }).start();
    const all = await logs(here, 8);
    for (let round = 0; round < 3; round++) {
      for (const log of all) await log.append(Array.from({ length: 50 }, () => chunk("x")));
      one.news();
      await sleep(100);
      // This blocks the whole process.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * leaseMs);
    }
    await expectAll(all);
    expect(receiver.overlaps).toBe(0);
    expect(two.control.status().failed + one.control.status().failed).toBe(0);
  });
});
