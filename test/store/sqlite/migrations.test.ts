import { readFileSync } from "node:fs";
import { create, equals } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { bytesOf, decodeUtf8, follow, headOf, leaseOf, numbered, OWNER } from "../../../contract/setup.js";
import { TaskSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type LogEntry, LogEntrySchema } from "../../../gen/parley/log/v1/log_pb.js";
import { planSegments, writeEntries } from "../../../src/store/segment.js";
import { APPLICATION_ID, immediate } from "../../../src/store/sqlite/connection.js";
import type { Database } from "../../../src/store/sqlite/driver/driver.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { migrate, migrations, SCHEMA_VERSION } from "../../../src/store/sqlite/migrations.js";
import type { TaskHead } from "../../../src/store/task-store.js";
import { TaskFold } from "../../../src/task/fold.js";
import { encodeSnapshot, SnapshotReader } from "../../../src/task/snapshot.js";
import { hasDbstat, openDatabase, spilling } from "../../support/database.js";
import { temporaryFile } from "./files.js";
import { startChild } from "./process.js";

/** Writes a file as version 1 left it: no counters, and the given tasks with everything that a task can have. */
function versionOneFile(path: string, heads: readonly TaskHead[]): void {
  const db = openDatabase(path);
  db.pragma("journal_mode = WAL");
  migrate(db, 1);
  for (const head of heads) {
    const { taskId, lease, state, statusTime, position } = head;
    db.command("INSERT INTO head VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)").run(
      ...[taskId, head.tenant, head.owner, head.contextId, state, statusTime, position, head.generation],
      ...[
        state === 3 ? statusTime : null,
        lease?.holder ?? null,
        lease && 5_000,
        lease?.turn ?? null,
        lease?.attempt ?? null,
      ],
    );
    const entries = numbered(0, position);
    const bytes = new Uint8Array(planSegments(entries)[0]?.bytes ?? 0);
    writeEntries(bytes, 0, entries);
    db.command("INSERT INTO segment VALUES (?, ?, ?, ?)").run(taskId, position, position, bytes);
    db.command("INSERT INTO snapshot VALUES (?, ?, ?)").run(taskId, 1, bytesOf(`fold of ${taskId}`));
    db.command("INSERT INTO send VALUES (?, ?, ?, ?, ?, ?)").run(head.tenant, head.owner, taskId, "f", taskId, 1);
    db.command("INSERT INTO push_config VALUES (?, ?, ?, ?)").run(taskId, "x", 1, bytesOf(`config of ${taskId}`));
  }
  db.close();
}

const versionOf = (db: Database): unknown => db.pragma("user_version");
const tablesOf = (db: Database): unknown[] =>
  db.values("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();

describe("migrate()", () => {
  it("makes a new file in all steps and marks it as ours", () => {
    const db = openDatabase(":memory:");
    expect(migrate(db)).toBe(0);
    expect(versionOf(db)).toBe(SCHEMA_VERSION);
    expect(db.pragma("application_id")).toBe(APPLICATION_ID);
    expect(tablesOf(db)).toEqual([
      "blob",
      "context_counter",
      "conversation",
      "counter",
      "garbage",
      "head",
      "holder",
      "owner_total",
      "push_attempt",
      "push_config",
      "push_owner",
      "segment",
      "send",
      "snapshot",
      "snapshot_piece",
    ]);
  });

  it("does nothing about a file that is up to date", () => {
    const path = temporaryFile();
    const db = openDatabase(path);
    migrate(db);
    const before = readFileSync(path);
    expect(migrate(db)).toBe(SCHEMA_VERSION);
    expect(readFileSync(path).equals(before)).toBe(true);
    db.close();
  });

  it("takes every version to the next one", () => {
    for (let from = 0; from < migrations.length; from++) {
      const db = openDatabase(":memory:");
      migrate(db, from);
      expect(versionOf(db)).toBe(from);
      expect(migrate(db)).toBe(from);
      expect(versionOf(db)).toBe(SCHEMA_VERSION);
    }
  });

  it("takes a step whole or not at all", () => {
    const db = openDatabase(":memory:");
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
    headOf({ taskId: "a", position: 3, generation: 3, lease: leaseOf() }),
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
      expect(entries.map(decodeUtf8)).toEqual(numbered(0, head.position).map(decodeUtf8));
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
    expect(log.slice(0, 1)).toEqual([expect.objectContaining({ path, from: 1, to: SCHEMA_VERSION })]);
    await store.deletePushConfig({ taskId: "a", configId: "x" });
    await follow(store, heads[0]!, { state: 3 });
    expect((await store.list({ ...OWNER, state: 3, limit: 1 })).total).toBe(3);
    expect(await store.removeFinished({ before: 2_500, limit: 10 })).toBe(2);
    expect((await store.list({ ...OWNER, limit: 1 })).total).toBe(1);
    await store.close();
    const db = openDatabase(path);
    expect(versionOf(db)).toBe(SCHEMA_VERSION);
    db.close();
  });
});

/** The bytes that stand for an entry here, the same whenever they are asked for. */
function entryOf(task: number, size: number): Uint8Array {
  return Buffer.alloc(
    size,
    Uint8Array.from({ length: 251 }, (_, index) => (task * 31 + index * 7) % 251),
  );
}

const SIZES = [10, 899, 1_000, 5_000, 300_000, 3_000_000];

/** Writes a file as version 2 left it: tasks of one entry each, of several sizes, and snapshots of such sizes. */
function versionTwoFile(path: string, count: number): void {
  const db = openDatabase(path);
  db.pragma("journal_mode = WAL");
  migrate(db, 2);
  const head = db.command("INSERT INTO head VALUES (?, 'tenant', 'owner', 'c', 3, ?, 1, 1, ?, NULL, NULL, NULL, NULL)");
  const segment = db.command("INSERT INTO segment VALUES (?, 1, 1, ?)");
  immediate(db, () => {
    for (let task = 0; task < count; task++) {
      const taskId = `task-${String(task).padStart(6, "0")}`;
      const entry = entryOf(task, task % 100 === 0 ? (SIZES[(task / 100) % SIZES.length] ?? 10) : 10);
      const bytes = new Uint8Array(planSegments([entry])[0]?.bytes ?? 0);
      writeEntries(bytes, 0, [entry]);
      head.run(taskId, task, task);
      segment.run(taskId, bytes);
    }
    const fold = new TaskFold();
    for (const entry of largeLog()) fold.apply(entry);
    const snapshot = db.command("INSERT INTO snapshot VALUES (?, ?, ?)");
    snapshot.run("task-000001", 1, bytesOf("small"));
    snapshot.run("task-000002", fold.position, encodeSnapshot(fold));
    snapshot.run("task-000003", 1, new Uint8Array(1_000_000).fill(255));
  });
  db.close();
}

/** A task of some 3 MB. */
function largeLog(): LogEntry[] {
  const text = (value: string) => [{ content: { case: "text" as const, value } }];
  return Array.from({ length: 30 }, (_, index) => {
    const place = { position: index + 1, generation: index + 1 };
    const value = { append: index > 1, artifact: { artifactId: "a", parts: text(`${index}`.repeat(50_000)) } };
    if (index > 0) return create(LogEntrySchema, { ...place, event: { case: "artifact", value } });
    return create(LogEntrySchema, { ...place, event: { case: "created", value: { id: "t", contextId: "c" } } });
  });
}

async function expectEverything(path: string, count: number): Promise<void> {
  const store = sqliteStore(path);
  for (let task = 0; task < count; task += task % 100 === 0 ? 1 : 99) {
    const taskId = `task-${String(task).padStart(6, "0")}`;
    const [entry] = await store.read({ taskId, after: 0, limit: 1 });
    const size = task % 100 === 0 ? (SIZES[(task / 100) % SIZES.length] ?? 10) : 10;
    expect(entry !== undefined && Buffer.compare(entry, entryOf(task, size)) === 0).toBe(true);
  }
  expect((await store.load({ taskId: "task-000001" }))?.snapshot).toEqual({ position: 1, bytes: bytesOf("small") });
  const large = (await store.load({ taskId: "task-000002" }))?.snapshot;
  const reader = new SnapshotReader(large!.bytes);
  for (let piece = 1; piece < (large?.pieces ?? 1); piece++) {
    reader.add((await store.readSnapshot({ taskId: "task-000002", position: 30, piece }))!);
  }
  const fold = new TaskFold();
  for (const entry of largeLog()) fold.apply(entry);
  expect(large?.pieces).toBeGreaterThan(4);
  expect(equals(TaskSchema, reader.fold.task, fold.task)).toBe(true);
  // One that cannot be read is dropped: the log has everything.
  expect((await store.load({ taskId: "task-000003" }))?.snapshot).toBeUndefined();
  await store.close();
  const db = openDatabase(path, { readonly: true });
  expect(versionOf(db)).toBe(SCHEMA_VERSION);
  if (hasDbstat()) expect(spilling(path)).toEqual(["blob"]);
  expect(db.pragma("quick_check")).toBe("ok");
  const [blobs, used] = [
    "SELECT count(*) FROM blob",
    "SELECT (SELECT count(*) FROM segment WHERE blob IS NOT NULL) + (SELECT count(*) FROM snapshot_piece)",
  ].map((sql) => db.values(sql).get());
  expect(blobs).toBe(used);
  db.close();
}

describe("sqliteStore() with a file of version 2", { timeout: 60_000 }, () => {
  it("moves what is large to its new place, and says how far it is when that takes long", async () => {
    const path = temporaryFile();
    versionTwoFile(path, 6_000);
    await expectEverything(path, 6_000);
  });

  it("goes on where a process was killed", async () => {
    const path = temporaryFile();
    const count = 6_000;
    versionTwoFile(path, count);
    const far: number[] = [];
    for (let kill = 0; kill < 3; kill++) {
      const child = startChild("migrate slowly", path);
      await child.said(1);
      child.process.kill("SIGKILL");
      expect(await child.ended).toBe("SIGKILL");
      far.push(Number(child.lines.at(-1)));
      const db = openDatabase(path);
      expect(versionOf(db)).toBe(3);
      db.close();
    }
    expect(far.every((bytes) => bytes > 0)).toBe(true);
    await expectEverything(path, count);
  });
});

describe("sqliteStore() with a file of version 10", () => {
  it("counts the tasks of its large contexts", async () => {
    const path = temporaryFile();
    const db = openDatabase(path);
    db.pragma("journal_mode = WAL");
    migrate(db, 10);
    const head = db.command(
      "INSERT INTO head (task_id, tenant, owner, context_id, state, status_time, position, generation) VALUES (?, ?, ?, ?, ?, 1, 0, 0)",
    );
    const count = db.command(
      "INSERT INTO counter VALUES ('tenant', 'owner', ?, 1) ON CONFLICT DO UPDATE SET tasks = tasks + 1",
    );
    const tasks = { small: 64, large: 65, larger: 200 };
    for (const [contextId, size] of Object.entries(tasks)) {
      for (let index = 0; index < size; index++) {
        head.run(`${contextId}-${index}`, "tenant", "owner", contextId, 1 + (index % 2));
        count.run(1 + (index % 2));
      }
    }
    // A context of the same name with another owner.
    head.run("other", "", "other", "large", 1);
    db.close();
    const store = sqliteStore(path);
    for (const [contextId, size] of Object.entries(tasks)) {
      expect((await store.list({ ...OWNER, contextId, limit: 1 })).total).toBe(size);
      expect((await store.list({ ...OWNER, contextId, state: 2, limit: 1 })).total).toBe(Math.floor(size / 2));
    }
    await store.close();
    const counted = openDatabase(path);
    expect(counted.values("SELECT DISTINCT context_id FROM context_counter WHERE owner = 'owner'").all()).toEqual([
      "large",
      "larger",
    ]);
    expect(counted.values("SELECT count(*) FROM context_counter").get()).toBe(4);
    counted.close();
  });
});
