import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { describe, expect, it, vi } from "vitest";
import { create } from "../../contract/setup.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { restoreFile } from "../../src/store/sqlite/restore.js";
import { decodeEntry } from "../../src/task/entry.js";
import { TaskFold } from "../../src/task/fold.js";
import { build } from "../e2e/support/build.js";
import { openDatabase } from "../support/database.js";
import { expectSoundFile } from "../support/sound-file.js";
import { watch, workplaces } from "./cli.js";

vi.setConfig({ testTimeout: 120_000 });

build();
const place = workplaces();
const main = fileURLToPath(new URL("../../dist/src/cli/main.js", import.meta.url));

/** Makes a file of about 8 MB with 400 tasks. */
async function filled(path: string): Promise<void> {
  const store = sqliteStore({ path, synchronous: "NORMAL" });
  for (let i = 0; i < 400; i++) {
    const head = await create(store, { taskId: `task-${i}` });
    const entries = [new Uint8Array(20_000).fill(i % 256)];
    await store.append({ head: { ...head, position: 2 }, expected: 1, entries });
  }
  await store.close();
}

/** Runs to the end: exit code, and both outputs. */
async function ended(...args: string[]): Promise<[unknown, string]> {
  const { exited, stdout, stderr } = place.run(args);
  return [await exited, stdout() + stderr()];
}

/** Kills a command at some moments of its work, the later the further on it is. */
async function killedAt(args: readonly string[], seen: () => boolean): Promise<boolean> {
  const one = place.run(args);
  let isOver = false;
  void one.exited.then(() => (isOver = true));
  while (!seen() && !isOver) await new Promise((resolve) => setTimeout(resolve, 1));
  one.child.kill("SIGKILL");
  return (await one.exited) === "SIGKILL";
}

/** Bytes of the temporary file in a folder; -1 without one. */
function partialBytes(folder: string): number {
  const name = readdirSync(folder).find((each) => each.endsWith(".partial"));
  return name === undefined ? -1 : (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? -1);
}

describe("parley backup and parley restore", () => {
  it("say what they did, and what is wrong, in one line", async () => {
    const path = join(place.path, "tasks.db");
    const store = sqliteStore(path);
    await create(store, { taskId: "a" });
    const [code, said] = await ended("backup", "tasks.db", "b.db");
    expect([code, said]).toEqual([0, expect.stringMatching(/^\S+b\.db: \d+ bytes, as of 20\S+Z\n$/)]);
    expect(await ended("backup", "tasks.db", "b.db")).toEqual([2, expect.stringMatching(/^parley: .*exists.*\n$/)]);
    await store.close();
    const restored = await ended("restore", "b.db", "new.db");
    expect(restored).toEqual([0, expect.stringMatching(/^\S+new\.db: 1 tasks, as of 20\S+Z\n$/)]);
    expect(await ended("restore", "b.db", "new.db")).toEqual([2, expect.stringMatching(/^parley: .*exists.*\n$/)]);
    expect(await ended("restore", "no.db", "x.db")).toEqual([2, expect.stringMatching(/^parley: .*not exist.*\n$/)]);
  });

  it("leave a whole file under its name or none, whenever they are killed", async () => {
    const path = join(place.path, "tasks.db");
    await filled(path);
    const marks = [-1, 0, 1, 4_000_000, 7_900_000];
    let killed = 0;
    for (const [at, bytes] of marks.entries()) {
      const target = join(place.path, `backup-${at}`);
      const seen = (): boolean => bytes < 0 || partialBytes(place.path) >= bytes;
      if (await killedAt(["backup", "tasks.db", target], seen)) killed++;
      if (existsSync(target)) await restoreFile(target, `${target}.restored`);
      for (const name of readdirSync(place.path)) if (name.includes(".partial")) expect(name).toContain("backup-");
    }
    expect(killed).toBeGreaterThan(1);
    expect(expectSoundFile(path)).toBe(400);
    expect((await ended("backup", "tasks.db", "whole.db"))[0]).toBe(0);
    for (const [at, bytes] of marks.entries()) {
      const target = join(place.path, `store-${at}.db`);
      const name = (each: string): boolean => each.startsWith(`store-${at}.db.`) && each.endsWith(".partial");
      const sizeOf = (): number => {
        const found = readdirSync(place.path).find(name);
        return found === undefined ? -1 : (statSync(join(place.path, found), { throwIfNoEntry: false })?.size ?? -1);
      };
      await killedAt(["restore", "whole.db", target], () => bytes < 0 || sizeOf() >= bytes);
      if (existsSync(target)) expect(expectSoundFile(target)).toBe(400);
      else expect((await ended("restore", "whole.db", target))[0]).toBe(0);
    }
  });

  it.skipIf(process.platform === "win32")("leave nothing when the disk is full", async () => {
    await filled(join(place.path, "tasks.db"));
    expect((await ended("backup", "tasks.db", "whole.db"))[0]).toBe(0);
    const before = readdirSync(place.path).sort();
    // No file may be larger than 2 MiB; a process that ignores the signal gets an error, as from a full disk.
    const limited = (...args: string[]): Promise<unknown> => {
      const script = `trap '' XFSZ; ulimit -f 4096; exec "$@"`;
      const all = ["-c", script, "sh", process.execPath, main, ...args];
      return place.keep(watch(spawn("sh", all, { cwd: place.path }))).exited;
    };
    expect(await limited("backup", "tasks.db", "b.db")).not.toBe(0);
    expect(await limited("restore", "whole.db", "new.db")).not.toBe(0);
    const after = readdirSync(place.path).filter((name) => name !== "new.db-lock");
    expect(after.sort()).toEqual(before);
    expect(expectSoundFile(join(place.path, "tasks.db"))).toBe(400);
  });

  it("back up the file of an older version as it is, before it is upgraded", async () => {
    const path = join(place.path, "tasks.db");
    const fixture = new URL("../store/sqlite/fixtures/version-12.db.gz", import.meta.url);
    writeFileSync(path, gunzipSync(readFileSync(fixture)));
    expect((await ended("backup", "tasks.db", "b.db"))[0]).toBe(0);
    const store = sqliteStore(path);
    for (const { taskId, position } of await tasksIn(path)) {
      const fold = new TaskFold();
      for (const bytes of await store.read({ taskId, after: 0, limit: 1_000 })) fold.apply(decodeEntry(bytes));
      expect(fold.position).toBe(position);
    }
    const claim = { holder: "me", leaseMs: 60_000, now: Number.MAX_SAFE_INTEGER, limit: 10 };
    expect(await store.claimDeliveries(claim)).toHaveLength(4);
    await store.close();
    expect((await ended("restore", "b.db", "old.db"))[0]).toBe(0);
    const old = openDatabase(join(place.path, "old.db"));
    expect(old.pragma("user_version")).toBe(12);
    old.close();
    expect(await tasksIn(join(place.path, "old.db"))).toEqual(await tasksIn(path));
  });
});

async function tasksIn(path: string): Promise<{ taskId: string; position: number }[]> {
  const db = openDatabase(path);
  const rows = db.rows<[], [string, number]>("SELECT task_id, position FROM head ORDER BY 1").all();
  db.close();
  return rows.map(([taskId, position]) => ({ taskId, position }));
}
