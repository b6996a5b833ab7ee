import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { bytesOf, follow, headOf, leaseOf, numbered, OWNER, textOf } from "../../../src/store/contract/setup.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { APPLICATION_ID, migrate, migrations, SCHEMA_VERSION } from "../../../src/store/sqlite/migrations.js";
import { planSegments, writeEntries } from "../../../src/store/sqlite/segment.js";
import type { TaskHead } from "../../../src/store/task-store.js";
import { temporaryFile } from "./files.js";

/** Writes a file as version 1 left it: no counters, and the given tasks with everything that a task can have. */
function versionOneFile(path: string, heads: readonly TaskHead[]): void {
  const db = new Database(path);
  db.pragma("journal_mode = WAL");
  migrate(db, 1);
  for (const head of heads) {
    const { taskId, lease, state, statusTime, position } = head;
    db.prepare("INSERT INTO head VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)").run(
      ...[taskId, head.tenant, head.owner, head.contextId, state, statusTime, position, head.generation],
      ...[state === 3 ? statusTime : null, lease?.holder, lease?.until, lease?.turn, lease?.attempt],
    );
    const entries = numbered(0, position);
    const bytes = new Uint8Array(planSegments(entries)[0]?.bytes ?? 0);
    writeEntries(bytes, 0, entries);
    db.prepare("INSERT INTO segment VALUES (?, ?, ?, ?)").run(taskId, position, position, bytes);
    db.prepare("INSERT INTO snapshot VALUES (?, ?, ?)").run(taskId, 1, bytesOf(`fold of ${taskId}`));
    db.prepare("INSERT INTO send VALUES (?, ?, ?, ?, ?, ?)").run(head.tenant, head.owner, taskId, "f", taskId, 1);
    db.prepare("INSERT INTO push_config VALUES (?, ?, ?, ?)").run(taskId, "x", 1, bytesOf(`config of ${taskId}`));
  }
  db.close();
}

const versionOf = (db: Database.Database): unknown => db.pragma("user_version", { simple: true });
const tablesOf = (db: Database.Database): unknown[] =>
  db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").pluck().all();

describe("migrate()", () => {
  it("makes a new file in all steps and marks it as ours", () => {
    const db = new Database(":memory:");
    expect(migrate(db)).toBe(0);
    expect(versionOf(db)).toBe(SCHEMA_VERSION);
    expect(db.pragma("application_id", { simple: true })).toBe(APPLICATION_ID);
    expect(tablesOf(db)).toEqual(["counter", "head", "push_config", "segment", "send", "snapshot"]);
  });

  it("does nothing about a file that is up to date", () => {
    const db = new Database(":memory:");
    migrate(db);
    const before = db.serialize();
    expect(migrate(db)).toBe(SCHEMA_VERSION);
    expect(db.serialize().equals(before)).toBe(true);
  });

  it("takes every version to the next one", () => {
    for (let from = 0; from < migrations.length; from++) {
      const db = new Database(":memory:");
      migrate(db, from);
      expect(versionOf(db)).toBe(from);
      expect(migrate(db)).toBe(from);
      expect(versionOf(db)).toBe(SCHEMA_VERSION);
    }
  });

  it("takes a step whole or not at all", () => {
    const db = new Database(":memory:");
    migrate(db, 1);
    db.exec("CREATE TABLE counter (in_the_way)");
    expect(() => migrate(db)).toThrow("already exists");
    expect(versionOf(db)).toBe(1);
    db.exec("DROP TABLE counter");
    migrate(db);
    expect(versionOf(db)).toBe(SCHEMA_VERSION);
  });
});

describe("sqliteStore() with a file of version 1", () => {
  const heads = [
    headOf({ taskId: "a", position: 3, generation: 3, lease: leaseOf({ until: 0 }) }),
    headOf({ taskId: "b", position: 2, statusTime: 2_000, state: 3 }),
    headOf({ taskId: "c", position: 1, statusTime: 3_000, state: 3 }),
    headOf({ taskId: "d", position: 1, owner: "somebody else" }),
  ];

  it("counts the tasks that are in it", async () => {
    const path = temporaryFile();
    versionOneFile(path, heads);
    const store = sqliteStore(path);
    expect(await store.list({ ...OWNER, limit: 10 })).toEqual({ heads: [heads[2], heads[1], heads[0]], total: 3 });
    expect(await store.list({ ...OWNER, state: 3, limit: 1 })).toEqual({ heads: [heads[2]], total: 2 });
    expect((await store.list({ tenant: "tenant", owner: "somebody else", limit: 1 })).total).toBe(1);
    await store.close();
  });

  it("keeps everything that is in it", async () => {
    const path = temporaryFile();
    versionOneFile(path, heads);
    const store = sqliteStore(path);
    for (const head of heads) {
      const { taskId, tenant, owner } = head;
      const loaded = await store.load({ taskId });
      expect(loaded?.head).toEqual(head);
      expect(loaded?.snapshot).toEqual({ position: 1, bytes: bytesOf(`fold of ${taskId}`) });
      const entries = await store.read({ taskId, after: 0, limit: 10 });
      expect(entries.map(textOf)).toEqual(numbered(0, head.position).map(textOf));
      const remembered = { fingerprint: "f", taskId, position: 1 };
      expect(await store.findSend({ tenant, owner, key: taskId })).toEqual(remembered);
      const config = { bytes: bytesOf(`config of ${taskId}`), position: 1 };
      expect(await store.getPushConfig({ taskId, configId: "x" })).toEqual(config);
    }
    await store.close();
  });

  it("goes on with it, and is of the new version ever after", async () => {
    const path = temporaryFile();
    versionOneFile(path, heads);
    const log: unknown[] = [];
    const keep = (facts: object, message: string): number => log.push({ ...facts, message });
    const store = sqliteStore({ path, logger: { debug: keep, info: keep, warn: keep, error: keep } });
    expect(log).toEqual([expect.objectContaining({ path, from: 1, to: SCHEMA_VERSION })]);
    await follow(store, heads[0]!, { state: 3 });
    expect((await store.list({ ...OWNER, state: 3, limit: 1 })).total).toBe(3);
    expect(await store.removeFinished({ before: 2_500, limit: 10 })).toBe(2);
    expect((await store.list({ ...OWNER, limit: 1 })).total).toBe(1);
    await store.close();
    const db = new Database(path);
    expect(versionOf(db)).toBe(SCHEMA_VERSION);
    db.close();
  });
});
