import { afterEach, describe, expect, it, vi } from "vitest";
import { create, follow, followRequest, readAll } from "../../../contract/setup.js";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type AgentEvent, artifact, completed } from "../../../src/agent/event.js";
import { neverCanceled } from "../../../src/core/async.js";
import { type PostgresStore, type PostgresStoreOptions, postgresStore } from "../../../src/store/postgres/index.js";
import { decodeEntry } from "../../../src/task/entry.js";
import { Bench, gate, scope, settle, tell } from "../../engine/support.js";
import { PostgresServer, programs, STANDBY_IS_LEVEL } from "./server.js";
import { Switch } from "./switch.js";

vi.setConfig({ testTimeout: 90_000 });

const bin = programs() ?? "";
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A primary, its standby, and an address that leads to the primary. */
async function pair(settings: Readonly<Record<string, string>> = {}) {
  const start = (more: Readonly<Record<string, string>>, primary?: PostgresServer): PostgresServer => {
    const server = new PostgresServer(bin, { wal_receiver_status_interval: "1", ...more }, primary);
    ends.push(() => server.end());
    return server;
  };
  const primary = start(settings);
  const standby = start({}, primary);
  const way = await Switch.to(primary);
  ends.push(() => way.close());
  await expect.poll(() => primary.query("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'")).toHaveLength(1);
  const open = async (options: Partial<PostgresStoreOptions> = {}): Promise<PostgresStore> => {
    const store = await postgresStore({ url: way.url, timeoutMs: 2_000, ...options });
    ends.push(() => store.close());
    return store;
  };
  /** Waits until the standby has all that the primary has. */
  const level = async (): Promise<void> => {
    await expect.poll(() => primary.query(STANDBY_IS_LEVEL), { timeout: 10_000 }).toHaveLength(1);
  };
  /** From now on the standby gets nothing. */
  const holdBack = async (): Promise<void> => {
    await level();
    await standby.query("ALTER SYSTEM SET primary_conninfo = ''");
    await standby.query("SELECT pg_reload_conf()");
    await expect.poll(() => primary.query("SELECT 1 FROM pg_stat_replication")).toEqual([]);
  };
  const failOver = (): void => {
    primary.kill();
    standby.promote();
    way.turn(standby);
  };
  return { primary, standby, way, open, level, holdBack, failOver };
}

/** Waits until a store takes writes again. */
async function well(store: PostgresStore): Promise<void> {
  await expect.poll(() => store.history?.moves, { timeout: 15_000 }).toBe(1);
  await expect.poll(() => store.health.status, { timeout: 15_000 }).toMatchObject({ healthy: true });
}

describe.skipIf(bin === "")("postgresStore whose primary is replaced by its standby", () => {
  it("refuses writes until its tasks are reloaded, then continues", async () => {
    const { open, level, failOver } = await pair();
    const store = await open();
    let head = await create(store, { taskId: "a" });
    head = await follow(store, head);
    const read = gate();
    let calls = 0;
    store.history?.onMove(async () => {
      if (++calls === 1) throw new Error("not yet");
      await read.opened;
    });
    await level();
    failOver();
    await expect.poll(() => calls, { timeout: 20_000 }).toBe(2);
    await expect(store.append(followRequest(head))).rejects.toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("another server"),
    });
    const fence = { holder: "h", attempt: 1 };
    await expect(store.setLease({ taskId: "a", fence, lease: null })).rejects.toMatchObject({ kind: "unavailable" });
    expect(store.health.status).toMatchObject({ healthy: false, reason: expect.stringContaining("another server") });
    expect(await readAll(store, "a")).toEqual(["1", "2"]);
    read.open();
    await well(store);
    await follow(store, head);
    expect(await readAll(store, "a")).toEqual(["1", "2", "3"]);
  });

  it("uses no server that another one has replaced, although it takes writes", async () => {
    const { primary, standby, way, open, level } = await pair();
    const store = await open();
    const head = await create(store, { taskId: "a" });
    await level();
    // The old primary keeps running, with its open connections.
    standby.promote();
    way.turn(standby, { cut: false });
    const other = await open();
    expect(other.history?.moves).toBe(0);
    const connected = "SELECT pid FROM pg_stat_activity WHERE application_name = 'parley'";
    await primary.query(`SELECT pg_terminate_backend(pid) FROM (${connected} LIMIT 1) one`);
    await well(store);
    const next = await follow(store, head);
    // The address leads to the old primary again.
    way.turn(primary);
    await expect
      .poll(() => store.health.status, { timeout: 10_000 })
      .toMatchObject({
        healthy: false,
        reason: expect.stringContaining("has replaced it"),
      });
    await expect(store.append(followRequest(next))).rejects.toMatchObject({ kind: "unavailable" });
    await expect(other.append(followRequest(next))).rejects.toMatchObject({ kind: "unavailable" });
    expect(await primary.query("SELECT count(*)::int FROM parley.segment")).toEqual([[1]]);
    way.turn(standby);
    await expect.poll(() => store.health.status.healthy, { timeout: 10_000 }).toBe(true);
    await follow(store, next);
    expect(store.history?.moves).toBe(1);
    expect(await standby.query("SELECT count(*)::int FROM parley.segment")).toEqual([[3]]);
  });

  it("opens no standby, and finds the primary among several hosts", async () => {
    const { primary, standby, level } = await pair();
    await level();
    const folders = [standby, primary].map(({ folder }) => encodeURIComponent(folder));
    await expect(postgresStore({ url: standby.url })).rejects.toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("a standby that does not accept writes"),
    });
    const url = `postgres://postgres@localhost/postgres?host=${folders.join(",")}&target_session_attrs=read-write`;
    const store = await postgresStore({ url, timeoutMs: 2_000 });
    ends.push(() => store.close());
    const head = await create(store, { taskId: "a" });
    await level();
    primary.kill();
    standby.promote();
    await well(store);
    await follow(store, head);
    expect(await standby.query("SELECT count(*)::int FROM parley.segment")).toEqual([[2]]);
  });

  it("opens with the durability `replicated` only while a synchronous standby is required", async () => {
    const { primary, open } = await pair();
    await expect(open({ require: "replicated" })).rejects.toThrow('The store requires durability "replicated".');
    await primary.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
    await primary.query("SELECT pg_reload_conf()");
    const state = "SELECT sync_state FROM pg_stat_replication";
    await expect.poll(() => primary.query(state), { timeout: 10_000 }).toEqual([["sync"]]);
    const store = await open({ require: "replicated" });
    expect(store.durability.level).toBe("replicated");
    await follow(store, await create(store, { taskId: "a" }));
    expect(await readAll(store, "a")).toEqual(["1", "2"]);
  });

  it("continues when a primary becomes read-only and another one takes over", async () => {
    const { primary, standby, way, open, level } = await pair();
    const store = await open();
    const head = await create(store, { taskId: "a" });
    await level();
    await primary.query("ALTER SYSTEM SET default_transaction_read_only = on");
    await primary.query("SELECT pg_reload_conf()");
    // The server applies its settings a moment later.
    await expect.poll(() => primary.query("SHOW default_transaction_read_only")).toEqual([["on"]]);
    await expect(store.append(followRequest(head))).rejects.toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("25006"),
    });
    standby.promote();
    way.turn(standby, { cut: false });
    await well(store);
    await follow(store, head);
    expect(await readAll(store, "a")).toEqual(["1", "2"]);
  });
});

describe.skipIf(bin === "")("postgresStore whose pooler leads to another system on the same timeline", () => {
  it("writes nothing there before its tasks are reloaded", async () => {
    const [before, after] = [new PostgresServer(bin), new PostgresServer(bin, {}, "initdb")];
    ends.push(
      () => before.end(),
      () => after.end(),
    );
    const way = await Switch.to(before);
    ends.push(() => way.close());
    // Both have the same task, as a database and its restored dump.
    const restored = await postgresStore(after.url);
    await create(restored, { taskId: "a" });
    await restored.close();
    const store = await postgresStore({ url: way.url, prepared: false, timeoutMs: 2_000 });
    ends.push(() => store.close());
    const head = await create(store, { taskId: "a" });
    const read = gate();
    store.history?.onMove(() => read.opened);
    await way.swap(after);
    const refused = { kind: "unavailable", message: expect.stringContaining("another server") };
    await expect(store.append(followRequest(head))).rejects.toMatchObject(refused);
    await expect.poll(() => store.history?.moves, { timeout: 15_000 }).toBe(1);
    await expect(store.append(followRequest(head))).rejects.toMatchObject(refused);
    expect(await after.query("SELECT count(*)::int FROM parley.segment")).toEqual([[1]]);
    read.open();
    await well(store);
    await follow(store, head);
    expect(await after.query("SELECT count(*)::int FROM parley.segment")).toEqual([[2]]);
    expect(await before.query("SELECT count(*)::int FROM parley.segment")).toEqual([[1]]);
  });
});

describe.skipIf(bin === "")("an engine whose store loses its last entries", () => {
  it("ends executions that depend on them, and runs the turn again from the stored entries", async () => {
    const { standby, open, holdBack, failOver } = await pair();
    const steps = [gate(), gate(), gate()];
    const causes: unknown[] = [];
    const agent = {
      recover: "restart" as const,
      async *execute(turn: { readonly attempt: number; readonly signal: AbortSignal }): AsyncGenerator<AgentEvent> {
        yield artifact({ id: "a", text: `first ${turn.attempt}` });
        if (turn.attempt > 1) return yield completed("again");
        turn.signal.addEventListener("abort", () => causes.push(turn.signal.reason));
        await steps[0]?.opened;
        yield artifact({ id: "b", text: "lost" });
        steps[1]?.open();
        await steps[2]?.opened;
        yield completed("never stored");
      },
    };
    const store = await open();
    // Polls of leases find no task within this test.
    const bench = new Bench(agent, { leaseMs: 120_000 }, store);
    await bench.engine.start();
    ends.push(() => bench.engine.drain(0));
    const held = await bench.send("go");
    const { id: taskId } = held.accepted!.task;
    await expect.poll(() => held.now().generation).toBe(2);
    const seen: string[] = [];
    const stream = (async () => {
      for await (const event of held.events(held.accepted!, neverCanceled)) seen.push(tell(event));
    })();
    await holdBack();
    steps[0]?.open();
    await expect.poll(() => seen).toEqual(["artifact first 1", "artifact lost"]);
    const created = await bench.send("lost as well");
    failOver();
    await expect(stream).rejects.toMatchObject({ reason: "UNAVAILABLE" });
    await well(store);
    steps[2]?.open();
    // The turn whose task was created in the lost part may have tried to append meanwhile.
    expect(causes).toHaveLength(2);
    expect(causes).toContainEqual(expect.objectContaining({ cause: "lease-lost" }));
    expect(bench.logged.find(({ message }) => message.includes("reloaded from another server"))?.facts).toMatchObject({
      lost: 2,
    });
    await expect(bench.engine.get(scope, created.accepted!.task.id)).rejects.toMatchObject({
      reason: "TASK_NOT_FOUND",
    });
    const again = await bench.engine.open(scope, taskId);
    await expect.poll(() => again.now().task.status?.state, { timeout: 10_000 }).toBe(TaskState.COMPLETED);
    again.release();
    const entries = (await store.read({ taskId, after: 0, limit: 100 })).map(decodeEntry);
    expect(entries.map(({ position }) => position)).toEqual(entries.map((_, index) => index + 1));
    const texts = JSON.stringify(
      entries.map(({ event }) => event.value),
      (_, value) => (typeof value === "bigint" ? `${value}` : value),
    );
    expect(texts).toContain("first 2");
    expect(texts).toContain("again");
    expect(texts).not.toContain("lost");
    expect(texts).not.toContain("never stored");
    expect(await standby.query("SELECT count(*)::int FROM parley.task")).toEqual([[1]]);
  });

  it("continues an execution whose entries are all stored", async () => {
    const { open, level, failOver } = await pair();
    const [go, begun] = [gate(), gate()];
    const attempts: number[] = [];
    const agent = {
      recover: "restart" as const,
      async *execute(turn: { readonly attempt: number }): AsyncGenerator<AgentEvent> {
        attempts.push(turn.attempt);
        yield artifact({ id: "a", text: "before" });
        begun.open();
        await go.opened;
        yield completed("after");
      },
    };
    const store = await open();
    const bench = new Bench(agent, { leaseMs: 600 }, store);
    await bench.engine.start();
    ends.push(() => bench.engine.drain(0));
    const held = await bench.send("go");
    await begun.opened;
    await expect.poll(() => held.now().generation).toBe(2);
    await level();
    failOver();
    await well(store);
    go.open();
    expect(await settle(held)).toBe("COMPLETED");
    expect(attempts).toEqual([1]);
  });
});
