import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createServer } from "../../src/index.js";
import { ClockSkewRepair } from "../../src/push/clock-skew-repair.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { obedient } from "../conformance/agents.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { accept, Receiver, refuse } from "./receiver.js";
import { Log, quick, Rig } from "./rig.js";

const patience = { timeout: 20_000, interval: 10 };
const DAY_MS = 24 * 3_600_000;
const ahead = (): number => Date.now() + DAY_MS;

let receiver: Receiver;
let path: string;
beforeEach(async () => {
  receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  path = temporaryFile();
});

/** A process with a clock that is a day ahead, which has failed to deliver, and ends. */
async function leaveBehind(): Promise<Log> {
  const store = sqliteStore(path);
  receiver.answer = refuse(500);
  const rig = new Rig(store, {
    receivers: [receiver],
    now: ahead,
    retryMs: 5_000,
    limits: { maxPushRetryMs: 9_000 },
  });
  await rig.start();
  const log = await Log.create(store, [receiver.url("/a")]);
  rig.news();
  await expect.poll(() => receiver.hits.length, patience).toBe(1);
  await expect.poll(() => store.nextDelivery(), patience).toBeGreaterThan(Date.now() + DAY_MS / 2);
  await rig.end();
  await store.close();
  receiver.answer = accept;
  return log;
}

describe("a clock that was ahead", () => {
  it("keeps no notification from the next process, which has the right one", async () => {
    const log = await leaveBehind();
    const server = await createServer({
      agent: obedient("push"),
      store: sqliteStore(path),
      port: 0,
      grpcPort: 0,
      push: { allowHttp: true, ports: [receiver.port], allow: ["127.0.0.1"] },
      limits: { shutdownGraceMs: 50 },
    });
    onTestFinished(() => server.close());
    await expect.poll(() => receiver.hits.length, patience).toBe(2);
    expect(receiver.generationsOf("/a")).toEqual(log.generations);
  });

  it("makes no failure one that never gets old", async () => {
    await leaveBehind();
    receiver.answer = refuse(500);
    const store = sqliteStore(path);
    const rig = new Rig(store, { receivers: [receiver], limits: { maxPushAgeMs: 200 } });
    onTestFinished(async () => {
      await rig.end();
      await store.close();
    });
    await store.rescheduleDeliveries({ latest: ahead() / 2, to: Date.now() });
    await rig.start();
    await expect.poll(() => rig.control.deadLetters(), patience).toHaveLength(1);
  });
});

describe("a clock that is set back while the server runs", () => {
  it("postpones no notification beyond its retry, in this process or in another", async () => {
    receiver.answer = refuse(500);
    const store = sqliteStore(path);
    const clock = { aheadMs: DAY_MS };
    const rig = new Rig(store, { receivers: [receiver], now: () => Date.now() + clock.aheadMs, retryMs: 2_000 });
    onTestFinished(async () => {
      await rig.end();
      await store.close();
    });
    await rig.start();
    const log = await Log.create(store, [receiver.url("/a")]);
    rig.news();
    await expect.poll(() => store.nextDelivery(), patience).toBeGreaterThan(Date.now() + DAY_MS / 2);
    receiver.answer = accept;
    clock.aheadMs = 0;
    rig.news();
    await expect.poll(() => receiver.hits.length, patience).toBe(2);
    expect(receiver.generationsOf("/a")).toEqual(log.generations);
    expect(rig.dispatcher.now()).toBeLessThan(Date.now() + DAY_MS / 2);
    expect(rig.logged.map(({ message }) => message)).toEqual([
      "the clock was set back: push notifications that waited are due now",
    ]);
  });
});

describe("ClockSkewRepair", () => {
  const clockSkewRepair = (store: TaskStore, wake = (): void => {}): ClockSkewRepair => {
    const parts = { store, wake, limits: quick, logger: { debug() {}, info() {}, warn() {}, error() {} } };
    const made = new ClockSkewRepair({ ...parts, now: Date.now });
    onTestFinished(() => made.end());
    return made;
  };

  it("leaves alone what any retry may wait for, and tells nobody", async () => {
    const store = sqliteStore(path);
    onTestFinished(() => store.close());
    const log = await Log.create(store, []);
    await store.putPushConfig({
      ...{ taskId: log.head.taskId, configId: "x", bytes: new Uint8Array(), target: "t" },
      ...{ maxPerTask: 1, maxPerOwner: 1, now: Date.now() },
    });
    const at = Date.now() + 299_000;
    await store.append({ ...rowOf(log), time: at });
    let woken = 0;
    let looked = 0;
    const watched: TaskStore = Object.create(store, {
      rescheduleDeliveries: { value: (request: never) => store.rescheduleDeliveries(request).finally(() => looked++) },
    });
    clockSkewRepair(watched, () => woken++).start();
    await expect.poll(() => looked, patience).toBe(1);
    expect([await store.nextDelivery(), woken]).toEqual([at, 0]);
  });
});

function rowOf(log: Log): Omit<Parameters<TaskStore["append"]>[0], "time"> {
  const { lease: _, ...row } = log.head;
  const position = row.position + 1;
  return { head: { ...row, position, generation: position }, expected: row.position, entries: [new Uint8Array([1])] };
}
