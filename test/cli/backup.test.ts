import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { describe, expect, it, vi } from "vitest";
import { create } from "../../contract/setup.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { SCHEMA_VERSION } from "../../src/store/sqlite/migrations.js";
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

/** Mounts a file system of 4 MB. */
const mount = (folder: string): boolean =>
  spawnSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", folder]).status === 0;

/** True if this user may mount a file system. */
const mayMount = ((): boolean => {
  const folder = mkdtempSync(join(tmpdir(), "parley-mount-"));
  const isMounted = process.platform === "linux" && mount(folder);
  if (isMounted) spawnSync("umount", [folder]);
  rmdirSync(folder);
  return isMounted;
})();

/** Writes a file of about 8 MB with 400 tasks. */
async function filled(path: string): Promise<void> {
  const store = sqliteStore({ path, synchronous: "NORMAL" });
  for (let i = 0; i < 400; i++) {
    const head = await create(store, { taskId: `task-${i}` });
    const entries = [new Uint8Array(20_000).fill(i % 256)];
    await store.append({ head: { ...head, position: 2 }, expected: 1, entries });
  }
  await store.close();
}

/** Runs a command to its end. Returns its exit code and both outputs. */
async function ended(...args: string[]): Promise<[unknown, string]> {
  const { exited, stdout, stderr } = place.run(args);
  return [await exited, stdout() + stderr()];
}

/** Kills a command when `seen` returns true. Returns the signal, or the exit code if the command ended first. */
async function killedAt(args: readonly string[], seen: () => boolean, signal: NodeJS.Signals): Promise<unknown> {
  const one = place.run(args);
  let isOver = false;
  void one.exited.then(() => (isOver = true));
  while (!seen() && !isOver) await new Promise((resolve) => setTimeout(resolve, 1));
  one.child.kill(signal);
  return one.exited;
}

/** Size of the temporary file in a folder, or -1 without one. */
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
  });

  it("refuse what is not the file of a store that they know, and leave nothing", async () => {
    const at = (name: string): string => join(place.path, name);
    writeFileSync(at("text"), "no database, but long enough to be taken for the header of one".repeat(4));
    const other = openDatabase(at("other.db"));
    other.exec("CREATE TABLE other (x)");
    other.pragma("application_id = 7");
    other.close();
    await sqliteStore(at("newer.db")).close();
    const newer = openDatabase(at("newer.db"));
    newer.pragma(`user_version = ${SCHEMA_VERSION + 1}`);
    newer.close();
    const before = readdirSync(place.path).sort();
    const faults = {
      nothing: "the file does not exist",
      ".": "it is not a file",
      text: "file is not a database",
      "other.db": "the database of another application",
      "newer.db": "Use the newer program that wrote it",
    };
    for (const command of ["backup", "restore"]) {
      for (const [name, fault] of Object.entries(faults)) {
        const line = new RegExp(`^parley: [^\n]*${fault}[^\n]*\n$`);
        expect(await ended(command, name, "x.db")).toEqual([2, expect.stringMatching(line)]);
      }
      expect(await ended(command, "newer.db", "no/x.db")).toEqual([2, expect.stringMatching(/no does not exist\.\n$/)]);
    }
    expect(readdirSync(place.path).sort()).toEqual([...before, "x.db-lock"].sort());
  });

  it("leave a whole file under its name or none, whenever they are killed", async () => {
    const path = join(place.path, "tasks.db");
    await filled(path);
    const marks = [-1, 0, 1, 4_000_000, 7_900_000];
    let killed = 0;
    for (const [at, bytes] of marks.entries()) {
      const target = join(place.path, `backup-${at}`);
      const seen = (): boolean => bytes < 0 || partialBytes(place.path) >= bytes;
      if ((await killedAt(["backup", "tasks.db", target], seen, "SIGKILL")) === "SIGKILL") killed++;
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
      await killedAt(["restore", "whole.db", target], () => bytes < 0 || sizeOf() >= bytes, "SIGKILL");
      if (existsSync(target)) expect(expectSoundFile(target)).toBe(400);
      else expect((await ended("restore", "whole.db", target))[0]).toBe(0);
    }
  });

  it("leave only a temporary file when SIGTERM ends them", async () => {
    await filled(join(place.path, "tasks.db"));
    expect((await ended("backup", "tasks.db", "whole.db"))[0]).toBe(0);
    const before = readdirSync(place.path);
    for (const [command, from] of [
      ["backup", "tasks.db"],
      ["restore", "whole.db"],
    ] as const) {
      let signal: unknown;
      // A command that ends before it is killed, as on a busy machine, is repeated.
      for (let at = 0; signal !== "SIGTERM"; at++) {
        const target = `${command}-${at}`;
        const seen = (): boolean => readdirSync(place.path).some((name) => name.startsWith(`${target}.`));
        signal = await killedAt([command, from, target], seen, "SIGTERM");
        if (signal !== "SIGTERM") continue;
        const left = readdirSync(place.path).filter(
          (name) => name.startsWith(target) && !name.startsWith(`${target}-lock`),
        );
        expect(left.length).toBeGreaterThan(0);
        for (const name of left) expect(name).toMatch(/\.partial(-journal)?$/);
      }
    }
    expect(expectSoundFile(join(place.path, "tasks.db"))).toBe(400);
    expect(readdirSync(place.path)).toEqual(expect.arrayContaining(before));
  });

  it.skipIf(process.platform === "win32")("leave nothing when the disk is full", async () => {
    await filled(join(place.path, "tasks.db"));
    expect((await ended("backup", "tasks.db", "whole.db"))[0]).toBe(0);
    const before = readdirSync(place.path).sort();
    // Limits files to 2 MiB. A process that ignores the signal gets an error, as on a full disk.
    const limited = (...args: string[]): Promise<unknown> => {
      const script = `trap '' XFSZ; ulimit -f 4096; exec "$@"`;
      const all = ["-c", script, "sh", process.execPath, main, ...args];
      return place.keep(watch(spawn("sh", all, { cwd: place.path }))).exited;
    };
    expect(await limited("backup", "tasks.db", "b.db")).toBe(75);
    expect(await limited("restore", "whole.db", "new.db")).toBe(75);
    const after = readdirSync(place.path).filter((name) => name !== "new.db-lock");
    expect(after.sort()).toEqual(before);
    expect(expectSoundFile(join(place.path, "tasks.db"))).toBe(400);
  });

  it.runIf(mayMount)("say that the disk is full", async () => {
    await filled(join(place.path, "tasks.db"));
    expect((await ended("backup", "tasks.db", "whole.db"))[0]).toBe(0);
    const small = join(place.path, "small");
    mkdirSync(small);
    expect(mount(small)).toBe(true);
    try {
      const full = [75, expect.stringMatching(/^parley: Cannot .*(SQLITE_FULL|ENOSPC).*\n$/)];
      expect(await ended("backup", "tasks.db", "small/b.db")).toEqual(full);
      expect(await ended("restore", "whole.db", "small/new.db")).toEqual(full);
      expect(readdirSync(small)).toEqual(["new.db-lock"]);
    } finally {
      spawnSync("umount", [small]);
    }
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
  const rows = db.rows<[string, number]>("SELECT task_id, position FROM head ORDER BY 1").all();
  db.close();
  return rows.map(([taskId, position]) => ({ taskId, position }));
}
