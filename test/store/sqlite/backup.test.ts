import {
  appendFileSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { configOf, countTo, create, follow, leaseOf, listAll, OWNER, readAll } from "../../../contract/setup.js";
import { backUpFile } from "../../../src/store/sqlite/backup.js";
import { TRAILER_BYTES } from "../../../src/store/sqlite/backup-file.js";
import { type SqliteStore, type SqliteStoreOptions, sqliteStore } from "../../../src/store/sqlite/index.js";
import { SCHEMA_VERSION } from "../../../src/store/sqlite/migrations.js";
import { restoreFile } from "../../../src/store/sqlite/restore.js";
import { openDatabase } from "../../support/database.js";
import { expectSoundFile } from "../../support/sound-file.js";
import { temporaryFile } from "./files.js";
import { startChild } from "./process.js";

// Copies are made by processes of low priority, which wait for everything else on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const opened: SqliteStore[] = [];

afterEach(async () => {
  for (const store of opened.splice(0)) await store.close().catch(() => {});
});

function open(options: string | SqliteStoreOptions): SqliteStore {
  const store = sqliteStore(options);
  opened.push(store);
  return store;
}

/** A closed file with 30 tasks, some with large entries, and a backup of it. */
async function backedUp(): Promise<{ path: string; backup: string }> {
  const path = temporaryFile();
  const store = sqliteStore(path);
  for (let i = 0; i < 30; i++) await create(store, { taskId: `task-${i}` }, 1 + (i % 7) * 100);
  await store.close();
  await backUpFile(path, `${path}.bak`);
  return { path, backup: `${path}.bak` };
}

/** Names of files that have no place in a folder after a backup or a restoration. */
function leftovers(path: string): string[] {
  return readdirSync(dirname(path)).filter((name) => /partial|journal/.test(name));
}

/** An acknowledged write: a task, and its position after the write. */
type Write = readonly [taskId: string, position: number];

/** The writes in lines of a child, in the order of their acknowledgements. */
function writesIn(lines: readonly string[]): Write[] {
  return lines.flatMap((line) => {
    const [, taskId, position] = /^(\S+) (\d+)$/.exec(line) ?? [];
    return taskId === undefined ? [] : [[taskId, Number(position)] as const];
  });
}

/**
 * Restores a backup and opens it. The backup has every write of `before`, and each task is whole.
 * @returns positions of its tasks
 */
async function expectHolds(backup: string, before: readonly Write[]): Promise<Map<string, number>> {
  const restored = temporaryFile();
  const { tasks } = await restoreFile(backup, restored);
  const store = open(restored);
  const held = new Map<string, number>();
  for (const taskId of await listAll(store, { ...OWNER, limit: 1_000 })) {
    const position = (await store.head({ taskId }))?.position ?? 0;
    held.set(taskId, position);
    expect(await readAll(store, taskId)).toEqual(countTo(position));
  }
  expect(held.size).toBe(tasks);
  expect(before.filter((write) => !isIn(held, write))).toEqual([]);
  await store.close();
  expect(expectSoundFile(restored)).toBe(tasks);
  return held;
}

const isIn = (held: ReadonlyMap<string, number>, [taskId, position]: Write): boolean =>
  (held.get(taskId) ?? 0) >= position;

/**
 * A backup that has a write also has all that were acknowledged before the request of that write. A caller, whose tasks
 * have its name before the last hyphen, requests a write after the acknowledgement of its previous one.
 */
function expectOneMoment(held: ReadonlyMap<string, number>, writes: readonly Write[]): void {
  const previous = new Map<string, number>();
  let needed = 0;
  for (const [index, write] of writes.entries()) {
    const caller = write[0].slice(0, write[0].lastIndexOf("-"));
    if (isIn(held, write)) needed = Math.max(needed, previous.get(caller) ?? 0);
    previous.set(caller, index + 1);
  }
  expect(writes.slice(0, needed).filter((write) => !isIn(held, write))).toEqual([]);
}

describe("backUpFile()", () => {
  it("holds one moment of a file that another process writes", async () => {
    const path = temporaryFile();
    const child = startChild("append for ever", path, "a");
    for (let round = 1; round <= 3; round++) {
      await child.said(round * 300);
      const before = writesIn(child.lines);
      await backUpFile(path, `${path}.${round}`);
      const held = await expectHolds(`${path}.${round}`, before);
      expectOneMoment(held, writesIn(child.lines));
    }
    child.process.kill("SIGKILL");
    await child.ended;
    const said = writesIn(child.lines);
    await backUpFile(path, `${path}.killed`);
    await expectHolds(`${path}.killed`, said);
    expect(leftovers(path)).toEqual([]);
  });

  it("creates a file that only its owner can read, and leaves the folder of a closed file as it is", async () => {
    const { path, backup } = await backedUp();
    if (process.platform !== "win32") expect(statSync(backup).mode & 0o777).toBe(0o600);
    expect(readdirSync(dirname(path)).sort()).toEqual(["tasks.db", "tasks.db-lock", "tasks.db.bak"]);
  });

  it("rejects a target that exists, and a missing folder", async () => {
    const { path, backup } = await backedUp();
    const bytes = readFileSync(backup);
    await expect(backUpFile(path, backup)).rejects.toMatchObject({ kind: "failed", message: /exists, and is not/ });
    expect(readFileSync(backup).equals(bytes)).toBe(true);
    await expect(backUpFile(path, `${path}-no/b`)).rejects.toThrow("does not exist");
    await expect(backUpFile(`${path}-no`, `${path}.c`)).rejects.toThrow("the file does not exist");
    await expect(backUpFile(`${path}/b`, `${path}.c`)).rejects.toMatchObject({ kind: "failed" });
  });

  it.each(["a file in place of its folder", "a name that is too long"])("rejects a target with %s", async (fault) => {
    const { path, backup } = await backedUp();
    const target = fault.startsWith("a file") ? `${path}/b` : `${path}.${"x".repeat(300)}`;
    await expect(backUpFile(path, target)).rejects.toMatchObject({ kind: "failed", message: /^Cannot/ });
    await expect(restoreFile(backup, target)).rejects.toMatchObject({ kind: "failed", message: /^Cannot/ });
    await expect(open(path).backup?.({ target })).rejects.toMatchObject({ kind: "failed", message: /^Cannot/ });
  });

  it.each(["-wal", "-shm", "-journal", "-lock"])(
    "rejects a name that ends with %s, of a file beside another",
    async (end) => {
      const { path, backup } = await backedUp();
      await expect(backUpFile(path, `${backup}${end}`)).rejects.toThrow(`files that end with ${end} belong to another`);
      await expect(restoreFile(backup, `${path}.new${end}`)).rejects.toThrow(
        `files that end with ${end} belong to another`,
      );
      // A log beside the backup would make it no whole copy.
      await restoreFile(backup, `${path}.new`);
      const store = open(path);
      await expect(store.backup?.({ target: `${backup}${end}` })).rejects.toMatchObject({ kind: "failed" });
    },
  );

  it("rejects what is no store, or that of a newer program", async () => {
    const path = temporaryFile();
    writeFileSync(path, "no database, but long enough to be taken for the header of one".repeat(4));
    await expect(backUpFile(path, `${path}.bak`)).rejects.toMatchObject({ kind: "damaged" });
    const other = temporaryFile();
    const db = openDatabase(other);
    db.exec("CREATE TABLE other (x)");
    db.pragma("application_id = 7");
    db.close();
    await expect(backUpFile(other, `${other}.bak`)).rejects.toThrow("another application");
    const newer = (await backedUp()).path;
    const again = openDatabase(newer);
    again.pragma(`user_version = ${SCHEMA_VERSION + 1}`);
    again.close();
    await expect(backUpFile(newer, `${newer}.2`)).rejects.toMatchObject({ kind: "newer-schema" });
    for (const each of [path, other, newer]) expect(leftovers(each)).toEqual([]);
  });

  it("rejects a damaged store, instead of copying what is left of it", async () => {
    const { path } = await backedUp();
    const db = openDatabase(path);
    db.exec("DELETE FROM segment WHERE task_id = 'task-3'");
    db.close();
    await expect(backUpFile(path, `${path}.2`)).rejects.toThrow("damaged: it has a task without all its entries");
    expect(existsSync(`${path}.2`)).toBe(false);
  });
});

describe("SqliteStore.backup()", () => {
  it.each([false, true])("holds what was acknowledged, while appends continue; shared: %s", async (shared) => {
    const path = temporaryFile();
    const store = open({ path, shared });
    const done: Write[] = [];
    let isOver = false;
    const grow = async (name: number): Promise<void> => {
      for (let i = 0; !isOver; i++) {
        const head = await create(store, { taskId: `${name}-${i}` });
        done.push([head.taskId, 1]);
        done.push([head.taskId, (await follow(store, head, {}, 3)).position]);
      }
    };
    const growing = [1, 2, 3, 4].map(grow);
    await expect.poll(() => done.length).toBeGreaterThan(100);
    const before = [...done];
    const { path: made, bytes, time } = await (store.backup?.({ target: `${path}.bak` }) ?? Promise.reject());
    expect(done.length).toBeGreaterThan(before.length);
    isOver = true;
    await Promise.all(growing);
    expect([made, bytes]).toEqual([`${path}.bak`, statSync(made).size]);
    expect(time).toBeLessThanOrEqual(Date.now());
    expectOneMoment(await expectHolds(made, before), done);
  });

  it("makes one at a time, and none that exists", async () => {
    const path = temporaryFile();
    const store = open(path);
    await create(store, { taskId: "a" });
    const first = store.backup?.({ target: `${path}.1` });
    await expect(store.backup?.({ target: `${path}.2` })).rejects.toThrow("Another backup");
    await first;
    await expect(store.backup?.({ target: `${path}.1` })).rejects.toMatchObject({ kind: "failed", message: /exists/ });
    await store.backup?.({ target: `${path}.2` });
    await expectHolds(`${path}.2`, [["a", 1]]);
  });

  it("ends with the store, and leaves nothing", async () => {
    const path = temporaryFile();
    const store = open(path);
    await create(store, { taskId: "a" });
    const made = store.backup?.({ target: `${path}.1` });
    const ended = expect(made).rejects.toMatchObject({ kind: "closed" });
    await new Promise((resolve) => setImmediate(resolve));
    await store.close();
    await ended;
    await expect(store.backup?.({ target: `${path}.2` })).rejects.toMatchObject({ kind: "closed" });
    expect(readdirSync(dirname(path)).sort()).toEqual(["tasks.db", "tasks.db-lock"]);
  });
});

describe("restoreFile()", () => {
  it("rejects a backup with any byte changed, and leaves no file", async () => {
    const { path, backup } = await backedUp();
    const whole = readFileSync(backup);
    const places = [0, 27, 60, 99, 5_000, whole.length - 1, whole.length - 33, whole.length - TRAILER_BYTES];
    for (let i = 0; i < 40; i++) places.push(Math.floor((i / 40) * whole.length));
    for (const place of places) {
      const flipped = Buffer.from(whole);
      flipped[place] = (flipped[place] ?? 0) ^ (1 << (place % 8));
      writeFileSync(`${path}.flipped`, flipped);
      const restoring = restoreFile(`${path}.flipped`, `${path}.new`);
      await expect(restoring, `byte ${place}`).rejects.toMatchObject({ name: "StoreError" });
      expect(existsSync(`${path}.new`)).toBe(false);
    }
    expect(leftovers(path)).toEqual([]);
  });

  it("rejects a backup that was cut, wherever", async () => {
    const { path, backup } = await backedUp();
    const { size } = statSync(backup);
    for (const left of [0, 50, 4_096, 10_000, size - TRAILER_BYTES - 1, size - TRAILER_BYTES, size - 1]) {
      copyFileSync(backup, `${path}.cut`);
      truncateSync(`${path}.cut`, left);
      await expect(restoreFile(`${path}.cut`, `${path}.new`)).rejects.toMatchObject({ name: "StoreError" });
    }
    copyFileSync(backup, `${path}.cut`);
    appendFileSync(`${path}.cut`, "x");
    await expect(restoreFile(`${path}.cut`, `${path}.new`)).rejects.toThrow("damaged");
    expect(existsSync(`${path}.new`)).toBe(false);
  });

  it("rejects a target that exists, or that a store has open", async () => {
    const { path, backup } = await backedUp();
    await expect(restoreFile(backup, path)).rejects.toThrow("exists, and is not replaced");
    open(path);
    // An operator might move away the file of a running server.
    renameSync(path, `${path}-old`);
    await expect(restoreFile(backup, path)).rejects.toThrow("has it open");
    expect(existsSync(path)).toBe(false);
  });

  it("sets the log of a removed file aside", async () => {
    const { path, backup } = await backedUp();
    const child = startChild("append for ever", `${path}-2`, "a");
    await child.said(100);
    child.process.kill("SIGKILL");
    await child.ended;
    renameSync(`${path}-2`, `${path}-old`);
    await restoreFile(backup, `${path}-2`);
    expect(existsSync(`${path}-2-wal`)).toBe(false);
    expect(existsSync(`${path}-2-wal-unused`)).toBe(true);
    expect(expectSoundFile(`${path}-2`)).toBe(30);
  });

  it("rejects a file with a log, which is no whole copy", async () => {
    const path = temporaryFile();
    const store = open(path);
    await create(store, { taskId: "a" });
    await expect(restoreFile(path, `${path}.new`)).rejects.toThrow("tasks.db-wal has changes that are not in it");
  });

  it("restores the file of a server that ended in order", async () => {
    const { path } = await backedUp();
    copyFileSync(path, `${path}.cp`);
    expect(await restoreFile(`${path}.cp`, `${path}.new`)).toEqual({ path: `${path}.new`, tasks: 30, time: undefined });
    const store = open(`${path}.new`);
    expect(store.restorations).toHaveLength(1);
    expect(await readAll(store, "task-6")).toEqual(countTo(601));
  });
});

describe("a restored store", () => {
  it("logs once that it was, and frees what other processes had claimed", async () => {
    const path = temporaryFile();
    const store = open(path);
    expect(store.restorations).toEqual([]);
    const head = await create(store, { taskId: "a", lease: leaseOf({ holder: "gone" }) });
    await store.putPushConfig(configOf({ taskId: "a", configId: "x" }));
    await follow(store, head, { state: 2 });
    const claim = { leaseMs: 60_000, now: 9_999, limit: 10 };
    expect(await store.claimDeliveries({ ...claim, holder: "gone" })).toHaveLength(1);
    const { time } = await backUpFile(path, `${path}.bak`);
    await store.close();

    for (const shared of [false, true]) {
      const restored = `${path}.${shared}`;
      await restoreFile(`${path}.bak`, restored);
      const lines: object[] = [];
      const note = (fields: object, message: string): void => void lines.push({ ...fields, message });
      const logger = { debug() {}, info() {}, warn: note, error: note };
      const first = open({ path: restored, shared, logger });
      const copiedAt = new Date(time).toISOString();
      const message = expect.stringContaining("restored from a copy");
      expect(lines).toEqual([{ path: restored, copiedAt, webhooks: 1, message }]);
      expect(first.restorations).toMatchObject([{ id: expect.stringMatching(/^[\w-]{12}$/) }]);
      expect(first.restorations?.[0]?.until).toBeGreaterThanOrEqual(time);
      expect(await first.claimLeases({ holder: "me", leaseMs: 60_000, limit: 10 })).toMatchObject([{ taskId: "a" }]);
      expect(await first.claimDeliveries({ ...claim, holder: "me" })).toMatchObject([{ taskId: "a", position: 1 }]);
      await first.close();
      const second = open({ path: restored, shared, logger });
      expect(lines).toHaveLength(1);
      expect(second.restorations).toEqual(first.restorations);
      await second.close();
    }
  });

  it("knows each restoration, of a backup of a restored one too", async () => {
    const { path, backup } = await backedUp();
    const ids = new Set<string>();
    for (const name of ["one", "two"]) {
      await restoreFile(backup, `${path}.${name}`);
      const store = open(`${path}.${name}`);
      for (const { id } of store.restorations ?? []) ids.add(id);
      await store.close();
    }
    expect(ids.size).toBe(2);
    await backUpFile(`${path}.two`, `${path}.bak2`);
    // An operator might copy the file without `restore`.
    copyFileSync(`${path}.bak2`, `${path}.three`);
    const store = open(`${path}.three`);
    expect(store.restorations).toHaveLength(2);
    expect(store.restorations?.filter(({ id }) => ids.has(id))).toHaveLength(1);
    await create(store, { taskId: "after" });
    await store.close();
    expect(expectSoundFile(`${path}.three`)).toBe(31);
  });
});
