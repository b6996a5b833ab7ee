import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, it, vi } from "vitest";
import { create, followRequest, headOf, leaseOf, numbered, readAll } from "../../../contract/setup.js";
import { silentLogger } from "../../../src/core/log.js";
import { sqliteDriver } from "../../../src/store/sqlite/driver/choose.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { StoreFaults } from "../../../src/store/sqlite/store-faults.js";
import { WriterClient } from "../../../src/store/sqlite/writer-client.js";
import type { AppendRequest } from "../../../src/store/task-store.js";
import { openDatabase } from "../../support/database.js";
import { temporaryFile } from "./files.js";
import { startChild } from "./process.js";

afterEach(() => {
  vi.restoreAllMocks();
});

const append = (taskId: string): AppendRequest => ({
  head: headOf({ taskId }),
  expected: 0,
  creates: true,
  entries: numbered(0, 1),
});

const failed = { name: "StoreError", kind: "failed" };
const unavailable = { name: "StoreError", kind: "unavailable" };

/** A link whose writer is the given JavaScript instead of the real one. */
function linkTo(script: string): { link: WriterClient; troubles: StoreFaults; log: string[] } {
  const log: string[] = [];
  const warn = (_: object, message: string): number => log.push(message);
  const troubles = new StoreFaults();
  const start = (): Worker => new Worker(script, { eval: true });
  const times = { stallMs: 60_000, writeTimeoutMs: 60_000 };
  return { link: new WriterClient({ ...times, start, troubles, logger: { ...silentLogger, warn } }), troubles, log };
}

describe("group commit", () => {
  it("makes one commit of what arrives in one turn of the event loop", async () => {
    const store = sqliteStore(temporaryFile());
    // Of one message: a thread that waits begins with the first one, which has up to 24 writes.
    const count = 20;
    const ids = Array.from({ length: count }, (_, index) => `task-${index}`);
    await Promise.all(ids.map((taskId) => create(store, { taskId })));
    expect(store.statistics).toEqual({ commits: 1, writes: count });
    await store.close();
  });

  it("makes one commit of everything that arrives while another one is under way", async () => {
    const path = temporaryFile();
    const store = sqliteStore(path);
    await create(store, { taskId: "first" });
    const other = openDatabase(path);
    other.exec("BEGIN IMMEDIATE");
    const sent: Promise<unknown>[] = [];
    for (let turn = 0; turn < 50; turn++) {
      sent.push(create(store, { taskId: `task-${turn}` }));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(store.statistics.commits).toBe(1);
    other.exec("COMMIT");
    other.close();
    await Promise.all(sent);
    // The one that waited for the lock, and one for all others.
    expect(store.statistics.commits).toBeLessThanOrEqual(3);
    expect(store.statistics.writes).toBe(51);
    await store.close();
  });

  it("divides what is too much for one commit, and loses nothing", async () => {
    const store = sqliteStore(temporaryFile());
    const large = new Uint8Array(300_000);
    const sent = Array.from({ length: 20 }, (_, index) =>
      store.append({ ...append(`large-${index}`), entries: [large] }),
    );
    await Promise.all([...sent, ...Array.from({ length: 3_000 }, (_, index) => create(store, { taskId: `${index}` }))]);
    expect(store.statistics.commits).toBeGreaterThan(1);
    expect(store.statistics.commits).toBeLessThan(20);
    expect(store.statistics.writes).toBe(3_020);
    expect((await store.list({ tenant: "tenant", owner: "owner", limit: 1 })).total).toBe(3_020);
    await store.close();
  });

  it("tells each caller of its own write", async () => {
    const store = sqliteStore(temporaryFile());
    const head = await create(store, { taskId: "a" });
    const outcomes = await Promise.allSettled([
      store.append(append("b")),
      store.append(append("a")),
      store.setLease({ taskId: "a", fence: leaseOf(), lease: null }),
      store.append(followRequest(head)),
      store.append({ ...append("c"), head: headOf({ taskId: "c", statusTime: Number.NaN }) }),
      store.removeFinished({ before: 0, limit: 5 }),
    ]);
    expect(outcomes.map((each) => (each.status === "fulfilled" ? each.value : each.reason.kind))).toEqual([
      undefined,
      "conflict",
      "lost",
      undefined,
      "failed",
      0,
    ]);
    await store.close();
  });
});

describe("a writer that dies", () => {
  it("fails everything that waits, and lets the store close", async () => {
    const workers: Worker[] = [];
    const post = Worker.prototype.postMessage;
    vi.spyOn(Worker.prototype, "postMessage").mockImplementation(function (this: Worker, ...args) {
      workers.push(this);
      post.apply(this, args);
    });
    const path = temporaryFile();
    const store = sqliteStore(path);
    await create(store, { taskId: "a" });
    const other = openDatabase(path);
    // The package's binary ends the whole process when its thread ends in the middle of a call.
    const endsInCalls = sqliteDriver().name === "node:sqlite";
    if (!endsInCalls) void workers[0]?.terminate();
    if (endsInCalls) other.exec("BEGIN IMMEDIATE");
    const waiting = Array.from({ length: 5 }, (_, index) => store.append(append(`waiting-${index}`)));
    if (endsInCalls) await new Promise((resolve) => setImmediate(resolve));
    waiting.push(store.append(append("not yet sent")));
    const refused = Promise.allSettled(waiting);
    if (endsInCalls) {
      void workers[0]?.terminate();
      other.exec("ROLLBACK");
    }
    other.close();
    for (const outcome of await refused) expect(outcome).toMatchObject({ status: "rejected", reason: unavailable });
    expect(await readAll(store, "a")).toEqual(["1"]);
    await store.close();
    await expect(store.head({ taskId: "a" })).rejects.toMatchObject({ kind: "closed" });
  });

  it("says what broke it, once in the log", async () => {
    const { link, troubles, log } = linkTo(`
      require("node:worker_threads").parentPort.on("message", () => { throw new Error("out of luck"); });
    `);
    const error: unknown = await link.append(append("a")).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ ...unavailable, cause: expect.objectContaining({ message: "out of luck" }) });
    await expect(link.append(append("b"))).rejects.toMatchObject(unavailable);
    const reason = "The thread that writes the store broke: out of luck.";
    expect(troubles.health.status).toEqual({ healthy: false, reason, restartHelps: true });
    await link.close();
    expect(log).toEqual(["the thread that writes the store ended; another one is started"]);
  });

  it("fails everything when it ends without a word", async () => {
    const { link } = linkTo(`
      require("node:worker_threads").parentPort.on("message", () => process.exit(7));
    `);
    await expect(link.append(append("a"))).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringMatching(/code 7/),
    });
    await link.close();
  });

  it("fails everything when it cannot even begin", async () => {
    const { link } = linkTo('throw new Error("cannot open")');
    await expect(link.append(append("a"))).rejects.toMatchObject(unavailable);
    await link.close();
  });

  it("fails what waits when it ends without having done it", async () => {
    const { link } = linkTo(`
      const { parentPort } = require("node:worker_threads");
      parentPort.on("message", (message) => { if (message === "close") parentPort.close(); });
    `);
    const waiting = link.append(append("a"));
    const closed = link.close();
    await expect(waiting).rejects.toMatchObject(unavailable);
    await closed;
  });

  it("fails alone what cannot be sent to another thread", async () => {
    const store = sqliteStore(temporaryFile());
    const wrong = { ...append("a"), head: { ...headOf({ taskId: "a" }), owner: (() => "") as unknown as string } };
    await expect(store.append(wrong)).rejects.toMatchObject(failed);
    await create(store, { taskId: "b" });
    expect(await readAll(store, "b")).toEqual(["1"]);
    await store.close();
  });
});

describe("the writer and the life of its process", () => {
  for (const [what, line] of [
    ["append and close", "closed"],
    ["append and wait for nothing", "appended"],
    ["open and leave", "opened"],
  ] as const) {
    it(`lets a process end by itself: ${what}`, async () => {
      const child = startChild(what, temporaryFile());
      expect(await child.ended).toBe(0);
      expect(child.lines).toEqual([line]);
    }, 30_000);
  }
});

describe("bulk writes", () => {
  const large = (taskId: string, expected = 0): AppendRequest => ({
    head: headOf({ taskId, position: expected + 1 }),
    expected,
    creates: expected === 0,
    entries: [new Uint8Array(1024 * 1024)],
  });
  const next = (taskId: string, expected: number): AppendRequest => ({
    head: headOf({ taskId, position: expected + 1 }),
    expected,
    creates: false,
    entries: numbered(expected, 1),
  });

  it("let small ones go first that come after them", async () => {
    const path = temporaryFile();
    const store = sqliteStore(path);
    await store.append(append("first"));
    const other = openDatabase(path);
    other.exec("BEGIN IMMEDIATE");
    const order: string[] = [];
    const sent = ["large-1", "large-2", "large-3"].map((id) => store.append(large(id)).then(() => order.push(id)));
    sent.push(store.append(append("small")).then(() => order.push("small")));
    await new Promise((resolve) => setImmediate(resolve));
    other.exec("COMMIT");
    other.close();
    await Promise.all(sent);
    await store.close();
    expect(order.slice(-2)).toEqual(["large-2", "large-3"]);
  });

  it("are not overtaken by what is written of the same task after them, and do not overtake what was before", async () => {
    const store = sqliteStore(temporaryFile());
    const done = [
      store.append(append("a")),
      store.append(large("a", 1)),
      store.append(next("a", 2)),
      store.append(large("b")),
      store.setLease({ taskId: "b", fence: leaseOf(), lease: null, expected: 1 }),
      store.append(next("b", 1)),
    ];
    await Promise.all(done);
    expect((await store.head({ taskId: "a" }))?.position).toBe(3);
    expect((await store.head({ taskId: "b" }))?.position).toBe(2);
    await store.append(next("b", 2));
    await store.close();
  });

  it("are all there when the store is closed behind them", async () => {
    const path = temporaryFile();
    const store = sqliteStore(path);
    const ids = Array.from({ length: 12 }, (_, index) => `large-${index}`);
    const sent = ids.map((id) => store.append(large(id)));
    await store.close();
    await Promise.all(sent);
    const again = sqliteStore(path);
    for (const taskId of ids) expect((await again.head({ taskId }))?.position).toBe(1);
    await again.close();
  });
});
