import { describe, expect, it } from "vitest";
import { bytesOf, configOf, create, headOf, readAll } from "../../../contract/setup.js";
import { type SqliteStore, sqliteStore } from "../../../src/store/sqlite/index.js";
import { MAX_INLINE_BYTES } from "../../../src/store/sqlite/rows.js";
import { hasDbstat, openDatabase, spilling } from "../../support/database.js";
import { temporaryFile } from "./files.js";

const MB = 1024 * 1024;

function rowsOf(path: string, table: string): number {
  const db = openDatabase(path, { readonly: true });
  const rows = db.values(`SELECT count(*) FROM ${table}`).get() as number;
  db.close();
  return rows;
}

/** Opens a store with long timeouts, because large writes are slow on a busy disk. */
function openPatiently(path: string): SqliteStore {
  return sqliteStore({ path, synchronous: "NORMAL", stallMs: 60_000, writeTimeoutMs: 60_000 });
}

/** A large task that is over, with a snapshot in so many pieces. */
async function addLarge(store: SqliteStore, taskId: string, pieces: number): Promise<void> {
  const entries = Array.from({ length: 24 }, (_, index) => new Uint8Array(MB).fill(index));
  await store.append({ head: headOf({ taskId, state: 3, position: 24 }), expected: 0, creates: true, entries });
  for (let piece = 0; piece < pieces; piece++) {
    const snapshot = { position: 24, bytes: new Uint8Array(MB / 4).fill(piece), piece, last: piece === pieces - 1 };
    await store.saveSnapshot({ taskId, snapshot });
  }
}

describe("the layout of the file", { timeout: 60_000 }, () => {
  it.runIf(hasDbstat())(
    "has nothing large where keys are compared: a search for another row would read it",
    async () => {
      const path = temporaryFile();
      const store = openPatiently(path);
      for (const size of [1, MAX_INLINE_BYTES - 2, MAX_INLINE_BYTES, 4_000, 16_000, 2 * MB]) {
        const taskId = `01a1fdef-a9b7-72bd-98a6-${String(size).padStart(12, "0")}`;
        const head = headOf({ taskId, contextId: taskId });
        await store.append({ head, expected: 0, creates: true, entries: [new Uint8Array(size)] });
        await store.saveSnapshot({ taskId, snapshot: { position: 1, bytes: new Uint8Array(size) } });
        await store.putPushConfig(configOf({ taskId, configId: "x", bytes: new Uint8Array(size) }));
        const conversation = { expected: 0, version: 1, bytes: new Uint8Array(size) };
        const next = { head: headOf({ taskId, contextId: taskId, position: 2 }), expected: 1 };
        await store.append({ ...next, entries: [new Uint8Array(1)], conversation });
      }
      await store.close();
      // Their keys are numbers, and rows of these are compared by them alone.
      expect(spilling(path)).toEqual(["blob", "conversation", "push_config"]);
    },
  );

  it("keeps the snapshot before until the last piece of the next one is there", async () => {
    const path = temporaryFile();
    const store = openPatiently(path);
    await create(store, { taskId: "a" }, 9);
    const save = (position: number, piece: number, last: boolean): Promise<void> =>
      store.saveSnapshot({ taskId: "a", snapshot: { position, bytes: bytesOf(`${position}.${piece}`), piece, last } });
    const loaded = async (): Promise<unknown> => (await store.load({ taskId: "a" }))?.snapshot?.position;
    for (const position of [2, 4, 6]) {
      const before = await loaded();
      for (const piece of [0, 1, 2]) {
        expect(await loaded()).toBe(before);
        await save(position, piece, piece === 2);
      }
      expect(await loaded()).toBe(position);
    }
    expect(await store.readSnapshot({ taskId: "a", position: 6, piece: 2 })).toEqual(bytesOf("6.2"));
    await save(8, 0, false);
    await save(8, 1, false);
    await store.close();
    const again = openPatiently(path);
    expect((await again.load({ taskId: "a" }))?.snapshot).toEqual({ position: 6, bytes: bytesOf("6.0"), pieces: 3 });
    await again.close();
    // Replaced pieces are removed as later pieces arrive. Those of the unfinished snapshot remain for now.
    expect(rowsOf(path, "snapshot_piece")).toBeLessThanOrEqual(3 + 2 + 1);
    expect(rowsOf(path, "blob")).toBe(rowsOf(path, "snapshot_piece"));
  });

  it("removes a large task in steps and leaves nothing of it, also when it is stopped on the way", async () => {
    const path = temporaryFile();
    const store = openPatiently(path);
    await addLarge(store, "a", 8);
    await addLarge(store, "b", 8);
    await create(store, { taskId: "small" }, 3);
    const before = store.statistics.commits;
    const removing = store.removeFinished({ before: 9_999, limit: 10 });
    // Others have their turn between the steps.
    await create(store, { taskId: "meanwhile" });
    expect(await removing).toBe(2);
    expect(store.statistics.commits - before).toBeGreaterThan(4);
    expect(await readAll(store, "small")).toEqual(["1", "2", "3"]);
    await store.close();
    expect(["segment", "blob", "snapshot_piece", "garbage"].map((table) => rowsOf(path, table))).toEqual([2, 0, 0, 0]);
  });

  it("goes on with what a removal that was cut off has left", async () => {
    const path = temporaryFile();
    const store = openPatiently(path);
    await addLarge(store, "a", 8);
    const removing = store.removeFinished({ before: 9_999, limit: 10 }).catch(() => undefined);
    await store.close();
    await removing;
    expect(rowsOf(path, "garbage")).toBe(1);
    const again = openPatiently(path);
    expect(await again.load({ taskId: "a" })).toBeUndefined();
    expect(await again.removeFinished({ before: 9_999, limit: 10 })).toBe(0);
    await again.close();
    expect(["segment", "blob", "snapshot_piece", "garbage"].map((table) => rowsOf(path, table))).toEqual([0, 0, 0, 0]);
  });
});
