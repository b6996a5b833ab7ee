import { statSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { create, headOf, readAll } from "../../../contract/setup.js";
import { INCREMENTAL } from "../../../src/store/sqlite/connection.js";
import { type SqliteStore, sqliteStore } from "../../../src/store/sqlite/index.js";
import { migrate } from "../../../src/store/sqlite/migrations.js";
import { openDatabase } from "../../support/database.js";
import { expectSoundFile } from "../../support/sound-file.js";
import { temporaryFile } from "./files.js";

const MB = 1024 * 1024;

/** Opens a store with long timeouts, because large writes are slow on a busy disk. */
function openPatiently(path: string): SqliteStore {
  return sqliteStore({ path, synchronous: "NORMAL", stallMs: 60_000, writeTimeoutMs: 60_000 });
}

/** Adds a task that is over, of so many megabytes. */
async function addLarge(store: SqliteStore, taskId: string, megabytes: number): Promise<void> {
  const entries = Array.from({ length: megabytes }, (_, index) => new Uint8Array(MB).fill(index));
  await store.append({ head: headOf({ taskId, state: 3, position: megabytes }), expected: 0, creates: true, entries });
}

/** A pragma of a file, as another program reads it. */
function pragmaOf(path: string, name: string): unknown {
  const db = openDatabase(path, { readonly: true });
  const value = db.pragma(name);
  db.close();
  return value;
}

describe("removeFinished() and the size of the file", { timeout: 60_000 }, () => {
  it("gives the space back in small steps, between which other writes go on", async () => {
    const path = temporaryFile();
    const store = openPatiently(path);
    await addLarge(store, "a", 30);
    await create(store, { taskId: "small" }, 3);
    await addLarge(store, "b", 30);
    // The last pages of the file are those of a task that stays: they have to move.
    const stays = headOf({ taskId: "stays", state: 1, position: 4 });
    const entries = [1, 2, 3, 4].map((value) => new Uint8Array(MB).fill(value));
    await store.append({ head: stays, expected: 0, creates: true, entries });
    const before = store.statistics.commits;
    const removing = store.removeFinished({ before: 9_999, limit: 100 });
    await create(store, { taskId: "meanwhile" });
    expect(await removing).toBe(2);
    // 60 MB are free, of which 16 MiB are kept; one step gives a megabyte back.
    expect(store.statistics.commits - before).toBeGreaterThan(40);
    expect(statSync(path).size).toBeLessThan(26 * MB);
    expect(await readAll(store, "small")).toEqual(["1", "2", "3"]);
    const read = await store.read({ taskId: "stays", after: 0, limit: 10 });
    expect(read[0]?.[0]).toBe(1);
    await store.close();
    expect(expectSoundFile(path)).toBe(3);
  });

  it("keeps what is free when it is little, for what comes next", async () => {
    const path = temporaryFile();
    const store = openPatiently(path);
    await addLarge(store, "a", 8);
    expect(await store.removeFinished({ before: 9_999, limit: 10 })).toBe(1);
    await store.close();
    expect(pragmaOf(path, "freelist_count")).toBeGreaterThan(2_000);
  });
});

/** A file as older versions made it, with a task of so many megabytes. */
async function olderFile(path: string, megabytes: number): Promise<void> {
  const db = openDatabase(path);
  db.pragma("journal_mode = WAL");
  migrate(db);
  const rows = db.command("INSERT INTO blob (bytes) VALUES (?)");
  for (let count = 0; count < megabytes; count++) rows.run(new Uint8Array(MB));
  db.close();
}

describe("sqliteStore() with a file that cannot give space back", { timeout: 60_000 }, () => {
  it("rewrites it when that takes a moment, so that it can", async () => {
    const path = temporaryFile();
    await olderFile(path, 2);
    expect(pragmaOf(path, "auto_vacuum")).toBe(0);
    const store = openPatiently(path);
    await create(store, { taskId: "a" }, 3);
    await store.close();
    expect(pragmaOf(path, "auto_vacuum")).toBe(INCREMENTAL);
    expect(expectSoundFile(path)).toBe(1);
    const again = openPatiently(path);
    expect(await readAll(again, "a")).toEqual(["1", "2", "3"]);
    await again.close();
  });

  it("leaves a large one, or one that is shared, as it is", async () => {
    for (const [megabytes, shared] of [
      [20, false],
      [1, true],
    ] as const) {
      const path = temporaryFile();
      await olderFile(path, megabytes);
      const store = sqliteStore({ path, shared });
      await create(store, { taskId: "a", state: 3 });
      expect(await store.removeFinished({ before: 9_999, limit: 10 })).toBe(1);
      await store.close();
      expect(pragmaOf(path, "auto_vacuum")).toBe(0);
    }
  });
});
