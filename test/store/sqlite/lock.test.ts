import { existsSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { create, leaseOf, readAll } from "../../../contract/setup.js";
import { type SqliteStoreOptions, sqliteStore } from "../../../src/store/sqlite/index.js";
import { temporaryDirectory, temporaryFile } from "./files.js";
import { startChild } from "./process.js";

/** Returns the error of opening a file that is in use, after the opener's timeout. */
function refusalOf(options: SqliteStoreOptions): unknown {
  try {
    void sqliteStore(options).close();
  } catch (error) {
    return error;
  }
  throw new Error("It was opened.");
}

const alone = (path: string, holder = "another process, or another store of this one,"): unknown => ({
  name: "StoreError",
  kind: "failed",
  message:
    `Cannot open ${path}: ${holder} has it open for itself alone. Close that one first, or let every store of ` +
    "this file share it (`shared: true`, `parley serve --shared`).",
});

describe("a file that a store has open", () => {
  it("is refused to other stores of its process, shared or not", async () => {
    const path = temporaryFile();
    const store = sqliteStore(path);
    expect(refusalOf({ path })).toMatchObject(alone(path) as object);
    expect(refusalOf({ path, shared: true })).toMatchObject(alone(path) as object);
    // The refusal did not disturb the store that holds the file.
    await create(store, { taskId: "a" });
    await store.close();
    await sqliteStore({ path, shared: true }).close();
  }, 30_000);

  it("is refused to a store that wants it alone while it is shared, until the last one has left", async () => {
    const path = temporaryFile();
    const [one, two] = [sqliteStore({ path, shared: true }), sqliteStore({ path, shared: true })];
    const refused = { kind: "failed", message: expect.stringContaining("as one of several that share it") };
    expect(refusalOf({ path })).toMatchObject(refused);
    await one.close();
    expect(refusalOf({ path })).toMatchObject(refused);
    await two.close();
    await sqliteStore(path).close();
  }, 30_000);

  it("is the same one by every link that leads to it, be it there already or not", async () => {
    const path = temporaryFile();
    const link = join(temporaryDirectory(), "link.db");
    symlinkSync(path, link);
    const store = sqliteStore(link);
    expect(existsSync(path)).toBe(true);
    expect(refusalOf({ path })).toMatchObject(alone(path) as object);
    await store.close();
    const folder = join(temporaryDirectory(), "folder");
    symlinkSync(dirname(path), folder);
    const again = sqliteStore(path);
    expect(refusalOf({ path: join(folder, "tasks.db") })).toMatchObject({ kind: "failed" });
    await again.close();
  }, 30_000);

  it("can be opened again as soon as it was closed, be that twice", async () => {
    const path = temporaryFile();
    for (let life = 0; life < 5; life++) {
      const store = sqliteStore(path);
      await create(store, { taskId: `${life}` });
      await store.close();
      await store.close();
    }
  });
});

describe("a file that another process has open", () => {
  it("is refused until that process is killed, which leaves no lock behind", async () => {
    const path = temporaryFile();
    const child = startChild("append for ever", path, "one");
    await child.said(20);
    const holder = process.platform === "linux" ? `process ${child.process.pid}` : undefined;
    expect(refusalOf({ path })).toMatchObject(alone(path, holder) as object);
    expect(refusalOf({ path, shared: true })).toMatchObject({ kind: "failed" });
    const { length } = child.lines;
    await child.said(length + 20);
    child.process.kill("SIGKILL");
    expect(await child.ended).toBe("SIGKILL");
    const store = sqliteStore(path);
    expect(await readAll(store, "one-0-0")).not.toEqual([]);
    await store.close();
  }, 60_000);

  it("is waited for while that process comes to its end", async () => {
    const path = temporaryFile();
    const child = startChild("open and close when told", path);
    await child.said(1);
    child.process.kill("SIGTERM");
    await child.said(2);
    const store = sqliteStore(path);
    await store.close();
    expect(await child.ended).toBe(0);
    expect(child.lines).toEqual(["opened", "ending", "closed"]);
  }, 60_000);
});

describe("the leases in a file", () => {
  const claim = { holder: "new", leaseMs: 60_000, limit: 10 };

  it("are up for a claim at once for a store that has the file alone", async () => {
    const path = temporaryFile();
    const child = startChild("take leases", path, "3");
    await child.said(3);
    child.process.kill("SIGKILL");
    await child.ended;
    const store = sqliteStore(path);
    const claimed = await store.claimLeases(claim);
    expect(claimed.map(({ taskId }) => taskId).sort()).toEqual(["task-0", "task-1", "task-2"]);
    expect(claimed[0]?.lease).toEqual({ holder: "new", turn: 1, attempt: 2 });
    await store.close();
  }, 60_000);

  it("are kept until their holder shows no life where several share the file", async () => {
    const path = temporaryFile();
    const one = sqliteStore({ path, shared: true });
    await create(one, { taskId: "a", lease: leaseOf() });
    const two = sqliteStore({ path, shared: true });
    expect(await two.claimLeases(claim)).toEqual([]);
    await expect.poll(() => two.claimLeases({ ...claim, leaseMs: 300 })).toHaveLength(1);
    await Promise.all([one.close(), two.close()]);
  });
});
