import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { DeliveryState } from "../../gen/parley/admin/v1/admin_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { completed } from "../../src/agent/event.js";
import { apiKeyScheme } from "../../src/auth/index.js";
import { createServer, type Server } from "../../src/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { Receiver } from "../push/receiver.js";
import { clients, type Operator, pagesOf, stores } from "./task-world.js";
import { operators } from "./world.js";

/** Owners of several tenants, each with an agent of its own, with webhooks and conversations. */

vi.setConfig({ testTimeout: 30_000 });

const keys = ["alice", "bob"].map((owner) => ({ owner, key: `key-of-${owner}` }));
const scheme = apiKeyScheme({ in: "header", name: "X-Key", keys });

const agent = (name: string, more: Partial<Agent> = {}): Agent => ({
  card: { name, description: "Remembers its tasks.", version: "1" },
  async *execute({ text, conversation }) {
    await conversation.state.set({ last: text });
    yield completed("done");
  },
  ...more,
});
const keyed = { security: { schemes: { key: scheme } } };
const agents = { one: agent("First", keyed), two: agent("Second", keyed), open: agent("Open") };

/** A task of an owner in a tenant. */
interface Made {
  readonly taskId: string;
  readonly contextId: string;
  readonly tenant: string;
  readonly owner: string;
}

describe("the filter of ListTasks by agent, on a server of one agent", () => {
  it.each([
    ["any tenant", {}],
    ["listed tenants", { tenants: ["one", "two"] }],
  ])("has the tasks of its tenants: %s", async (_which, tenants) => {
    const store = stores.memory();
    const options = { agent: agent("Only"), ...tenants, store, port: 0, grpcPort: false as const };
    const server = await createServer({ ...options, admin: { listen: "127.0.0.1:0", tokens: operators } });
    onTestFinished(() => server.close({ graceMs: 0 }));
    const admin = clients.connect(server.adminUrl?.replace("http://", "") ?? "");
    for (const path of ["", "/one", "/two"]) {
      const body = JSON.stringify({
        message: { messageId: `m${path}`, role: "ROLE_USER", parts: [{ text: "remember" }] },
      });
      const headers = { "content-type": "application/json", "a2a-version": "1.0" };
      await fetch(`${server.url}${path}/message:send`, { method: "POST", headers, body });
    }
    const named = async (filter: object): Promise<string[]> =>
      (await admin.listTasks(filter)).tasks.map(({ tenant }) => tenant).toSorted();
    expect(await named({ agent: "Only" })).toEqual(["", "one", "two"]);
    expect(await named({ agent: "Only", tenant: "one" })).toEqual(["one"]);
    expect(await named({ agent: "Other" })).toEqual([]);
  });
});

describe.each(Object.entries(stores))("owners of several tenants in %s", (_, open) => {
  let store: TaskStore;
  let server: Server;
  let receiver: Receiver;
  let admin: Operator;
  let made: Record<"aliceOne" | "aliceTwo" | "bobOne" | "anonymous", Made>;

  beforeEach(async () => {
    store = open();
    receiver = await Receiver.start();
    server = await createServer({
      agents,
      store,
      port: 0,
      grpcPort: false,
      push: { allowHttp: true, allow: ["127.0.0.1"], ports: [receiver.port] },
      admin: { listen: "127.0.0.1:0", tokens: operators },
    });
    admin = clients.connect(server.adminUrl?.replace("http://", "") ?? "");
    made = {
      aliceOne: await send("one", "alice"),
      aliceTwo: await send("two", "alice"),
      bobOne: await send("one", "bob"),
      anonymous: await send("open", ""),
    };
  });
  afterEach(async () => {
    await server.close({ graceMs: 0 });
    await receiver.stop();
  });

  async function send(tenant: string, owner: string): Promise<Made> {
    const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "remember" }] };
    const configuration = { taskPushNotificationConfig: { id: "hook", url: receiver.url(`/${tenant}/${owner}`) } };
    const headers = { "content-type": "application/json", "a2a-version": "1.0", "x-key": `key-of-${owner}` };
    const body = JSON.stringify({ message, configuration });
    const answer = await fetch(`${server.url}/${tenant}/message:send`, { method: "POST", headers, body });
    const { task } = (await answer.json()) as { task: { id: string; contextId: string } };
    return { taskId: task.id, contextId: task.contextId, tenant, owner };
  }

  /** Parts of a task that are stored: the task, its push configuration and the state of its conversation. */
  async function partsOf({ taskId, contextId, tenant, owner }: Made): Promise<string[]> {
    const [task, config, state] = await Promise.all([
      store.head({ taskId }),
      store.getPushConfig({ taskId, configId: "hook" }),
      store.conversation({ tenant, owner, contextId }),
    ]);
    const parts = { task, config, state };
    return Object.entries(parts).flatMap(([name, part]) => (part === undefined ? [] : [name]));
  }

  const stored = async (): Promise<Record<string, string[]>> =>
    Object.fromEntries(await Promise.all(Object.entries(made).map(async ([name, of]) => [name, await partsOf(of)])));
  const whole = ["task", "config", "state"];

  it("lose tasks, push configurations and conversations by DeleteOwner, in one tenant or in all", async () => {
    expect(await stored()).toEqual({ aliceOne: whole, aliceTwo: whole, bobOne: whole, anonymous: whole });
    expect(await admin.deleteOwner({ owner: "alice", tenant: "one" })).toMatchObject({ tasks: 1n, remaining: 0n });
    expect(await stored()).toEqual({ aliceOne: [], aliceTwo: whole, bobOne: whole, anonymous: whole });
    expect(await admin.deleteOwner({ owner: "" })).toMatchObject({ tasks: 1n, remaining: 0n });
    expect(await stored()).toEqual({ aliceOne: [], aliceTwo: whole, bobOne: whole, anonymous: [] });
    expect(await admin.deleteOwner({ owner: "alice" })).toMatchObject({ tasks: 1n, remaining: 0n });
    expect(await stored()).toEqual({ aliceOne: [], aliceTwo: [], bobOne: whole, anonymous: [] });
    expect((await admin.listContexts({})).contexts.map(({ owner }) => owner)).toEqual(["bob"]);
    expect((await admin.listDeliveries({})).deliveries.map(({ owner }) => owner)).toEqual(["bob"]);
  });

  it("are told apart by the filters of ListTasks: tenant, agent and times", async () => {
    const { aliceOne, aliceTwo, bobOne, anonymous } = made;
    const ids = async (filters: Parameters<Operator["listTasks"]>[0]): Promise<string[]> =>
      (await admin.listTasks(filters)).tasks.map(({ taskId }) => taskId).toSorted();
    const of = (...tasks: Made[]): string[] => tasks.map(({ taskId }) => taskId).toSorted();
    expect(await ids({ tenant: "one" })).toEqual(of(aliceOne, bobOne));
    expect(await ids({ tenant: "two" })).toEqual(of(aliceTwo));
    expect(await ids({ tenant: "one", owner: "alice" })).toEqual(of(aliceOne));
    expect(await ids({ tenant: "" })).toEqual([]);
    expect(await ids({ owner: "" })).toEqual(of(anonymous));
    expect(await ids({ agent: "First" })).toEqual(of(aliceOne, bobOne));
    expect(await ids({ agent: "Second" })).toEqual(of(aliceTwo));
    expect(await ids({ agent: "Second", tenant: "one" })).toEqual([]);
    const times = (await admin.listTasks({})).tasks.map(({ taskId, statusTime }) => ({
      taskId,
      at: statusTime === undefined ? Number.NaN : timestampMs(statusTime),
    }));
    for (const { at } of times) {
      const before = times.filter((other) => other.at < at).map(({ taskId }) => taskId);
      const from = times.filter((other) => other.at >= at).map(({ taskId }) => taskId);
      expect(await ids({ statusBefore: timestampFromMs(at) })).toEqual(before.toSorted());
      expect(await ids({ statusFrom: timestampFromMs(at) })).toEqual(from.toSorted());
    }
    expect(times.at(-1)?.at).toBeLessThan(times[0]?.at ?? 0);
  });

  it("are told apart by the filters of ListContexts", async () => {
    const { aliceOne, aliceTwo, bobOne, anonymous } = made;
    const ids = async (filters: Parameters<Operator["listContexts"]>[0]): Promise<string[]> =>
      (await admin.listContexts(filters)).contexts.map(({ contextId }) => contextId);
    const of = (...tasks: Made[]): string[] => tasks.map(({ contextId }) => contextId);
    expect(await ids({})).toEqual(of(anonymous, bobOne, aliceTwo, aliceOne));
    expect(await ids({ tenant: "one" })).toEqual(of(bobOne, aliceOne));
    expect(await ids({ tenant: "two" })).toEqual(of(aliceTwo));
    expect(await ids({ tenant: "one", owner: "alice" })).toEqual(of(aliceOne));
    expect(await ids({ tenant: "" })).toEqual([]);
  });

  it("are told apart by the filters of ListDeliveries", async () => {
    const { aliceOne, aliceTwo, bobOne, anonymous } = made;
    const found = async (filters: Parameters<Operator["listDeliveries"]>[0]): Promise<string[]> =>
      (await admin.listDeliveries(filters)).deliveries.map(({ taskId }) => taskId);
    const of = (...tasks: Made[]): string[] => tasks.map(({ taskId }) => taskId).toSorted();
    const target = receiver.url("");
    await expect.poll(() => found({ states: [DeliveryState.IDLE] })).toHaveLength(4);
    expect(await found({})).toEqual(of(aliceOne, aliceTwo, bobOne, anonymous));
    expect(await found({ states: [DeliveryState.DUE] })).toEqual([]);
    expect(await found({ tenant: "one" })).toEqual(of(aliceOne, bobOne));
    expect(await found({ owner: "alice" })).toEqual(of(aliceOne, aliceTwo));
    expect(await found({ owner: "" })).toEqual(of(anonymous));
    expect(await found({ taskId: bobOne.taskId })).toEqual(of(bobOne));
    expect(await found({ target: `${target}/another/path`, tenant: "two" })).toEqual(of(aliceTwo));
    expect(await found({ target: "http://127.0.0.1:1" })).toEqual([]);
    const { deliveries } = await admin.listDeliveries({ owner: "bob" });
    const { tenant, owner, taskId } = bobOne;
    expect(deliveries).toMatchObject([
      { tenant, owner, taskId, configId: "hook", target, position: 2, headPosition: 2 },
    ]);
    expect((await admin.getTask({ taskId })).deliveries).toEqual(deliveries);
  });

  it("have their agents among the facts of the server", async () => {
    expect((await admin.getServer({})).agents).toMatchObject(
      Object.entries(agents).map(([tenant, { card }]) => ({ tenant, name: card.name, version: card.version })),
    );
  });

  it("have conversations and uses with their numbers and times", async () => {
    const { aliceOne } = made;
    const { taskId, contextId, tenant, owner } = aliceOne;
    const statusTime = (await admin.getTask({ taskId })).summary?.statusTime;
    const stateBytes = BigInt(JSON.stringify({ last: "remember" }).length);
    const counts = { tenant, owner, tasks: 1n, openTasks: 0n, statusTime };
    const { contexts } = await admin.listContexts({ tenant, owner });
    expect(contexts).toMatchObject([{ ...counts, contextId, stateBytes }]);
    const { owners } = await admin.listOwners({ tenant });
    expect(owners[0]).toMatchObject({ ...counts, pushConfigs: expect.any(BigInt) });
  });

  it("are told apart by the filters of FollowTasks", async () => {
    const stop = new AbortController();
    const filters = [{ tenant: "one" }, { tenant: "two" }, { tenant: "one", owner: "alice" }];
    const told = filters.map(() => new Map<string, string>());
    const following = filters.map(async (filter, at) => {
      for await (const { task } of admin.followTasks(filter, { signal: stop.signal }))
        told[at]?.set(task?.taskId ?? "", `${task?.tenant} ${task?.owner}`);
    });
    const sendAll = async (): Promise<void> => {
      for (const [name, { tenant, owner }] of Object.entries(made))
        made = { ...made, [name]: await send(tenant, owner) };
    };
    // The streams have begun when a change arrives.
    while (told.some(({ size }) => size === 0)) await sendAll();
    await sendAll();
    // Changes arrive in order. When these arrive, the streams have sent the earlier ones.
    await sendAll();
    const last = [made.bobOne, made.aliceTwo, made.aliceOne];
    await expect.poll(() => last.every(({ taskId }, at) => told[at]?.has(taskId))).toBe(true);
    stop.abort();
    await Promise.allSettled(following);
    const owners = told.map((each) => [...new Set(each.values())].toSorted());
    expect(owners).toEqual([["one alice", "one bob"], ["two alice"], ["one alice"]]);
  });

  it("are all on the pages of ListContexts and ListOwners, once each and in order", async () => {
    const contexts = async (filters: object): Promise<string[]> =>
      pagesOf(async (page) => {
        const { contexts, nextPageToken } = await admin.listContexts({ ...filters, ...page });
        return { items: contexts.map(({ contextId }) => contextId), nextPageToken };
      });
    const owners = async (filters: object): Promise<string[]> =>
      pagesOf(async (page) => {
        const { owners, nextPageToken } = await admin.listOwners({ ...filters, ...page });
        return { items: owners.map(({ tenant, owner }) => `${tenant} ${owner}`), nextPageToken };
      });
    const { aliceOne, aliceTwo, bobOne, anonymous } = made;
    expect(await contexts({})).toEqual([anonymous, bobOne, aliceTwo, aliceOne].map(({ contextId }) => contextId));
    expect(await contexts({ tenant: "one" })).toEqual([bobOne, aliceOne].map(({ contextId }) => contextId));
    expect(await owners({})).toEqual(["one alice", "one bob", "open ", "two alice"]);
    expect(await owners({ tenant: "one" })).toEqual(["one alice", "one bob"]);
  });
});
