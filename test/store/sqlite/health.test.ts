import { copyFileSync, existsSync, renameSync, rmSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, it, vi } from "vitest";
import { create, follow, followRequest, readAll } from "../../../contract/setup.js";
import type { StoreStatus } from "../../../src/store/health.js";
import { sqliteDriver } from "../../../src/store/sqlite/driver/choose.js";
import { type SqliteStore, sqliteStore } from "../../../src/store/sqlite/index.js";
import { openDatabase } from "../../support/database.js";
import { temporaryFile } from "./files.js";

const opened: SqliteStore[] = [];

afterEach(async () => {
  vi.restoreAllMocks();
  for (const store of opened.splice(0)) await store.close().catch(() => {});
});

interface Open {
  readonly path: string;
  readonly store: SqliteStore;
  /** Every change of its health. */
  readonly changes: StoreStatus[];
}

async function openWith(options: { writeTimeoutMs?: number; stallMs?: number } = {}): Promise<Open> {
  const path = temporaryFile();
  const store = sqliteStore({ path, ...options });
  opened.push(store);
  const changes: StoreStatus[] = [];
  store.health.onChange((status) => changes.push(status));
  await create(store, { taskId: "before" });
  expect(store.health.status).toEqual({ healthy: true });
  return { path, store, changes };
}

const unavailable = { name: "StoreError", kind: "unavailable" };
const unhealthy = (reason: RegExp): object => ({ healthy: false, reason: expect.stringMatching(reason) });
const healthy = { healthy: true };

/** Twice the two seconds in which a store has to detect a fault, to allow for slow machines. */
const soon = { timeout: 4_000, interval: 20 };

describe("a file that is not there any more", () => {
  const takeAway: Record<string, { take: (path: string) => void; reason: RegExp }> = {
    removed: { take: (path) => rmSync(path), reason: /tasks.*removed or moved/ },
    moved: { take: (path) => renameSync(path, `${path}-elsewhere`), reason: /tasks.*removed or moved/ },
    replaced: {
      take: (path) => {
        copyFileSync(path, `${path}-copy`);
        renameSync(`${path}-copy`, path);
      },
      reason: /tasks.*replaced/,
    },
    "without its log": { take: (path) => rmSync(`${path}-wal`), reason: /-wal was removed/ },
  };

  for (const [what, { take, reason }] of Object.entries(takeAway)) {
    it(`acknowledges nothing from the moment on: ${what}`, async () => {
      const { path, store } = await openWith();
      take(path);
      for (let i = 0; i < 20; i++) {
        await expect(create(store, { taskId: `lost-${i}` })).rejects.toMatchObject(unavailable);
      }
      expect(store.health.status).toMatchObject({ ...unhealthy(reason), restartHelps: true });
      expect(await readAll(store, "before")).toEqual(["1"]);
    });

    it(`is noticed while nothing is written: ${what}`, async () => {
      const { path, store } = await openWith();
      take(path);
      await expect.poll(() => store.health.status, soon).toMatchObject(unhealthy(reason));
      await expect(create(store, { taskId: "lost" })).rejects.toMatchObject(unavailable);
    });
  }

  it("is noticed without its shared memory, which other processes find their way by", async () => {
    const { path, store } = await openWith();
    rmSync(`${path}-shm`);
    await expect.poll(() => store.health.status, soon).toMatchObject(unhealthy(/-shm was removed/));
  });

  it("is written to again when it comes back, with all that was acknowledged", async () => {
    const { path, store, changes } = await openWith();
    renameSync(path, `${path}-elsewhere`);
    await expect(create(store, { taskId: "refused" })).rejects.toMatchObject(unavailable);
    renameSync(`${path}-elsewhere`, path);
    await expect.poll(() => store.health.status, soon).toEqual(healthy);
    await create(store, { taskId: "after" });
    expect(changes).toMatchObject([unhealthy(/removed or moved/), healthy]);
    await store.close();
    const again = sqliteStore(path);
    opened.push(again);
    expect(await readAll(again, "before")).toEqual(["1"]);
    expect(await readAll(again, "after")).toEqual(["1"]);
  });

  it("is not made anew when the store is closed", async () => {
    const { path, store } = await openWith();
    rmSync(path);
    await store.close();
    expect(existsSync(path)).toBe(false);
  });
});

describe("a writer's thread that dies", () => {
  it("leaves what was under way open, and is started again", async () => {
    const workers = new Set<Worker>();
    const post = Worker.prototype.postMessage;
    vi.spyOn(Worker.prototype, "postMessage").mockImplementation(function (this: Worker, ...args) {
      workers.add(this);
      post.apply(this, args);
    });
    const { path, store, changes } = await openWith();
    const endsInCalls = sqliteDriver().name === "node:sqlite";
    const head = await create(store, { taskId: "a" });
    for (let death = 1; death <= 2; death++) {
      const end = (): void => {
        for (const worker of workers) void worker.terminate();
        workers.clear();
      };
      // The package's binary ends the whole process when its thread ends in the middle of a call.
      if (!endsInCalls) end();
      const other = openDatabase(path);
      if (endsInCalls) other.exec("BEGIN IMMEDIATE");
      const waiting = Promise.allSettled([
        store.append(followRequest({ ...head, position: death, generation: death })),
        create(store, { taskId: `waiting-${death}` }),
      ]);
      if (endsInCalls) {
        await new Promise((resolve) => setImmediate(resolve));
        end();
        other.exec("ROLLBACK");
      }
      other.close();
      for (const outcome of await waiting) expect(outcome).toMatchObject({ status: "rejected", reason: unavailable });
      await expect.poll(() => store.health.status, { timeout: 20_000 }).toEqual(healthy);
      // Each of them was done or not, and the position that is expected tells which.
      const now = await store.head({ taskId: "a" });
      if (now?.position === death) await follow(store, { ...head, position: death, generation: death });
      expect(await readAll(store, "a")).toHaveLength(death + 1);
    }
    expect(changes).toMatchObject([unhealthy(/thread/), healthy, unhealthy(/thread/), healthy]);
  }, 60_000);
});

describe("a write that takes too long", () => {
  it("is refused after its time, and what comes meanwhile at once, until the disk goes on", async () => {
    const { path, store, changes } = await openWith({ stallMs: 500, writeTimeoutMs: 1_500 });
    const other = openDatabase(path);
    other.exec("BEGIN IMMEDIATE");
    await expect(create(store, { taskId: "late" })).rejects.toMatchObject(unavailable);
    expect(store.health.status).toMatchObject(unhealthy(/under way/));
    await expect(create(store, { taskId: "refused" })).rejects.toMatchObject(unavailable);
    expect(await readAll(store, "before")).toEqual(["1"]);
    other.exec("ROLLBACK");
    other.close();
    await expect.poll(() => store.health.status, soon).toEqual(healthy);
    // The write was stored, but its caller got no answer. The outcome is unknown until the log is read.
    expect(await readAll(store, "late")).toEqual(["1"]);
    expect(await readAll(store, "refused")).toEqual([]);
    await create(store, { taskId: "after" });
    expect(changes.slice(0, 2)).toMatchObject([unhealthy(/under way/), healthy]);
  }, 30_000);

  it("is no recovery when it fails, while another process still holds the file", async () => {
    const { path, store, changes } = await openWith({ stallMs: 500, writeTimeoutMs: 1_500 });
    const other = openDatabase(path);
    other.exec("BEGIN IMMEDIATE");
    await expect(create(store, { taskId: "late" })).rejects.toMatchObject(unavailable);
    // SQLite itself gives up after 10 seconds.
    await expect.poll(() => store.health.status, { timeout: 15_000 }).toMatchObject(unhealthy(/failed/));
    expect(changes).not.toContainEqual(healthy);
    other.exec("ROLLBACK");
    other.close();
    await expect.poll(() => store.health.status, { timeout: 15_000 }).toEqual(healthy);
  }, 40_000);

  it("does not keep the store from being closed", async () => {
    const { path, store } = await openWith({ stallMs: 500, writeTimeoutMs: 1_500 });
    const other = openDatabase(path);
    other.exec("BEGIN IMMEDIATE");
    const late = expect(create(store, { taskId: "late" })).rejects.toMatchObject(unavailable);
    await expect(store.close()).rejects.toMatchObject(unavailable);
    await late;
    other.exec("ROLLBACK");
    other.close();
  }, 30_000);
});
