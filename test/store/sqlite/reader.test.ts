import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bytesOf, configOf, create, follow, headOf, OWNER } from "../../../contract/setup.js";
import { MAX_SEGMENT_BYTES, READ_BYTES } from "../../../src/store/segment.js";
import { type SqliteStore, sqliteStore } from "../../../src/store/sqlite/index.js";
import { openDatabase } from "../../support/database.js";
import { temporaryFile } from "./files.js";

let path: string;
let store: SqliteStore;

beforeEach(() => {
  path = temporaryFile();
  store = sqliteStore(path);
});

afterEach(() => store.close());

/** Reads the file over a connection of its own. */
function inFile(sql: string): unknown[] {
  const db = openDatabase(path, { readonly: true });
  const rows = db.rows(sql).all();
  db.close();
  return rows;
}

describe("read()", () => {
  it("stops when a page is large, not before its first entry, and loses nothing", async () => {
    const size = READ_BYTES / 8;
    const entries = Array.from({ length: 20 }, (_, index) => new Uint8Array(size).fill(index));
    entries.push(new Uint8Array(READ_BYTES * 2).fill(20));
    const head = headOf({ taskId: "a", position: entries.length });
    await store.append({ head, expected: 0, creates: true, entries });
    const seen: (number | undefined)[] = [];
    while (seen.length < entries.length) {
      const page = await store.read({ taskId: "a", after: seen.length, limit: 1_000 });
      const bytes = page.slice(0, -1).reduce((sum, entry) => sum + entry.length, 0);
      expect(page.length).toBeGreaterThan(0);
      expect(bytes).toBeLessThan(READ_BYTES);
      seen.push(...page.map((entry) => entry[0]));
    }
    expect(seen).toEqual(entries.map((entry) => entry[0]));
  });

  it("gives plain byte arrays", async () => {
    await create(store, { taskId: "a" }, 2);
    await store.saveSnapshot({ taskId: "a", snapshot: { position: 1, bytes: bytesOf("s") } });
    await store.putPushConfig(configOf({ taskId: "a", configId: "x" }));
    const loaded = await store.load({ taskId: "a" });
    const config = await store.getPushConfig({ taskId: "a", configId: "x" });
    const read = await store.read({ taskId: "a", after: 0, limit: 9 });
    for (const bytes of [...read, ...(loaded?.entries ?? []), loaded?.snapshot?.bytes, config?.bytes]) {
      expect(Object.getPrototypeOf(bytes)).toBe(Uint8Array.prototype);
    }
  });
});

describe("the file", () => {
  it("has one row for an append, several when it is large", async () => {
    const head = await create(store, { taskId: "a" }, 5);
    const entries = Array.from({ length: 3 }, () => new Uint8Array(MAX_SEGMENT_BYTES - 100));
    await store.append({ head: { ...head, position: 8 }, expected: 5, entries });
    expect(inFile("SELECT last, count FROM segment ORDER BY last")).toEqual([
      [5, 5],
      [6, 1],
      [7, 1],
      [8, 1],
    ]);
  });

  it("says when a task was over, for people who look into the file", async () => {
    const head = await create(store, { taskId: "a", statusTime: 10 });
    await follow(store, head, { state: 3, statusTime: 20 });
    await create(store, { taskId: "b", statusTime: 30 });
    expect(inFile("SELECT task_id, finished_at FROM head ORDER BY 1")).toEqual([
      ["a", 20],
      ["b", null],
    ]);
  });

  it("keeps no row of a task that was removed", async () => {
    const send = { ...OWNER, key: "key", fingerprint: "f", taskId: "a", position: 1 };
    await store.append({
      head: headOf({ taskId: "a", state: 3 }),
      expected: 0,
      creates: true,
      entries: [bytesOf("x")],
      send,
    });
    await store.saveSnapshot({ taskId: "a", snapshot: { position: 1, bytes: bytesOf("s") } });
    await store.putPushConfig(configOf({ taskId: "a", configId: "x" }));
    await store.removeFinished({ before: 9_999, limit: 1 });
    const tables = inFile("SELECT name FROM sqlite_schema WHERE type = 'table'") as [name: string][];
    for (const [name] of tables.filter(([table]) => table !== "counter")) {
      expect(inFile(`SELECT * FROM ${name}`)).toEqual([]);
    }
  });
});
