import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Attempt } from "../../src/push/attempt-history.js";
import { outgoingPushes } from "../../src/push/dispatcher.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { StoredDelivery, TaskStore } from "../../src/store/task-store.js";
import { setConstants } from "../support/constants.js";
import { accept, Receiver, receive, refuse } from "./receiver.js";
import { chunk, Log, Rig, type RigOptions, status } from "./rig.js";

const patience = { timeout: 20_000, interval: 10 };

let store: TaskStore;
let receiver: Receiver;

beforeEach(async () => {
  store = memoryStore();
  receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
});

const rig = (options: Partial<RigOptions> = {}): Rig => new Rig(store, { receivers: [receiver], ...options });

/** Waits until everything of a task is delivered, and recorded as such. */
const delivered = (log: Log): Promise<void> =>
  expect.poll(async () => (await stateOf(log)).state, patience).toBe("idle");

async function stateOf(log: Log, configId = "/a"): Promise<StoredDelivery> {
  const { deliveries } = await store.listDeliveries({ taskId: log.head.taskId, limit: 10 });
  const found = deliveries.find((each) => each.configId === configId);
  if (found === undefined) throw new Error("there is no such configuration");
  return found;
}

const test = (one: Rig, log: Log, configId = "/a"): Promise<Attempt> =>
  one.operations.send({ taskId: log.head.taskId, configId, generation: undefined });

const resend = (one: Rig, log: Log, generation: number, configId = "/a"): Promise<Attempt> =>
  one.operations.send({ taskId: log.head.taskId, configId, generation });

describe("a test event", () => {
  it("names the task with its status, has the mark and an id of its own, and moves nothing", async () => {
    const one = await rig().start();
    const log = await Log.create(store, [receiver.url("/a")], [status(TaskState.WORKING), chunk("1")]);
    one.news();
    await delivered(log);
    const before = await stateOf(log);
    receiver.answer = (_, response) => void response.writeHead(201).end("thanks");
    const attempts = [await test(one, log), await test(one, log)];
    for (const attempt of attempts) {
      expect(attempt).toMatchObject({ status: 201, answer: "thanks", failure: "", generation: 0, byOperator: true });
    }
    const hits = receiver.of("/a").slice(-2);
    expect(hits.map(({ headers }) => headers["parley-test"])).toEqual(["true", "true"]);
    expect(new Set(hits.map(({ id }) => id)).size).toBe(2);
    for (const { id, generation, headers, body } of hits) {
      expect(id).toMatch(/^test_[\w-]{27}$/);
      expect(generation).toBe(0);
      expect(headers).toMatchObject({ "x-a2a-notification-token": "token of /a" });
      expect(JSON.parse(body)).toEqual({
        statusUpdate: { taskId: log.head.taskId, contextId: "c", status: { state: "TASK_STATE_WORKING" } },
      });
    }
    expect(await stateOf(log)).toEqual(before);
  });

  it("goes to a dead configuration, and to one whose deliveries fail, and changes neither", async () => {
    receiver.answer = refuse(410);
    const one = await rig().start();
    const log = await Log.create(store, [receiver.url("/a")]);
    one.news();
    await expect.poll(async () => (await stateOf(log)).state, patience).toBe("dead");
    const before = await stateOf(log);
    const attempt = await test(one, log);
    expect(attempt).toMatchObject({ status: 410, answer: "no", failure: "the receiver answered 410" });
    receiver.answer = accept;
    expect(await test(one, log)).toMatchObject({ status: 204, answer: "", failure: "" });
    expect(await stateOf(log)).toEqual(before);
    expect(receiver.generationsOf("/a")).toEqual([1, 0, 0]);
  });

  it("probes a host that rests, one at a time, and ends the rest with a success", async () => {
    receiver.answer = refuse(503);
    const one = await rig({ rest: { maxMs: 600_000, failures: 1 }, limits: { maxPushRetryMs: 600_000 } }).start();
    const log = await Log.create(store, [receiver.url("/a")]);
    one.news();
    await expect.poll(() => one.dispatcher.status.failingHosts, patience).toHaveLength(1);
    receiver.answer = (_, response) => void setTimeout(() => response.writeHead(204).end(), 50);
    receiver.peak = 0;
    const attempts = await Promise.all([test(one, log), test(one, log), test(one, log)]);
    expect(attempts.map(({ failure }) => failure)).toEqual(["", "", ""]);
    // The first one alone: its success lets two go at once.
    expect(receiver.peak).toBe(2);
    expect(one.dispatcher.status.failingHosts).toEqual([]);
  });

  it("waits for the slots of its host as deliveries do", async () => {
    let open: (() => void)[] = [];
    receiver.answer = (_, response) => void open.push(() => response.writeHead(204).end());
    const one = await rig({ limits: { maxDeliveriesPerHost: 1 } }).start();
    const log = await Log.create(store, [receiver.url("/a")]);
    one.news();
    await expect.poll(() => open.length, patience).toBe(1);
    const testing = test(one, log);
    const second = test(one, log);
    const release = (): void => {
      for (const end of open) end();
      open = [];
    };
    const timer = setInterval(release, 20);
    onTestFinished(() => clearInterval(timer));
    expect((await testing).failure).toBe("");
    expect((await second).failure).toBe("");
    await delivered(log);
    expect(receiver.peak).toBe(1);
  });

  it("goes after the first success of its host, while the delivery that had it continues", async () => {
    const open: (() => void)[] = [];
    receiver.answer = (hit, response, request) => {
      if (hit.generation === 0) accept(hit, response, request);
      else open.push(() => response.writeHead(204).end());
    };
    const one = await rig({ limits: { pushTimeoutMs: 600_000 } }).start();
    const log = await Log.create(store, [receiver.url("/a")], [chunk("1")]);
    one.news();
    await expect.poll(() => open.length, patience).toBe(1);
    const testing = test(one, log);
    // By then it waits for the only slot.
    await sleep(100);
    open[0]?.();
    expect((await testing).failure).toBe("");
    // The delivery keeps its slot.
    await expect.poll(() => open.length, patience).toBe(2);
    expect(one.dispatcher.status.working).toBe(1);
  });

  it("goes once another unproven host frees the only slot for those, one at a time", async () => {
    const others = [await receive(), await receive()];
    const limits = { maxDeliveries: 2, pushTimeoutMs: 600_000 };
    const one = await rig({ receivers: [receiver, ...others], limits }).start();
    const logs: Log[] = [];
    for (const each of others) {
      each.answer = refuse(410);
      const log = await Log.create(store, [each.url("/a")]);
      one.news();
      await expect.poll(async () => (await stateOf(log)).state, patience).toBe("dead");
      logs.push(log);
    }
    const open: (() => void)[] = [];
    for (const each of [receiver, ...others]) {
      each.answer = (_, response) => void open.push(() => response.writeHead(204).end());
    }
    await Log.create(store, [receiver.url("/a")]);
    one.news();
    await expect.poll(() => open.length, patience).toBe(1);
    const tests = logs.map((log) => test(one, log));
    for (let ended = 0; ended < 3; ended++) {
      await expect.poll(() => open.length, patience).toBe(ended + 1);
      // Time for another one, which must wait.
      await sleep(100);
      expect(open).toHaveLength(ended + 1);
      open[ended]?.();
    }
    expect((await Promise.all(tests)).map(({ failure }) => failure)).toEqual(["", ""]);
  });

  it("ends with the server", async () => {
    receiver.answer = () => {};
    const one = await rig().start();
    const log = await Log.create(store, [receiver.url("/a")]);
    const testing = test(one, log);
    await expect.poll(() => receiver.hits.length, patience).toBeGreaterThan(0);
    await one.end();
    expect((await testing).failure).not.toBe("");
    await expect(test(one, log)).rejects.toMatchObject({ reason: "UNAVAILABLE" });
  });

  it("is refused for a configuration that does not exist", async () => {
    const one = await rig().start();
    const log = await Log.create(store, [receiver.url("/a")]);
    await expect(test(one, log, "/b")).rejects.toMatchObject({ reason: "TASK_NOT_FOUND" });
    const unknown = one.operations.send({ taskId: "no", configId: "/a", generation: undefined });
    await expect(unknown).rejects.toMatchObject({ reason: "TASK_NOT_FOUND" });
  });
});

describe("an event that is sent again", () => {
  it("has the id and the body of the first time, and moves nothing", async () => {
    const one = await rig().start();
    const log = await Log.create(store, [receiver.url("/a")], [status(TaskState.WORKING), chunk("1"), chunk("2")]);
    one.news();
    await delivered(log);
    const before = await stateOf(log);
    const first = receiver.of("/a");
    for (const generation of [3, 1]) {
      expect(await resend(one, log, generation)).toMatchObject({ status: 204, failure: "", generation });
      const again = receiver.of("/a").at(-1);
      const original = first.find((hit) => hit.generation === generation);
      expect(again).toMatchObject({ id: original?.id, body: original?.body, generation });
      expect(again?.headers["parley-test"]).toBeUndefined();
    }
    expect(await stateOf(log)).toEqual(before);
  });

  it("is found without a read of the events before it", async () => {
    const one = await rig().start();
    const events = Array.from({ length: 200 }, (_, index) => chunk(String(index)));
    const log = await Log.create(store, [receiver.url("/a")], events);
    one.news();
    await delivered(log);
    const read = vi.spyOn(store, "read");
    expect(await resend(one, log, 200)).toMatchObject({ generation: 200, failure: "" });
    expect(read.mock.calls.map(([{ after }]) => after)).toEqual([0, 199]);
  });

  it("takes no buffer space of healthy hosts while its own host stalls", async () => {
    setConstants(outgoingPushes, { maxBytes: 40_000 });
    const healthy = await Receiver.start();
    onTestFinished(() => healthy.stop());
    const one = await rig({ receivers: [receiver, healthy], limits: { pushTimeoutMs: 600_000 } }).start();
    const large = chunk("x".repeat(20_000));
    const log = await Log.create(store, [receiver.url("/a")], [large]);
    const other = await Log.create(store, [healthy.url("/b")]);
    one.news();
    await delivered(log);
    await expect.poll(() => healthy.generationsOf("/b"), patience).toEqual([1]);
    receiver.answer = refuse(503);
    expect((await test(one, log)).status).toBe(503);
    receiver.answer = () => {};
    const resent = resend(one, log, 2);
    await expect.poll(() => receiver.of("/a").map(({ generation }) => generation), patience).toEqual([1, 2, 0, 2]);
    await other.append([large]);
    one.news();
    await expect.poll(() => healthy.generationsOf("/b"), patience).toEqual([1, 2]);
    await one.end();
    expect((await resent).failure).not.toBe("");
  });

  it("is one that exists, is sent to this configuration, and was delivered", async () => {
    receiver.answer = (hit, response, request) => (hit.generation === 3 ? refuse(410) : accept)(hit, response, request);
    const one = await rig({ events: ["status", "task"] }).start();
    const events = [chunk("1"), status(TaskState.WORKING), status(TaskState.COMPLETED)];
    const log = await Log.create(store, [receiver.url("/a")], events);
    one.news();
    await expect.poll(async () => (await stateOf(log)).state, patience).toBe("dead");
    receiver.answer = accept;
    expect((await resend(one, log, 1)).failure).toBe("");
    for (const generation of [0, 5, 4_000_000_000]) {
      await expect(resend(one, log, generation)).rejects.toMatchObject({ reason: "INVALID_PARAMS" });
    }
    await expect(resend(one, log, 2)).rejects.toMatchObject({ message: expect.stringContaining("not sent to this") });
    for (const generation of [3, 4]) {
      await expect(resend(one, log, generation)).rejects.toMatchObject({ reason: "UNSUPPORTED_OPERATION" });
    }
  });
});
