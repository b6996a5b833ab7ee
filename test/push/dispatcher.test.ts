import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { type Answer, accept, type Receiver, receive, refuse } from "./receiver.js";
import { chunk, Log, message, Rig, type RigOptions, status } from "./rig.js";

const patience = { timeout: 20_000, interval: 10 };

let store: TaskStore;
let receiver: Receiver;

beforeEach(async () => {
  store = memoryStore();
  receiver = await receive();
});

const rig = (options: Partial<RigOptions> = {}): Rig => new Rig(store, { receivers: [receiver], ...options });

/** Waits until nothing is due any more. */
const delivered = (): Promise<void> => expect.poll(() => store.nextDelivery(), patience).toBeUndefined();

/** Waits until a webhook has each event of a log, in order. */
async function has(path: string, log: Log, at = receiver): Promise<void> {
  await expect.poll(() => at.generationsOf(path), patience).toEqual(log.generations);
}

describe("a dispatcher", () => {
  it("delivers every event of a task in order, as it is stored", async () => {
    const one = await rig().start();
    const log = await Log.create(store, [receiver.url("/a")], [status(TaskState.WORKING)]);
    one.news();
    await has("/a", log);
    for (const text of ["1", "2", "3"]) {
      await log.append([chunk(text), message]);
      one.news();
    }
    await log.complete();
    one.news();
    await has("/a", log);
    const bodies = receiver.of("/a").map(({ body }) => JSON.parse(body) as Record<string, Record<string, unknown>>);
    expect(bodies.map((body) => Object.keys(body)[0])).toEqual([
      "task",
      "statusUpdate",
      "artifactUpdate",
      "artifactUpdate",
      "artifactUpdate",
      "statusUpdate",
    ]);
    expect(bodies[0]?.task).toMatchObject({ id: log.head.taskId, status: { state: "TASK_STATE_SUBMITTED" } });
    expect(bodies.at(-1)?.statusUpdate).toMatchObject({ status: { state: "TASK_STATE_COMPLETED" } });
    await delivered();
  });

  it("says in headers what the configuration says, and an id that is the same in each try", async () => {
    receiver.answer = (hit, response, request) =>
      (receiver.hits.length === 1 ? refuse(500) : accept)(hit, response, request);
    const one = await rig().start();
    const log = await Log.create(store, [receiver.url("/a")]);
    one.news();
    await expect.poll(() => receiver.of("/a").length, patience).toBe(2);
    const [first, second] = receiver.of("/a");
    expect(second?.id).toBe(first?.id);
    const hash = createHash("sha256").update(`${log.head.taskId}\0/a\0${1}`).digest("base64url");
    expect(first?.id).toBe(`evt_${hash.slice(0, 27)}`);
    expect(first?.headers).toMatchObject({
      "content-type": "application/a2a+json",
      "x-a2a-notification-token": "token of /a",
      "parley-generation": "1",
      "webhook-timestamp": expect.stringMatching(/^\d{10}$/),
    });
  });

  it("keeps configurations and tasks apart: one that fails holds up no other", async () => {
    receiver.answer = (hit, response, request) => (hit.path === "/bad" ? refuse(500) : accept)(hit, response, request);
    const one = await rig().start();
    const log = await Log.create(store, [receiver.url("/bad"), receiver.url("/good")], [status(TaskState.WORKING)]);
    await log.append([chunk("1"), chunk("2")]);
    await log.complete();
    const other = await Log.create(store, [receiver.url("/other")], [chunk("3")]);
    one.news();
    await expect.poll(() => receiver.generationsOf("/good"), patience).toEqual([3, 4, 5]);
    await has("/other", other);
    // Tried again and again, always with the first one that was not accepted.
    await expect.poll(() => receiver.of("/bad").length, patience).toBeGreaterThan(3);
    expect(receiver.generationsOf("/bad")).toEqual([1]);
    receiver.answer = accept;
    await has("/bad", log);
    await delivered();
  });

  it.each<[string, Answer]>([
    ["a redirect", refuse(302, { location: "/good" })],
    ["an error of the client", refuse(404)],
    ["an error of the server", refuse(503)],
    ["a connection that is closed", (_, response) => response.destroy()],
    [
      "an answer that ends early",
      (_, response) => {
        response.writeHead(200, { "content-length": "100" });
        response.write("half");
        setTimeout(() => response.destroy(), 5);
      },
    ],
    ["an answer that is no HTTP", (_, response) => response.socket?.end("220 mail.example ESMTP\r\n")],
    ["no answer in time", () => {}],
    ["headers that do not end", (_, response) => response.socket?.write("HTTP/1.1 200 OK\r\nx-slow: ")],
    ["a body that does not end", (_, response) => response.writeHead(200).write("and")],
  ])("tries again after %s", async (_, fault) => {
    let left = 2;
    receiver.answer = (hit, response, request) => (left-- > 0 ? fault : accept)(hit, response, request);
    const one = await rig({ limits: { pushTimeoutMs: 1_000 } }).start();
    const log = await Log.create(store, [receiver.url("/a")], [status(TaskState.WORKING)]);
    await log.complete();
    one.news();
    await has("/a", log);
    expect(receiver.of("/a").map(({ generation }) => generation)).toEqual([1, 1, 1, 2, 3]);
    expect(receiver.hits.some(({ path }) => path === "/good")).toBe(false);
    await delivered();
  });

  it.each<[string, Answer]>([
    ["garbage", (_, response) => response.writeHead(200, { "content-type": "application/json" }).end("\0}{<html>")],
    ["an endless body", (_, response) => void endless(response)],
  ])("takes 2xx with %s for what it says", async (_, answer) => {
    receiver.answer = answer;
    const one = await rig().start();
    const log = await Log.create(store, [receiver.url("/a")]);
    one.news();
    await has("/a", log);
    await delivered();
    expect(receiver.of("/a")).toHaveLength(1);
  });

  it("delivers what came meanwhile when a receiver comes back", async () => {
    const { port } = receiver;
    await receiver.stop();
    const log = await Log.create(store, [`http://127.0.0.1:${port}/a`]);
    const one = await new Rig(store, { receivers: [{ port } as Receiver] }).start();
    for (let i = 0; i < 5; i++) await log.append([chunk(`${i}`)]);
    await expect.poll(() => one.dispatcher.status.failed, patience).toBeGreaterThan(2);
    receiver = await receive(accept, port);
    await has("/a", log);
  });

  it("sends the events that the option names", async () => {
    const one = await rig({ events: ["last-chunk", "completed"] }).start();
    const log = await Log.create(store, [receiver.url("/a")], [status(TaskState.WORKING)]);
    await log.append([chunk("1"), chunk("2"), chunk("3", true)]);
    await log.complete();
    one.news();
    await expect.poll(() => receiver.generationsOf("/a"), patience).toEqual([5, 6]);
    await delivered();
    expect(receiver.of("/a")).toHaveLength(2);
  });

  it("waits for as long as a receiver asks for, up to the limit", async () => {
    receiver.answer = (hit, response, request) =>
      (receiver.hits.length === 1 ? refuse(429, { "retry-after": "3600" }) : accept)(hit, response, request);
    const one = await rig({ limits: { maxPushRetryMs: 400 } }).start();
    const log = await Log.create(store, [receiver.url("/a")]);
    one.news();
    await has("/a", log);
    await expect.poll(() => receiver.hits.length, patience).toBe(2);
    const [first, second] = receiver.hits;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(390);
  });

  it("finds what is due without news, also in another process's wake", async () => {
    await rig({ pollMs: 50 }).start();
    const log = await Log.create(store, [receiver.url("/a")]);
    await has("/a", log);
  });

  it("records a position between two notifications alone, and not for the time that it waited for its place", async () => {
    const clock = vi.spyOn(performance, "now");
    onTestFinished(() => clock.mockRestore());
    const now = performance.now();
    let late = 0;
    clock.mockImplementation(() => now + late);
    const held: (() => void)[] = [];
    receiver.answer = (hit, response, request) => void held.push(() => void accept(hit, response, request));
    const answerNext = async (): Promise<void> => {
      await expect.poll(() => held.length, patience).toBe(1);
      late += 300;
      held.pop()?.();
    };
    const saved = vi.spyOn(store, "savePushPosition");
    const long = await Log.create(store, [receiver.url("/long")], [chunk("1")]);
    const short = await Log.create(store, [receiver.url("/short")]);
    await rig({ limits: { maxDeliveriesPerHost: 1 } }).start();
    for (let i = 0; i < 3; i++) await answerNext();
    const key = { taskId: short.head.taskId, configId: "/short" };
    await expect.poll(async () => (await store.getPushConfig(key))?.position, patience).toBe(1);
    await has("/long", long);
    expect(saved.mock.calls.map(([{ key, position }]) => [key.configId, position])).toEqual([["/long", 1]]);
  });

  it("delivers a huge task and small ones beside it", async () => {
    const chunks = 100_000;
    const big = await Log.create(store, [receiver.url("/big")]);
    for (let i = 0; i < chunks / 1_000; i++) await big.append(Array.from({ length: 1_000 }, () => chunk("x")));
    const one = await rig({
      limits: { maxDeliveries: 2, maxDeliveriesPerHost: 2, maxDeliveriesPerHostPerSecond: 1e6 },
    }).start();
    const small: [string, Log][] = [];
    for (let i = 0; i < 50; i++) {
      const log = await Log.create(store, [receiver.url(`/small${i}`)], [status(TaskState.WORKING)]);
      await log.complete();
      small.push([`/small${i}`, log]);
      one.news();
    }
    for (const [path, log] of small) await has(path, log);
    expect(receiver.of("/big").length).toBeLessThan(chunks);
  });
});

async function endless(response: Parameters<Answer>[1]): Promise<void> {
  response.writeHead(200);
  while (!response.destroyed) {
    response.write("x".repeat(16 * 1024));
    await sleep(1);
  }
}
