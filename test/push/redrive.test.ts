import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { accept, Receiver, refuse } from "./receiver.js";
import { Log, Rig, type RigOptions, status } from "./rig.js";

const patience = { timeout: 20_000, interval: 10 };
let store: TaskStore;
let receiver: Receiver;

beforeEach(async () => {
  store = memoryStore();
  receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
});

/** A dispatcher that looks for deliveries only when it is woken. */
const rig = (options: Partial<RigOptions> = {}): Promise<Rig> =>
  new Rig(store, { receivers: [receiver], pollMs: 600_000, ...options }).start();

describe("PushControl.redrive()", () => {
  it("attempts a named delivery at once that waits for its next attempt", async () => {
    receiver.answer = refuse(500);
    const one = await rig({ limits: { maxPushRetryMs: 3_600_000 }, retryMs: 3_600_000 });
    const log = await Log.create(store, [receiver.url("/a")], [status(TaskState.WORKING)]);
    one.news();
    const key = { taskId: log.head.taskId, configId: "/a" };
    await expect
      .poll(async () => (await store.listDeliveries({ limit: 1 })).deliveries[0], patience)
      .toMatchObject({ state: "due", attempts: 1, holder: undefined });
    receiver.answer = accept;
    expect(await one.control.redrive()).toBe(0);
    expect(receiver.hits).toHaveLength(1);
    expect(await one.control.redrive([key])).toBe(1);
    await expect.poll(() => receiver.hits.length, patience).toBe(1 + log.generations.length);
  });

  it("delivers what it resumed before the store failed", async () => {
    receiver.answer = refuse(410);
    const one = await rig();
    const logs = [await Log.create(store, [receiver.url("/a")]), await Log.create(store, [receiver.url("/b")])];
    one.news();
    await expect.poll(() => one.control.deadLetters(), patience).toHaveLength(2);
    // Ends the claims that follow the last attempts.
    await sleep(300);
    const keys = logs.map(({ head: { taskId } }, number) => ({ taskId, configId: number === 0 ? "/a" : "/b" }));
    receiver.answer = accept;
    const { redriveDeliveries } = store;
    store.redriveDeliveries = async (request) => {
      const count = await redriveDeliveries(request);
      if (request.keys?.[0]?.configId === "/b") throw new Error("the disk is full");
      return count;
    };
    await expect(one.control.redrive(keys)).rejects.toThrow("the disk is full");
    await expect.poll(() => receiver.of("/a").length, patience).toBe(2);
  });
});
