import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { add } from "../../src/cli/operate/check.js";
import { backUpFile } from "../../src/store/sqlite/backup.js";
import { sqliteDriver } from "../../src/store/sqlite/driver/choose.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { restoreFile } from "../../src/store/sqlite/restore.js";
import { openTasks, type TaskWorld } from "../admin/task-world.js";
import { type Ended, runGroup } from "./operate-run.js";

let folder: string;
let served: string;
let world: TaskWorld;
let task: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "parley-operate-"));
  served = join(folder, "served.db");
  world = await openTasks(sqliteStore(served));
  task = await world.send("alice", "say hello");
  await world.send("alice", "ask more");
  await backUpFile(served, join(folder, "backup.db"));
});
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true });
});

const check = (...args: string[]): Promise<Ended> => runGroup(add, "check", args);

/** Copies the file and damages the copy with a statement. */
async function damaged(name: string, sql: string): Promise<string> {
  const path = join(folder, name);
  await restoreFile(join(folder, "backup.db"), path);
  const db = sqliteDriver().open(path, { mustExist: true });
  db.exec(sql);
  db.close();
  return path;
}

describe("parley check", () => {
  it("counts what a sound file has, also while a server has it open, and changes nothing", async () => {
    const inUse = await check(served);
    expect([inUse.code, inUse.stderr]).toEqual([0, ""]);
    expect(inUse.stdout).toMatch(/^Tasks {4}2, of which 1 have not ended$/m);
    expect(inUse.stdout).toMatch(/\nno faults\n$/);
    const path = await damaged("sound.db", "SELECT 1");
    const before = readFileSync(path);
    const names = readdirSync(folder);
    const { code, stdout } = await check(path, "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ path, tasks: 2, openTasks: 1, faults: [], isCurrent: true });
    expect(JSON.parse(stdout).entries).toBeGreaterThan(4);
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(readdirSync(folder)).toEqual(names);
  });

  it.each([
    [
      "a state that its log does not have",
      () => `UPDATE head SET state = 4 WHERE task_id = '${task}'`,
      `task ID: its log has`,
    ],
    [
      "a missing entry",
      () => `DELETE FROM segment WHERE task_id = '${task}' AND last > 1`,
      "it has a task without all its entries",
    ],
    [
      "entries of no task",
      () => `DELETE FROM head WHERE task_id = '${task}'`,
      "it has entries of a task that does not exist",
    ],
    [
      "entries that do not decode",
      () => `UPDATE segment SET bytes = x'${"ff".repeat(64)}', blob = NULL WHERE task_id = '${task}' AND last = 1`,
      "task ID: the entry 1 does not decode",
    ],
  ])("finds %s", async (name, sql, fault) => {
    const path = await damaged(`${name}.db`, sql());
    const { code, stdout, stderr } = await check(path);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/ has (1 fault|\d faults)\. /)]);
    expect(stdout).toContain(fault.replace("ID", task));
    expect(JSON.parse((await check(path, "--json")).stdout).faults).not.toEqual([]);
  });

  it("finds a changed byte of a backup that SQLite does not miss, until a server changes a copy", async () => {
    const path = join(folder, "changed.db");
    const bytes = readFileSync(join(folder, "backup.db"));
    writeFileSync(path, bytes);
    expect(await check(path)).toMatchObject({ code: 0 });
    const text = bytes.indexOf("What about more?");
    bytes.write("w", text);
    writeFileSync(path, bytes);
    const { code, stdout } = await check(path);
    expect([code, stdout]).toEqual([1, expect.stringContaining("not those that its digest was made of")]);
    bytes.write("W", text);
    writeFileSync(path, bytes);
    const store = sqliteStore(path);
    await store.head({ taskId: task });
    await store.close();
    expect(await check(path)).toMatchObject({ code: 0 });
  });

  it("finds a file that was cut, and refuses what is none of Parley's", async () => {
    const path = await damaged("cut.db", "SELECT 1");
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.subarray(0, bytes.length - 3 * 4_096));
    expect((await check(path)).code).toBe(1);
    writeFileSync(path, "no database");
    expect((await check(path)).code).toBe(1);
    expect(await check(join(folder, "none.db"))).toMatchObject({ code: 2, stdout: "" });
    const other = join(folder, "other.db");
    const db = sqliteDriver().open(other);
    db.exec("CREATE TABLE t (x)");
    db.close();
    expect(await check(other)).toMatchObject({ code: 2, stdout: "" });
  });

  it.skipIf(process.platform === "win32")("refuses a folder and a pipe, and waits for neither", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    for (const path of [folder, pipe]) {
      const stderr = expect.stringContaining(`Cannot open ${path}: it is not a file.`);
      expect(await check(path)).toEqual({ code: 2, stdout: "", stderr });
    }
  });
});
