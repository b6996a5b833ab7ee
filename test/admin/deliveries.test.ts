import { createServer as createNetServer } from "node:net";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { type Client, Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AdminService, DeliveryState } from "../../gen/parley/admin/v1/admin_pb.js";
import type { AuditRecord, Server, ServerOptions } from "../../src/index.js";
import { hostRest } from "../../src/push/host-limiter.js";
import { pushRetry } from "../../src/push/outcome.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { obedient } from "../conformance/agents.js";
import { type Answer, accept, Receiver, refuse } from "../push/receiver.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { setConstants } from "../support/constants.js";
import { openWorld, tokens } from "./world.js";

vi.setConfig({ testTimeout: 60_000 });

const patience = { timeout: 30_000, interval: 20 };

/** Secrets of a webhook. Only its notifications may contain them. */
const secrets = ["secret-path", "secret-query", "secret-token", "secret-credentials"];

const stores: Readonly<Record<string, () => TaskStore>> = {
  memory: () => memoryStore(),
  sqlite: () => sqliteStore({ path: temporaryFile(), synchronous: "NORMAL" }),
};

/** A server with an operator's client for its deliveries, and their receiver. */
class World {
  readonly told: string[] = [];
  readonly logged: string[] = [];
  readonly records: AuditRecord[] = [];
  server!: Server;
  operator!: Client<typeof AdminService>;

  constructor(readonly receiver: Receiver) {}

  async open(store: TaskStore, more: Partial<ServerOptions> = {}): Promise<void> {
    const note = (facts: object, message: string): void => {
      this.logged.push(
        JSON.stringify({ ...facts, message }, (_, value) =>
          value instanceof Error ? { ...value, m: value.message } : value,
        ),
      );
    };
    const opened = await openWorld({}, {
      agent: obedient("operated"),
      store,
      logger: { debug: note, info: note, warn: note, error: note },
      audit: { write: (record) => void this.records.push(record) },
      push: { allowHttp: true, ports: [this.receiver.port], allow: ["127.0.0.1"] },
      limits: { shutdownGraceMs: 50, maxPushRetryMs: 50, pushTimeoutMs: 1_000, maxDeliveriesPerHost: 8 },
      ...more,
    } as Partial<ServerOptions>);
    this.server = opened.server;
    this.operator = operatorAt(opened.address, this.told);
  }

  /** Creates a task with a webhook, by a call of its client. */
  async task(text: string, path = "/secret-path?key=secret-query", id = "hook"): Promise<string> {
    const taskPushNotificationConfig = {
      ...{ id, url: this.receiver.url(path), token: "secret-token" },
      authentication: { scheme: "Bearer", credentials: "secret-credentials" },
    };
    const message = { messageId: `${Math.random()}`, role: "ROLE_USER", parts: [{ text }] };
    const body = JSON.stringify({ message, configuration: { taskPushNotificationConfig, returnImmediately: true } });
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    const answer = await fetch(`${this.server.url}/message:send`, { method: "POST", headers, body });
    const { task } = (await answer.json()) as { task: { id: string } };
    return task.id;
  }

  async stateOf(taskId: string, configId = "hook"): Promise<DeliveryState | undefined> {
    const { deliveries } = await this.operator.listDeliveries({ taskId });
    return deliveries.find((each) => each.configId === configId)?.state;
  }

  has(taskId: string, state: DeliveryState, configId = "hook"): Promise<void> {
    return expect.poll(() => this.stateOf(taskId, configId), patience).toBe(state);
  }

  async close(): Promise<void> {
    await this.server.close({ graceMs: 0 });
    await this.receiver.stop();
  }
}

/** An operator's client that notes every answer and error. */
function operatorAt(address: string, told: string[]): Client<typeof AdminService> {
  const noting: Interceptor = (next) => async (request) => {
    request.header.set("authorization", `Bearer ${tokens.write}`);
    try {
      const answer = await next(request);
      if (!answer.stream)
        told.push(JSON.stringify(answer.message, (_, value) => (typeof value === "bigint" ? `${value}` : value)));
      return answer;
    } catch (error) {
      const { rawMessage, details } = ConnectError.from(error);
      told.push(JSON.stringify([rawMessage, details]));
      throw error;
    }
  };
  return createClient(
    AdminService,
    createConnectTransport({ baseUrl: `http://${address}`, httpVersion: "1.1", interceptors: [noting] }),
  );
}

const codeOf = async (call: Promise<unknown>): Promise<Code | undefined> =>
  call.then(
    () => undefined,
    (error: unknown) => ConnectError.from(error).code,
  );

let world: World;

beforeEach(async () => {
  setConstants(pushRetry, { firstMs: 20 });
  setConstants(hostRest, { maxMs: 200 });
  world = new World(await Receiver.start());
});

afterEach(() => world.close());

/** An answer that began and did not end. */
const half = { status: 200, answer: "half of it" };

describe.each(Object.entries(stores))("an operator of deliveries, on %s", (_, store) => {
  it("sees each delivery with its state, its attempts and their answers", async () => {
    await world.open(store());
    const slowMs = 30;
    world.receiver.answer = ({ generation }, response) =>
      void setTimeout(
        () => response.writeHead(generation < 2 ? 200 : 500).end(generation < 2 ? "fine" : "not today"),
        slowMs,
      );
    const begin = Date.now();
    const taskId = await world.task("stream 2");
    const found = async () => (await world.operator.listDeliveries({ taskId })).deliveries[0];
    await expect.poll(async () => (await found())?.attempts, patience).toBeGreaterThan(1);
    const delivery = await found();
    expect(delivery).toMatchObject({
      ...{ taskId, configId: "hook", tenant: "", owner: "", state: DeliveryState.DUE, position: expect.any(Number) },
      target: `http://127.0.0.1:${world.receiver.port}`,
      failure: "the receiver answered 500",
    });
    expect(delivery?.failingSince?.seconds).toBeGreaterThan(0n);
    expect(delivery?.at?.seconds).toBeGreaterThan(0n);
    expect(delivery?.headPosition).toBeGreaterThan(delivery?.position ?? 0);
    const { attempts } = await world.operator.listAttempts({ taskId, configId: "hook" });
    expect(attempts.length).toBeGreaterThan(2);
    expect(attempts[0]).toMatchObject({ status: 500, answer: "not today", generation: 2, byOperator: false });
    expect(attempts.at(-1)).toMatchObject({ status: 200, answer: "fine", failure: "", generation: 1 });
    expect(new Set(attempts.map(({ holder }) => holder)).size).toBe(1);
    const times = attempts.map(({ time }) => (time === undefined ? 0 : timestampMs(time)));
    expect(times).toEqual([...times].sort((a, b) => b - a));
    // Both ends may be rounded to a millisecond.
    expect(times.at(-1)).toBeGreaterThanOrEqual(begin - 1);
    for (const [index, { durationMs }] of attempts.entries()) {
      expect(durationMs).toBeGreaterThanOrEqual(slowMs - 2);
      expect((times[index] ?? 0) + durationMs).toBeLessThanOrEqual(Date.now() + 1);
    }
    expect((await world.operator.listOwners({})).owners).toMatchObject([{ owner: "", pushConfigs: 1n }]);
    world.receiver.answer = accept;
    await world.has(taskId, DeliveryState.IDLE);
  });

  it.each<[string, Answer, object]>([
    ["stalls", (_hit, response) => void response.writeHead(200).write("half of it"), half],
    [
      "is cut off",
      (_hit, response) => {
        response.writeHead(200, { "content-length": "99" });
        response.write("half of it", () => response.destroy());
      },
      half,
    ],
    [
      "sends 10 MB",
      (_hit, response) => void response.writeHead(500).end(Buffer.alloc(10 * 1024 * 1024, "x")),
      { status: 500, answer: "x".repeat(512) },
    ],
  ])("has the answer of a receiver that %s", async (what, answer, expected) => {
    world.receiver.answer = answer;
    // A busy machine needs a while for 10 MB.
    const pushTimeoutMs = what === "stalls" ? 500 : 10_000;
    await world.open(store(), { limits: { shutdownGraceMs: 50, maxPushRetryMs: 50, pushTimeoutMs } });
    const key = { taskId: await world.task("say done"), configId: "hook" };
    const first = async () => (await world.operator.listAttempts(key)).attempts.at(-1);
    await expect.poll(first, patience).toBeDefined();
    const { attempt } = await world.operator.sendTestEvent(key);
    for (const each of [await first(), attempt]) {
      expect(each).toMatchObject(expected);
      expect(each?.failure).not.toBe("");
    }
    expect(attempt).toMatchObject({ byOperator: true, generation: 0 });
  });

  it("follows no redirect to a private address, and reaches none that is forbidden by now", async () => {
    const connected: unknown[] = [];
    const inner = createNetServer((socket) => void connected.push(socket.destroy()));
    await new Promise<void>((resolve) => inner.listen(0, "127.0.0.1", resolve));
    const location = `http://127.0.0.1:${(inner.address() as { port: number }).port}/`;
    world.receiver.answer = refuse(307, { location });
    const path = temporaryFile();
    await world.open(sqliteStore({ path, synchronous: "NORMAL" }));
    const key = { taskId: await world.task("say done"), configId: "hook" };
    const redirected = { status: 307, failure: "the receiver answered 307" };
    expect((await world.operator.sendTestEvent(key)).attempt).toMatchObject(redirected);
    await world.server.close({ graceMs: 0 });
    await world.open(sqliteStore({ path, synchronous: "NORMAL" }), {
      push: { allowHttp: true, ports: [world.receiver.port] },
    });
    const hits = world.receiver.hits.length;
    const { attempt } = await world.operator.sendTestEvent(key);
    expect(attempt).toMatchObject({ status: 0, failure: expect.stringContaining("url"), byOperator: true });
    expect(world.receiver.hits).toHaveLength(hits);
    expect(connected).toEqual([]);
    inner.close();
  });

  it("redrives what matches, and never another delivery", async () => {
    world.receiver.answer = refuse(410);
    await world.open(store());
    const ids = [await world.task("say done"), await world.task("say done"), await world.task("say done")];
    for (const taskId of ids) await world.has(taskId, DeliveryState.DEAD);
    const states = async (): Promise<DeliveryState[]> =>
      (await world.operator.listDeliveries({})).deliveries.map(({ state }) => state);
    const dead = [DeliveryState.DEAD, DeliveryState.DEAD, DeliveryState.DEAD];
    world.receiver.answer = accept;
    const redrive = async (request: object): Promise<bigint> => (await world.operator.redriveDeliveries(request)).count;
    const { port } = world.receiver;
    for (const none of [
      { owner: "alice" },
      { tenant: "other" },
      { target: "https://127.0.0.1" },
      { owner: "", target: `http://127.0.0.1:${port + 1}` },
    ]) {
      expect(await redrive(none)).toBe(0n);
    }
    expect(await states()).toEqual(dead);
    const [one = "", ...rest] = ids;
    expect(
      await redrive({
        keys: [
          { taskId: one, configId: "hook" },
          { taskId: "no", configId: "hook" },
        ],
      }),
    ).toBe(1n);
    await world.has(one, DeliveryState.IDLE);
    for (const taskId of rest) expect(await world.stateOf(taskId)).toBe(DeliveryState.DEAD);
    const mixed = { keys: [{ taskId: one, configId: "hook" }], owner: "" };
    expect(await codeOf(world.operator.redriveDeliveries(mixed))).toBe(Code.InvalidArgument);
    expect(await redrive({ tenant: "", owner: "", target: `http://127.0.0.1:${port}/any/path` })).toBe(2n);
    for (const taskId of rest) await world.has(taskId, DeliveryState.IDLE);
    const redriven = world.records.filter(({ event }) => event === "push.redriven");
    // One record for each task, in no particular order where several are redriven by one call.
    expect(redriven.map(({ taskId }) => taskId).toSorted()).toEqual(ids.toSorted());
    expect(redriven[0]?.taskId).toBe(one);
    for (const record of redriven) {
      expect(record).toMatchObject({ count: 1, agent: "operated", requestId: expect.stringMatching(/./) });
    }
  });

  it("pages through the filtered list", async () => {
    await world.open(store());
    const ids: string[] = [];
    for (let number = 0; number < 7; number++) ids.push(await world.task("say done", `/${number}`));
    for (const taskId of ids) await world.has(taskId, DeliveryState.IDLE);
    const listed: string[] = [];
    let pageToken = "";
    do {
      const page = await world.operator.listDeliveries({
        states: [DeliveryState.IDLE],
        owner: "",
        pageSize: 3,
        pageToken,
      });
      listed.push(...page.deliveries.map(({ taskId }) => taskId));
      pageToken = page.nextPageToken;
      if (pageToken !== "") {
        const others = world.operator.listDeliveries({ states: [DeliveryState.DEAD], owner: "", pageToken });
        expect(await codeOf(others)).toBe(Code.InvalidArgument);
      }
    } while (pageToken !== "");
    expect(listed).toEqual([...ids].sort());
    expect((await world.operator.listDeliveries({ states: [DeliveryState.DEAD] })).deliveries).toEqual([]);
    expect((await world.operator.listDeliveries({ tenant: "no" })).deliveries).toEqual([]);
    for (const wrong of [
      { states: [DeliveryState.UNSPECIFIED] },
      { states: [9] },
      { pageSize: 1_001 },
      { pageToken: "x" },
    ]) {
      expect(await codeOf(world.operator.listDeliveries(wrong))).toBe(Code.InvalidArgument);
    }
  });

  it("tests a webhook and sends an event again without moving the deliveries", async () => {
    await world.open(store());
    const taskId = await world.task("say done");
    await world.has(taskId, DeliveryState.IDLE);
    const key = { taskId, configId: "hook" };
    const before = (await world.operator.listDeliveries({ taskId })).deliveries;
    const { attempt: tested } = await world.operator.sendTestEvent(key);
    const { attempt: again } = await world.operator.resendEvent({ ...key, generation: 1 });
    expect(tested).toMatchObject({ status: 204, failure: "", generation: 0, byOperator: true });
    expect(again).toMatchObject({ status: 204, failure: "", generation: 1, byOperator: true });
    const [original, ...others] = world.receiver.hits.filter(({ generation }) => generation === 1);
    expect(others).toMatchObject([{ id: original?.id, body: original?.body }]);
    expect(world.receiver.hits.filter(({ headers }) => headers["parley-test"] === "true")).toHaveLength(1);
    expect((await world.operator.listDeliveries({ taskId })).deliveries).toEqual(before);
    const { attempts } = await world.operator.listAttempts(key);
    expect(attempts.filter(({ byOperator }) => byOperator)).toHaveLength(2);
    expect(await codeOf(world.operator.resendEvent({ ...key, generation: 99 }))).toBe(Code.InvalidArgument);
  });

  it("deletes a configuration, and nothing else of the task", async () => {
    world.receiver.answer = refuse(500);
    await world.open(store());
    const taskId = await world.task("say done");
    await expect
      .poll(async () => (await world.operator.listAttempts({ taskId, configId: "hook" })).attempts.length, patience)
      .toBeGreaterThan(0);
    const key = { taskId, configId: "hook" };
    await world.operator.deletePushConfig(key);
    expect((await world.operator.listDeliveries({ taskId })).deliveries).toEqual([]);
    for (const call of [
      world.operator.deletePushConfig(key),
      world.operator.listAttempts(key),
      world.operator.sendTestEvent(key),
      world.operator.resendEvent({ ...key, generation: 1 }),
      world.operator.deletePushConfig({ taskId: "no", configId: "hook" }),
    ]) {
      expect(await codeOf(call)).toBe(Code.NotFound);
    }
    const answer = await fetch(`${world.server.url}/tasks/${taskId}`, { headers: { "a2a-version": "1.0" } });
    expect(answer.status).toBe(200);
  });

  it("reads no secret of a webhook in any answer, log line or audit record", async () => {
    // The receiver repeats the whole request in its answer, as test receivers do.
    world.receiver.answer = ({ path, headers, body }, response) =>
      void response.writeHead(500).end(`${path} ${headers.authorization}\n${JSON.stringify({ path, headers, body })}`);
    await world.open(store());
    const taskId = await world.task("say done");
    const key = { taskId, configId: "hook" };
    await expect
      .poll(async () => (await world.operator.listAttempts(key)).attempts.length, patience)
      .toBeGreaterThan(2);
    await world.operator.sendTestEvent(key);
    await world.operator.redriveDeliveries({});
    await codeOf(world.operator.resendEvent({ ...key, generation: 1 }));
    world.receiver.answer = refuse(410);
    await world.has(taskId, DeliveryState.DEAD);
    await world.operator.listDeliveries({});
    await world.operator.listAttempts(key);
    await world.operator.deletePushConfig(key);
    await world.server.close({ graceMs: 0 });
    expect(world.told.join("\n")).toContain("[redacted]");
    const all = {
      told: world.told.join("\n"),
      logged: world.logged.join("\n"),
      records: JSON.stringify(world.records),
    };
    for (const [place, text] of Object.entries(all)) {
      for (const secret of secrets) expect(text.includes(secret), `${secret} is in ${place}`).toBe(false);
    }
    // Only answers to operators contain the receiver's answer.
    for (const text of [all.logged, all.records]) expect(text).not.toContain("redacted");
  });
});

describe("an operator of a server without push notifications", () => {
  it("sees what is stored, redrives it, and sends nothing", async () => {
    const path = temporaryFile();
    world.receiver.answer = refuse(410);
    await world.open(sqliteStore({ path, synchronous: "NORMAL" }));
    const taskId = await world.task("say done");
    await world.has(taskId, DeliveryState.DEAD);
    await world.server.close({ graceMs: 0 });
    await world.open(sqliteStore({ path, synchronous: "NORMAL" }), { push: false });
    const key = { taskId, configId: "hook" };
    expect(await world.stateOf(taskId)).toBe(DeliveryState.DEAD);
    expect((await world.operator.listAttempts(key)).attempts).toMatchObject([{ status: 410, answer: "no" }]);
    expect(await codeOf(world.operator.sendTestEvent(key))).toBe(Code.FailedPrecondition);
    expect(await codeOf(world.operator.resendEvent({ ...key, generation: 1 }))).toBe(Code.FailedPrecondition);
    expect((await world.operator.redriveDeliveries({ keys: [key] })).count).toBe(1n);
    expect(await world.stateOf(taskId)).toBe(DeliveryState.DUE);
    await world.operator.deletePushConfig(key);
    expect(await world.stateOf(taskId)).toBeUndefined();
  });

  it("sees nothing where there is nothing", async () => {
    await world.open(memoryStore(), { push: false });
    expect((await world.operator.listDeliveries({})).deliveries).toEqual([]);
    expect((await world.operator.redriveDeliveries({})).count).toBe(0n);
  });
});

describe("an operator of one of two servers on a file", () => {
  it("sees which process has a delivery, and what it made of it", async () => {
    const path = temporaryFile();
    const opened = (): TaskStore => sqliteStore({ path, shared: true, synchronous: "NORMAL" });
    const held: (() => void)[] = [];
    world.receiver.answer = (hit, response) => {
      const end = (): void => void response.writeHead(hit.headers["parley-test"] === "true" ? 200 : 500).end("later");
      if (hit.headers["parley-test"] === "true") end();
      else held.push(end);
    };
    const limits = { shutdownGraceMs: 50, maxPushRetryMs: 600_000, pushTimeoutMs: 20_000 };
    setConstants(pushRetry, { firstMs: 600_000 });
    await world.open(opened(), { limits });
    const taskId = await world.task("say done");
    await expect.poll(() => held, patience).toHaveLength(1);
    const key = { taskId, configId: "hook" };
    const other = new World(world.receiver);
    await other.open(opened(), { limits });
    const seen = async () => (await other.operator.listDeliveries({ taskId })).deliveries[0];
    const holder = (await seen())?.holder ?? "";
    expect(holder).not.toBe("");
    // A test event needs no claim.
    const { attempt: tested } = await other.operator.sendTestEvent(key);
    expect(tested).toMatchObject({ status: 200, failure: "" });
    expect(tested?.holder).not.toBe(holder);
    for (const end of held) end();
    const failed = async () => (await other.operator.listAttempts(key)).attempts.find(({ byOperator }) => !byOperator);
    await expect.poll(failed, patience).toBeDefined();
    expect(await failed()).toMatchObject({ holder, status: 500, answer: "later", generation: 1, byOperator: false });
    await expect.poll(async () => (await seen())?.holder, patience).toBe("");
    await other.server.close({ graceMs: 0 });
  });
});
