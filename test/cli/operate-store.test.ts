import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { add as addOwners } from "../../src/cli/operate/owners.js";
import { add as addTasks } from "../../src/cli/operate/tasks.js";
import { backUpFile } from "../../src/store/sqlite/backup.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { restoreFile } from "../../src/store/sqlite/restore.js";
import { openTasks, type TaskWorld } from "../admin/task-world.js";
import { openWorld } from "../admin/world.js";
import { type Ended, runGroup } from "./operate-run.js";

/** Commands on a file that no server has open, and through a Unix socket. */

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "parley-operate-"));
  file = join(folder, "tasks.db");
});
afterEach(() => rmSync(folder, { recursive: true }));

const tasks = (...args: string[]): Promise<Ended> => runGroup(addTasks, "tasks", args);

describe("--store", () => {
  it("reads and changes the file without running any of its tasks, and records changes", async () => {
    const world = await openTasks(sqliteStore(join(folder, "served.db")), { shutdownGraceMs: 0 });
    const done = await world.send("alice", "say hello");
    const interrupted = await world.send("alice", "hang here");
    const other = await world.send("bob", "hang as well");
    await leave(world);

    const listed = await tasks("list", "--store", file, "--unattended", "--json");
    expect(listed).toMatchObject({ code: 0, stderr: "" });
    expect(
      JSON.parse(listed.stdout)
        .tasks.map(({ taskId }: { taskId: string }) => taskId)
        .sort(),
    ).toEqual([interrupted, other].sort());
    expect((await tasks("log", done, "--store", file)).stdout).toContain("  created   user: say hello");
    expect((await tasks("show", interrupted, "--store", file)).stdout).toMatch(/^State {4}working$/m);

    const audit = join(folder, "audit.log");
    expect(await tasks("cancel", interrupted, "--store", file, "--audit", audit)).toEqual({
      ...{ code: 0, stdout: `${interrupted}  canceled\n`, stderr: "" },
    });
    expect((await tasks("fail", other, "--store", file, "--audit", audit)).stdout).toBe(`${other}  failed\n`);
    const exported = await tasks("export", done, "--store", file);
    expect((await tasks("delete", done, "--yes", "--store", file, "--audit", audit)).code).toBe(0);
    const lines = join(folder, "lines");
    writeFileSync(lines, exported.stdout);
    expect((await tasks("import", lines, "--store", file, "--audit", audit)).code).toBe(0);
    const records = readFileSync(audit, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(records.map(({ event, method, operator }) => [event, method, operator])).toEqual(
      ["CancelTask", "FailTask", "DeleteTask", "ImportTask"].map((method) => [
        "admin.write",
        method,
        userInfo().username,
      ]),
    );
    const owners = await runGroup(addOwners, "owners", ["list", "--store", file]);
    expect(owners.stdout).toMatch(/^alice +2 +0 /m);
  });

  it("leaves leases as they are, so that the next server takes the tasks over", async () => {
    const world = await openTasks(sqliteStore(join(folder, "served.db")));
    const task = await world.send("alice", "hang here");
    await leave(world);
    const before = await headIn(file, task);
    expect(before).toMatchObject({ lease: { attempt: 1 } });
    expect((await tasks("list", "--store", file)).code).toBe(0);
    expect(await headIn(file, task)).toEqual(before);
  });

  it("refuses a folder", async () => {
    const stderr = expect.stringContaining(`Cannot open ${folder}: it is not a file.`);
    expect(await tasks("list", "--store", folder)).toEqual({ code: 2, stdout: "", stderr });
  });

  it("refuses to watch", async () => {
    expect(await tasks("watch", "--store", file)).toMatchObject({ code: 2 });
  });
});

/** Leaves the file in a state in which agents of a server were running. */
async function leave(world: TaskWorld): Promise<void> {
  await backUpFile(join(folder, "served.db"), join(folder, "backup.db"));
  await restoreFile(join(folder, "backup.db"), file);
  await world.close();
}

async function headIn(path: string, taskId: string): Promise<unknown> {
  const store = sqliteStore(path);
  try {
    return await store.head({ taskId });
  } finally {
    await store.close();
  }
}

describe("--admin unix:", () => {
  it("reaches the server by its socket, without a token", async () => {
    const socket = `unix:${join(folder, "admin.sock")}`;
    const { server } = await openWorld({ listen: socket, tokens: undefined as never });
    expect(await tasks("list", "--admin", socket, "--json")).toEqual({ code: 0, stdout: "{}\n", stderr: "" });
    expect((await tasks("delete", crypto.randomUUID(), "--yes", "--admin", socket)).code).toBe(1);
    await server.close();
  });
});
