import { describe, expect, it, vi } from "vitest";
import { bytesOf } from "../../contract/setup.js";
import { artifact, inputRequired } from "../../src/agent/event.js";
import type { Caller } from "../../src/core/call.js";
import type { Limits } from "../../src/core/limits.js";
import type { EngineOptions } from "../../src/engine/engine.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import type { NewPushConfig, TaskStore } from "../../src/store/task-store.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { Bench, gate, quick, settle } from "./support.js";

vi.setConfig({ testTimeout: 60_000 });

const alice: Caller = { owner: "alice", authenticated: true, scopes: [], claims: {} };
const under = (tenant: string, caller = alice) => ({ caller, tenant });
const refused = (limit: keyof Limits) => ({ reason: "TOO_MANY_REQUESTS", metadata: { limit } });

/** Asks immediately. With `wait`, it waits for the gate first. */
const asking = (opened: Promise<void>) => ({
  async *execute({ text }: { readonly text: string }) {
    if (text === "wait") await opened;
    else yield inputRequired("More?");
    yield artifact({ text });
  },
});

const pushConfig = (maxPerOwner: number) => (): NewPushConfig => ({
  ...{ configId: "x", bytes: bytesOf("x"), target: "https://hooks.example:443" },
  ...{ maxPerTask: 9, maxPerOwner },
});

function world(limits: Partial<Limits>, options: Partial<EngineOptions> = {}, store?: TaskStore) {
  const { opened, open } = gate();
  const all = { openTenants: true, limits: { ...quick, ...limits }, ...options };
  const bench = store === undefined ? new Bench(asking(opened), all) : new Bench(asking(opened), all, store);
  return { bench, open };
}

describe("where callers may name any tenant", () => {
  it("an owner has its limits once: executions that run and wait", async () => {
    const { bench, open } = world({ maxExecutionsPerOwner: 1, maxQueuedExecutionsPerOwner: 1 });
    const first = await bench.send("wait", under("one"));
    const second = await bench.send("wait", under("two"));
    expect([bench.engine.running, bench.engine.queued]).toEqual([1, 1]);
    await expect(bench.send("x", under("three"))).rejects.toMatchObject(refused("maxQueuedExecutionsPerOwner"));
    await settle(await bench.send("x", under("three", { ...alice, owner: "bob" })));
    open();
    for (const task of [first, second]) expect(await settle(task)).toBe("COMPLETED");
  });

  it("callers without a name are one owner under each tenant", async () => {
    const { bench, open } = world({ maxExecutionsPerOwner: 1, maxQueuedExecutionsPerOwner: 0 });
    const tasks = [];
    for (const tenant of ["one", "two"]) tasks.push(await bench.send("wait", { tenant }));
    await expect(bench.send("x", { tenant: "two" })).rejects.toMatchObject(refused("maxQueuedExecutionsPerOwner"));
    open();
    for (const task of tasks) expect(await settle(task)).toBe("COMPLETED");
  });

  it("open tasks and push configurations count after a restart as before it", async () => {
    const path = temporaryFile();
    const limits = { maxOpenTasksPerOwner: 3 };
    const before = world(limits, {}, sqliteStore(path));
    for (const tenant of ["", "one", "two"]) {
      const task = await before.bench.send("ask", { ...under(tenant), pushConfig: pushConfig(3) });
      expect(await settle(task)).toBe("INPUT_REQUIRED");
      task.release();
    }
    await expect(before.bench.send("x", under("three"))).rejects.toMatchObject(refused("maxOpenTasksPerOwner"));
    await before.bench.engine.drain(0);
    await before.bench.store.close();
    const { bench } = world({ maxOpenTasksPerOwner: 4 }, {}, sqliteStore(path));
    const one = { ...under("three"), pushConfig: pushConfig(3) };
    await expect(bench.send("x", one)).rejects.toMatchObject(refused("maxPushConfigsPerOwner"));
    const task = await bench.send("x", under("three"));
    const scope = { tenant: "three", owner: "alice" };
    const put = bench.engine.pushConfigs.put(scope, task.now().task.id, pushConfig(3)());
    await expect(put).rejects.toMatchObject(refused("maxPushConfigsPerOwner"));
    await bench.engine.pushConfigs.put(scope, task.now().task.id, pushConfig(4)());
    await expect(bench.send("x", under("four"))).rejects.toMatchObject(refused("maxOpenTasksPerOwner"));
    task.release();
    await bench.engine.drain(0);
    await bench.store.close();
  });

  it("what a restart takes over counts for its owner as what is sent", async () => {
    const path = temporaryFile();
    const before = world({ maxExecutionsPerOwner: 1 }, {}, sqliteStore(path));
    for (const tenant of ["one", "two", "three"]) await before.bench.send("wait", under(tenant));
    await before.bench.engine.drain(0);
    await before.bench.store.close();
    const after = world({ maxExecutionsPerOwner: 1, maxQueuedExecutionsPerOwner: 2 }, {}, sqliteStore(path));
    await after.bench.engine.start();
    await expect.poll(() => after.bench.engine.running + after.bench.engine.queued, { timeout: 20_000 }).toBe(2);
    expect(after.bench.engine.running).toBe(1);
    after.open();
    await expect.poll(() => after.bench.engine.executions, { timeout: 20_000 }).toBe(0);
    await after.bench.engine.drain(0);
    await after.bench.store.close();
  });
});

describe("where tenants are listed", () => {
  it("an owner has its limits under each of them", async () => {
    const limits = { maxExecutionsPerOwner: 1, maxQueuedExecutionsPerOwner: 0, maxOpenTasksPerOwner: 1 };
    const { bench, open } = world(limits, { openTenants: false });
    const tasks = [];
    for (const tenant of ["one", "two"]) {
      tasks.push(await bench.send("wait", { ...under(tenant), pushConfig: pushConfig(1) }));
    }
    await expect(bench.send("x", under("two"))).rejects.toMatchObject(refused("maxQueuedExecutionsPerOwner"));
    open();
    for (const task of tasks) expect(await settle(task)).toBe("COMPLETED");
  });
});
