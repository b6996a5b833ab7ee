import { afterEach, describe, expect, it } from "vitest";
import { create, followRequest, OWNER } from "../../../contract/setup.js";
import { sqliteDriver } from "../../../src/store/sqlite/driver/choose.js";
import { type SqliteStore, sqliteStore } from "../../../src/store/sqlite/index.js";
import { lockFile } from "../../../src/store/sqlite/lock.js";
import { migrate, SCHEMA_VERSION } from "../../../src/store/sqlite/migrations.js";
import { temporaryFile } from "./files.js";
import { startChild } from "./process.js";

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

const OLDER = SCHEMA_VERSION - 1;

/** A file as an older program left it. */
function olderFile(): string {
  const path = temporaryFile();
  const db = sqliteDriver().open(path);
  db.pragma("journal_mode = WAL");
  migrate(db, OLDER);
  db.close();
  return path;
}

function versionOf(path: string): unknown {
  const db = sqliteDriver().open(path);
  try {
    return db.pragma("user_version");
  } finally {
    db.close();
  }
}

function open(path: string): SqliteStore {
  const store = sqliteStore({ path, shared: true });
  opened.push(store);
  return store;
}

const older = (path: string): RegExp =>
  new RegExp(
    `^Cannot open ${path}: its schema is version ${OLDER}, this program brings it to ${SCHEMA_VERSION}, and .* has it open meanwhile, which may be an older program\\. End all that share the file, then start this one\\.$`,
  );

describe("a shared file of an older version", { timeout: 60_000 }, () => {
  it("is not changed while a process has it that may be an older one", async () => {
    const path = olderFile();
    // Holds the file like a store of any version.
    const child = startChild("share", path);
    await child.said(1);
    const message = older(path);
    expect(() => open(path)).toThrow(message);
    if (process.platform === "linux") expect(() => open(path)).toThrow(`process ${child.process.pid} has it`);
    expect(versionOf(path)).toBe(OLDER);
    child.process.kill("SIGKILL");
    await child.ended;
    const store = open(path);
    expect(versionOf(path)).toBe(SCHEMA_VERSION);
    await create(store, { taskId: "a" });
  });

  it("is waited for while that process comes to its end", async () => {
    const path = olderFile();
    const child = startChild("share until told", path);
    await child.said(1);
    child.process.kill("SIGTERM");
    await child.said(2);
    open(path);
    expect(await child.ended).toBe(0);
    expect(versionOf(path)).toBe(SCHEMA_VERSION);
  });

  it("is brought up to date once, and then shared, by those that start together", async () => {
    const path = olderFile();
    const children = ["one", "two", "three", "four"].map((name) => startChild("race", path, name));
    for (const child of children) expect(await child.ended).toBe(0);
    expect(versionOf(path)).toBe(SCHEMA_VERSION);
    expect((await open(path).list({ ...OWNER, limit: 1 })).total).toBe(80);
  });

  it("is shared again by the process that migrated it", async () => {
    const path = olderFile();
    open(path);
    open(path);
    expect(() => lockFile(path, false)).toThrow("as one of several");
  });
});

/**
 * Migrates a file as a newer program would while another process has it open: it adds a table that today's statements
 * do not write.
 */
function migrateUnder(path: string): void {
  const db = sqliteDriver().open(path);
  db.exec(`BEGIN IMMEDIATE; CREATE TABLE more (x INTEGER); PRAGMA user_version = ${SCHEMA_VERSION + 1}; COMMIT`);
  db.close();
}

function tasksIn(path: string): unknown[] {
  const db = sqliteDriver().open(path);
  try {
    return db.values("SELECT task_id FROM segment ORDER BY task_id, last").all();
  } finally {
    db.close();
  }
}

const reason = new RegExp(
  `its schema became version ${SCHEMA_VERSION + 1}, and this program knows ${SCHEMA_VERSION}: a newer one`,
);

describe("a shared file that became newer under a store", () => {
  it("is written no more from that moment on, and the store says why", async () => {
    const path = temporaryFile();
    const store = open(path);
    const head = await create(store, { taskId: "a" });
    migrateUnder(path);
    const writes = [
      store.append(followRequest(head)),
      store.saveSnapshot({ taskId: "a", snapshot: { position: 1, bytes: new Uint8Array([1]) } }),
      store.heartbeat({ holder: "me", leaseMs: 1_000, maxStallMs: 1_000, again: false }),
    ];
    for (const write of writes) await expect(write).rejects.toMatchObject({ kind: "unavailable", message: reason });
    expect(store.health.status).toMatchObject({
      healthy: false,
      reason: expect.stringMatching(reason),
      restartHelps: true,
    });
    await expect(store.append(followRequest(head))).rejects.toMatchObject({ kind: "unavailable" });
    expect(tasksIn(path)).toEqual(["a"]);
  });

  it("is noticed while nothing is written, within the bound of the seam", async () => {
    const path = temporaryFile();
    const store = open(path);
    await create(store, { taskId: "a" });
    migrateUnder(path);
    await expect
      .poll(() => store.health.status, { timeout: 4_000 })
      .toMatchObject({ healthy: false, reason: expect.stringMatching(reason) });
    // The store stays unhealthy, although other checks succeed.
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(store.health.status.healthy).toBe(false);
  });
});
