import { spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { create, headOf, listAll, OWNER } from "../../contract/setup.js";
import { backUpFile } from "../../src/store/sqlite/backup.js";
import { type SqliteStore, sqliteStore } from "../../src/store/sqlite/index.js";
import { restoreFile } from "../../src/store/sqlite/restore.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { openDatabase } from "../support/database.js";
import { pageText } from "./pages.js";

const opened: SqliteStore[] = [];

afterEach(async () => {
  for (const store of opened.splice(0)) await store.close().catch(() => {});
});

function open(path: string): SqliteStore {
  const store = sqliteStore(path);
  opened.push(store);
  return store;
}

/** Restores a copy. Returns its tasks. */
async function restoredTasks(copy: string): Promise<string[]> {
  const path = temporaryFile();
  await restoreFile(copy, path);
  const store = open(path);
  const tasks = await listAll(store, { ...OWNER, limit: 100 });
  await store.close();
  return tasks.sort();
}

async function losesWhatIsInTheLog(): Promise<void> {
  const path = temporaryFile();
  const first = open(path);
  await create(first, { taskId: "earlier" });
  await first.close();
  const store = open(path);
  await create(store, { taskId: "latest" });
  copyFileSync(path, `${path}-copy`);
  await expect(restoredTasks(`${path}-copy`)).rejects.toMatchObject({ kind: "failed" });
  const copied = open(`${path}-copy`);
  expect(await listAll(copied, { ...OWNER, limit: 100 })).toEqual(["earlier"]);
  await store.close();
  copyFileSync(path, `${path}-stopped`);
  expect(await restoredTasks(`${path}-stopped`)).toEqual(["earlier", "latest"]);
}

/**
 * Copies in batches as sqlite3 does, and prints the copied pages after each. Another connection commits after most
 * batches.
 */
const disturbed = `
import sqlite3, sys
server = sqlite3.connect(sys.argv[1], isolation_level=None)
server.execute("PRAGMA journal_mode = WAL")
server.execute("CREATE TABLE filled AS SELECT zeroblob(400000) AS bytes")
batches = 0
def progress(_, remaining, total):
    global batches
    batches += 1
    print(total - remaining)
    if batches < 20: server.execute("UPDATE filled SET bytes = randomblob(400000)")
sqlite3.connect(sys.argv[1]).backup(sqlite3.connect(sys.argv[2]), pages=10, progress=progress)
`;

async function startsAgainAfterEachCommit(): Promise<void> {
  const path = temporaryFile();
  const { stdout } = spawnSync("python3", ["-c", disturbed, path, `${path}-copy`], { encoding: "utf8" });
  const copied = stdout.trim().split("\n").map(Number);
  expect(copied.slice(0, 22)).toEqual([...Array.from({ length: 20 }, () => 10), 20, 30]);
  const ours = temporaryFile();
  await create(open(ours), { taskId: "kept" });
  const copy = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).backup(sqlite3.connect(sys.argv[2]))";
  expect(spawnSync("python3", ["-c", copy, ours, `${ours}-copy`]).status).toBe(0);
  await expect(restoredTasks(`${ours}-copy`)).rejects.toMatchObject({ kind: "failed" });
}

/** Changes one byte of a file's stored entries. */
function damage(path: string): void {
  const bytes = readFileSync(path);
  const at = bytes.indexOf(Buffer.alloc(64, 7));
  expect(at).toBeGreaterThan(0);
  bytes[at + 32] = 8;
  writeFileSync(path, bytes);
}

async function hasNoDigest(): Promise<void> {
  const path = temporaryFile();
  const store = open(path);
  const entries = [new Uint8Array(1_000).fill(7)];
  await store.append({ head: headOf({ taskId: "whole" }), expected: 0, creates: true, entries });
  const db = openDatabase(path);
  db.exec(`VACUUM INTO '${path}-vacuumed'`);
  db.close();
  await backUpFile(path, `${path}-backup`);
  for (const copy of ["vacuumed", "backup"]) expect(await restoredTasks(`${path}-${copy}`)).toEqual(["whole"]);
  for (const copy of ["vacuumed", "backup"]) damage(`${path}-${copy}`);
  expect(await restoredTasks(`${path}-vacuumed`)).toEqual(["whole"]);
  await expect(restoredTasks(`${path}-backup`)).rejects.toMatchObject({ kind: "damaged" });
}

/** The ways that the page advises against, each with a check of the page's reason. */
const ways: Readonly<Record<string, () => Promise<void>>> = {
  "`cp` while the server runs": losesWhatIsInTheLog,
  "`.backup` of `sqlite3` under load": startsAgainAfterEachCommit,
  "`VACUUM INTO` of `sqlite3`": hasNoDigest,
};

const hasPython = spawnSync("python3", ["-c", "import sqlite3"]).status === 0;

describe("docs/backup.md advises against", () => {
  it("ways that are tried here, and no other", () => {
    const [, list = ""] = /\nDo not use:\n([\s\S]*?)\n\n[A-Z]/.exec(pageText("docs/backup.md")) ?? [];
    expect([...list.matchAll(/^- \*\*(.+)\.\*\*/gm)].map(([, way]) => way)).toEqual(Object.keys(ways));
  });

  for (const [way, tried] of Object.entries(ways)) {
    it.skipIf(tried === startsAgainAfterEachCommit && !hasPython)(`${way}, as it says`, tried);
  }
});
