import { beforeEach, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { accept, type Receiver, receive, refuse } from "./receiver.js";
import { Log, Rig, type RigOptions, status } from "./rig.js";

const patience = { timeout: 20_000, interval: 10 };

let store: TaskStore;
let receiver: Receiver;

beforeEach(async () => {
  store = memoryStore();
  receiver = await receive();
});

const rig = (options: Partial<RigOptions> = {}, on = store): Rig => new Rig(on, { receivers: [receiver], ...options });

it("names the request of the next event if a webhook is given up that was never tried", async () => {
  const bad = await receive((_, response) => response.destroy());
  const limits = { maxPushAgeMs: 500, maxDeliveriesPerHostPerSecond: 1_000 };
  const one = await rig({ receivers: [bad], limits }).start();
  const taskIds: string[] = [];
  for (let i = 0; i < 30; i++) taskIds.push((await Log.ofRequest(store, bad.url(`/${i}`), `r-${i}`)).head.taskId);
  one.news();
  const given = (): object[] =>
    one.logged.filter((line) => line.message === "push notifications were given up").map(({ facts }) => facts);
  await expect.poll(given, patience).toHaveLength(30);
  expect(new Set(bad.hits.map(({ path }) => path)).size).toBeLessThan(30);
  for (const [i, taskId] of taskIds.entries()) {
    expect(given()).toContainEqual(expect.objectContaining({ taskId, requestId: `r-${i}` }));
  }
});

it("names the error of a request without an answer", async () => {
  receiver.answer = (_, response) => response.destroy();
  const one = await rig().start();
  const log = await Log.ofRequest(store, receiver.url("/a"), "r-1");
  one.news();
  const { taskId } = log.head;
  await expect
    .poll(() => one.debugged[0]?.facts, patience)
    .toMatchObject({ taskId, requestId: "r-1", failure: expect.any(String), err: expect.any(Error) });
});

it("lacks the request if the store fails to read it, and the notification is retried as ever", async () => {
  receiver.answer = refuse(500);
  const failing = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return async (...args: { readonly limit?: number }[]) => {
        if (name === "read" && args[0]?.limit === 1) throw new Error("the disk is on fire");
        return (value as (...a: unknown[]) => unknown).apply(target, args);
      };
    },
  });
  const one = await rig({}, failing).start();
  // The delivery begins after the message.
  const log = await Log.ofRequest(store, receiver.url("/a"), "r-1");
  one.news();
  await expect.poll(() => one.debugged, patience).not.toEqual([]);
  receiver.answer = accept;
  await expect.poll(() => store.nextDelivery(), patience).toBeUndefined();
  for (const { facts } of one.debugged) {
    expect(facts).toMatchObject({ taskId: log.head.taskId, failure: "the receiver answered 500" });
    expect(facts).not.toHaveProperty("requestId");
  }
});

it("names the request of an operator whose event is not accepted", async () => {
  receiver.answer = refuse(500);
  const one = await rig().start();
  const log = await Log.create(store, [], [status(TaskState.WORKING)]);
  await log.configure(receiver.url("/a"));
  const { taskId } = log.head;
  const trace = { traceParent: "", traceState: "", requestId: "of-the-operator" };
  await one.operations.send({ taskId, configId: "/a", generation: undefined, trace });
  const message = "a push notification was not accepted";
  const facts = { taskId, configId: "/a", requestId: "of-the-operator", failure: "the receiver answered 500" };
  expect(one.debugged).toMatchObject([{ facts, message }]);
});
