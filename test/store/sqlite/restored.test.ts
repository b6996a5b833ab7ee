import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, truncateSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { create, listAll, OWNER, readAll } from "../../../contract/setup.js";
import { type SqliteStore, sqliteStore } from "../../../src/store/sqlite/index.js";
import { restoreFile } from "../../../src/store/sqlite/restore.js";
import { openDatabase } from "../../support/database.js";
import { expectSoundFile } from "../../support/sound-file.js";
import { temporaryFile } from "./files.js";
import { startChild } from "./process.js";

const opened: SqliteStore[] = [];

afterEach(async () => {
  for (const store of opened.splice(0)) await store.close().catch(() => {});
});

function open(path: string): SqliteStore {
  const store = sqliteStore(path);
  opened.push(store);
  return store;
}

const unavailable = { name: "StoreError", kind: "unavailable" };

/** Copies a file that is in use. */
const vacuumInto = (path: string, copy: string): void => {
  const db = openDatabase(path);
  db.exec(`VACUUM INTO '${copy}'`);
  db.close();
};

/** Ways to put a copy in the place of the file. */
const restores: Record<string, (copy: string, path: string) => void> = {
  "moved over it": renameSync,
  "copied over it": copyFileSync,
};

async function tasksIn(store: SqliteStore): Promise<string[]> {
  return (await listAll(store, { ...OWNER, limit: 1_000 })).sort();
}

describe("a file that is restored while a store has it open", () => {
  for (const [how, restore] of Object.entries(restores)) {
    it(`acknowledges nothing more, and leaves the copy as it is: ${how}`, async () => {
      const path = temporaryFile();
      const store = open(path);
      await create(store, { taskId: "kept" });
      vacuumInto(path, `${path}-copy`);
      const bytes = readFileSync(`${path}-copy`);
      for (let i = 0; i < 20; i++) await create(store, { taskId: `later-${i}` });
      restore(`${path}-copy`, path);
      for (let i = 0; i < 20; i++) {
        await expect(create(store, { taskId: `lost-${i}` })).rejects.toMatchObject(unavailable);
      }
      expect(store.health.status).toMatchObject({ healthy: false, restartHelps: true });
      await store.close();
      expect(readFileSync(path).equals(bytes)).toBe(true);
      expect(existsSync(`${path}-wal`)).toBe(false);
      const again = open(path);
      expect(await tasksIn(again)).toEqual(["kept"]);
      await create(again, { taskId: "after" });
      await again.close();
      expect(expectSoundFile(path)).toBe(2);
    });
  }

  it("is noticed while nothing is written, and stays noticed", async () => {
    const path = temporaryFile();
    const store = open(path);
    await create(store, { taskId: "kept" });
    vacuumInto(path, `${path}-copy`);
    copyFileSync(`${path}-copy`, path);
    const soon = { timeout: 4_000, interval: 20 };
    await expect.poll(() => store.health.status, soon).toMatchObject({ reason: /tasks.db was overwritten/ });
    await expect(create(store, { taskId: "lost" })).rejects.toMatchObject(unavailable);
  });
});

describe("a copy that was made without the log", () => {
  let copies = 0;
  /** Copies a file and restores from the copy. */
  const restored = async (path: string): Promise<number> => {
    const copy = `${path}-${copies++}`;
    copyFileSync(path, copy);
    return (await restoreFile(copy, `${copy}-restored`)).tasks;
  };
  const refusal = { kind: "failed", message: expect.stringMatching(/a store had it open when it was copied/) };

  it("is refused until the last of several stores has closed the file", async () => {
    const path = temporaryFile();
    const [one, other] = [sqliteStore({ path, shared: true }), sqliteStore({ path, shared: true })];
    opened.push(one, other);
    await create(one, { taskId: "one" });
    await expect(restored(path)).rejects.toMatchObject(refusal);
    await one.close();
    await create(other, { taskId: "other" });
    await expect(restored(path)).rejects.toMatchObject(refusal);
    await other.close();
    expect(await restored(path)).toBe(2);
  });

  it("is refused after a crash, until a store has read the log", async () => {
    const path = temporaryFile();
    const store = open(path);
    await create(store, { taskId: "kept" });
    const crashed = temporaryFile();
    for (const suffix of ["", "-wal"]) copyFileSync(`${path}${suffix}`, `${crashed}${suffix}`);
    await expect(restored(crashed)).rejects.toMatchObject(refusal);
    await open(crashed).close();
    expect(await restored(crashed)).toBe(1);
  });

  it("is whole if SQLite made it", async () => {
    const path = temporaryFile();
    await create(open(path), { taskId: "kept" });
    vacuumInto(path, `${path}-copy`);
    expect(await restored(`${path}-copy`)).toBe(1);
  });
});

describe("a log that is cut while a store has it open", () => {
  const cuts: Record<string, (size: number) => number> = {
    "all of it": () => 0,
    "all but its beginning": () => 8_192,
    "its last byte": (size) => size - 1,
  };

  for (const [what, left] of Object.entries(cuts)) {
    it(`acknowledges nothing more: ${what}`, async () => {
      const path = temporaryFile();
      const store = open(path);
      for (let i = 0; i < 20; i++) await create(store, { taskId: `task-${i}` });
      truncateSync(`${path}-wal`, left(readFileSync(`${path}-wal`).length));
      for (let i = 0; i < 20; i++) {
        await expect(create(store, { taskId: `lost-${i}` })).rejects.toMatchObject(unavailable);
      }
      expect(store.health.status).toMatchObject({ reason: expect.stringMatching(/-wal was cut/), restartHelps: true });
      await store.close();
      await create(open(path), { taskId: "after" });
      await opened.pop()?.close();
      expectSoundFile(path);
    });
  }
});

describe("a log that another program moved into the file", () => {
  it.each(["PASSIVE", "TRUNCATE"])("is written on: %s", async (mode) => {
    const path = temporaryFile();
    const store = open(path);
    const other = openDatabase(path);
    for (let i = 0; i < 20; i++) {
      await create(store, { taskId: `task-${i}` });
      if (i % 5 === 4) other.pragma(`wal_checkpoint(${mode})`);
    }
    other.close();
    expect(store.health.status).toEqual({ healthy: true });
    await store.close();
    expect(expectSoundFile(path)).toBe(20);
  });
});

describe("a file that is restored beside the log of a killed process", () => {
  const copies: Record<string, (path: string, copy: string) => void> = {
    "a copy from before it was opened": (path, copy) => copyFileSync(`${path}-before`, copy),
    "a copy by VACUUM INTO": vacuumInto,
  };

  for (const [what, copyTo] of Object.entries(copies)) {
    for (const [how, restore] of Object.entries(restores)) {
      it(`is not mixed with it: ${what}, ${how}`, async () => {
        const path = temporaryFile();
        const first = open(path);
        await create(first, { taskId: "kept" });
        await first.close();
        copyFileSync(path, `${path}-before`);
        const child = startChild("append for ever", path, "a");
        await child.said(100);
        copyTo(path, `${path}-copy`);
        const copied = expectSoundFile(`${path}-copy`);
        for (const suffix of ["-wal", "-shm"]) rmSync(`${path}-copy${suffix}`, { force: true });
        await child.said(child.lines.length + 300);
        child.process.kill("SIGKILL");
        await child.ended;
        restore(`${path}-copy`, path);
        const store = open(path);
        expect(await readAll(store, "kept")).toEqual(["1"]);
        expect((await tasksIn(store)).length).toBe(copied);
        await create(store, { taskId: "after" });
        await store.close();
        expect(expectSoundFile(path)).toBe(copied + 1);
      }, 60_000);
    }
  }
});
