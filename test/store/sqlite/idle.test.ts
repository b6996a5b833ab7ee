import { existsSync, renameSync, rmSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, it, vi } from "vitest";
import { create, headOf, leaseOf, numbered, readAll } from "../../../contract/setup.js";
import { silentLogger } from "../../../src/core/log.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { StoreFaults } from "../../../src/store/sqlite/store-faults.js";
import { WriterClient } from "../../../src/store/sqlite/writer-client.js";
import { NO_HOLDER } from "../../../src/store/task-store.js";
import { temporaryFile } from "./files.js";
import { startChild } from "./process.js";

/** The threads that were started: each is unreferenced as soon as it is. */
function threads(): () => number {
  const started = new Set<unknown>();
  const { unref } = Worker.prototype;
  vi.spyOn(Worker.prototype, "unref").mockImplementation(function (this: Worker) {
    started.add(this);
    unref.call(this);
  });
  return () => started.size;
}

const beside = (path: string): string[] => ["-wal", "-shm"].filter((suffix) => existsSync(path + suffix));
const claim = { holder: "next", leaseMs: 60_000, limit: 10 };

afterEach(() => {
  vi.restoreAllMocks();
});

describe("a store that nothing is written to", () => {
  it("has no thread: reading, and looking for what a crash left, need none", async () => {
    const started = threads();
    const store = sqliteStore(temporaryFile());
    expect(await store.claimLeases(claim)).toEqual([]);
    expect(await store.heartbeat({ holder: "next", leaseMs: 60_000, again: false, maxStallMs: 1 })).toBe(true);
    expect(await store.leasesOf({ holder: "next", after: "", limit: 1 })).toEqual([]);
    expect(await store.head({ taskId: "a" })).toBeUndefined();
    expect((await store.list({ tenant: "tenant", owner: "owner", limit: 1 })).total).toBe(0);
    expect(started()).toBe(0);
    await create(store, { taskId: "a" });
    expect(started()).toBe(1);
    await store.close();
  });

  it("leaves nothing beside its file when it is closed", async () => {
    const path = temporaryFile();
    const started = threads();
    const store = sqliteStore(path);
    expect(beside(path)).toEqual(["-wal", "-shm"]);
    await store.close();
    expect(beside(path)).toEqual([]);
    expect(started()).toBe(0);
    await expect(create(store, { taskId: "late" })).rejects.toMatchObject({ kind: "closed" });
    expect(started()).toBe(0);
  });

  it("is closed although its file is gone, and makes no other one", async () => {
    const path = temporaryFile();
    const store = sqliteStore(path);
    rmSync(path);
    await store.close();
    expect(existsSync(path)).toBe(false);
  });

  it("acknowledges no first write into a file without a name", async () => {
    const path = temporaryFile();
    const store = sqliteStore(path);
    renameSync(path, `${path}-elsewhere`);
    await expect(create(store, { taskId: "lost" })).rejects.toMatchObject({ kind: "unavailable" });
    expect(existsSync(path)).toBe(false);
    renameSync(`${path}-elsewhere`, path);
    await expect.poll(() => store.health.status, { timeout: 20_000 }).toEqual({ healthy: true });
    await create(store, { taskId: "kept" });
    await store.close();
    const again = sqliteStore(path);
    expect(await readAll(again, "kept")).toEqual(["1"]);
    expect(await readAll(again, "lost")).toEqual([]);
    await again.close();
  });

  it("says so when its thread cannot be started, and starts it again", async () => {
    let tries = 0;
    const start = (): Worker => {
      if (++tries === 1) throw new Error("no thread to be had");
      return new Worker(
        `const { parentPort } = require("node:worker_threads");
         parentPort.postMessage({ started: true });
         parentPort.on("message", (said) => (said === "close" ? parentPort.close() : parentPort.postMessage({ count: 1 })));`,
        { eval: true },
      );
    };
    const troubles = new StoreFaults();
    const link = new WriterClient({ start, troubles, logger: silentLogger, stallMs: 60_000, writeTimeoutMs: 60_000 });
    const append = { head: headOf({ taskId: "a" }), expected: 0, creates: true, entries: numbered(0, 1) };
    await expect(link.append(append)).rejects.toMatchObject({ kind: "unavailable" });
    await expect.poll(() => troubles.health.status, { timeout: 20_000 }).toEqual({ healthy: true });
    await link.append(append);
    expect(tries).toBe(2);
    await link.close();
  });
});

describe("what a process left behind", () => {
  it("is claimed at the next open when the process was killed", async () => {
    const path = temporaryFile();
    const child = startChild("take leases", path, "1");
    await child.said(1);
    child.process.kill("SIGKILL");
    await child.ended;
    const started = threads();
    const store = sqliteStore(path);
    expect(started()).toBe(0);
    expect(await store.claimLeases(claim)).toMatchObject([{ taskId: "task-0", lease: { holder: "next", attempt: 2 } }]);
    expect(await store.claimLeases(claim)).toEqual([]);
    await store.close();
  });

  it("is claimed when it was put up for a claim", async () => {
    const path = temporaryFile();
    const before = sqliteStore(path);
    await create(before, { taskId: "a", lease: leaseOf() });
    await before.setLease({ taskId: "a", fence: leaseOf(), lease: { ...leaseOf(), holder: NO_HOLDER } });
    await before.close();
    const store = sqliteStore(path);
    expect(await store.claimLeases(claim)).toMatchObject([{ taskId: "a", lease: { holder: "next" } }]);
    await store.close();
  });
});
