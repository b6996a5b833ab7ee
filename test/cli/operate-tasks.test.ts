import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { add as addOwners } from "../../src/cli/operate/owners.js";
import { add as addTasks } from "../../src/cli/operate/tasks.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { openTasks, type TaskWorld } from "../admin/task-world.js";
import { tokens } from "../admin/world.js";
import { type Ended, type Place, runGroup } from "./operate-run.js";

let folder: string;
let world: TaskWorld;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "parley-operate-"));
  world = await openTasks(sqliteStore(join(folder, "tasks.db")));
});
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true });
});

/** A line of JSON. */
interface Answer extends Record<string, unknown> {
  readonly tasks?: readonly unknown[];
  readonly raw?: string;
}

const env = (): Record<string, string> => ({ PARLEY_ADMIN: world.address, PARLEY_ADMIN_TOKEN: tokens.write });
const tasks = (args: readonly string[], place: Place = {}): Promise<Ended> =>
  runGroup(addTasks, "tasks", args, { env: env(), ...place });
const owners = (args: readonly string[], place: Place = {}): Promise<Ended> =>
  runGroup(addOwners, "owners", args, { env: env(), ...place });
const json = ({ code, stdout, stderr }: Ended): Answer[] => {
  expect([code, stderr]).toEqual([0, ""]);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Answer);
};

describe("parley tasks list", () => {
  it("prints a table, or one JSON object, with the filters of the service", async () => {
    const [done, asks] = [await world.send("alice", "say hello"), await world.send("bob", "ask money")];
    const { code, stdout } = await tasks(["list"]);
    expect(code).toBe(0);
    const [titles, ...rows] = stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/ {2,}/));
    expect(titles).toEqual(["TASK", "STATE", "AGE", "OWNER", "AGENT", "TENANT", "CONTEXT"]);
    expect(rows.map((row) => row.slice(0, 2))).toEqual([
      [asks, "input-required"],
      [done, "completed"],
    ]);
    const [one] = json(await tasks(["list", "--json", "--owner", "alice", "--state", "completed", "--since", "1h"]));
    expect(one?.tasks).toMatchObject([
      { taskId: done, state: "TASK_STATE_COMPLETED", owner: "alice", agent: "talker" },
    ]);
    const [page] = json(await tasks(["list", "--json", "--limit", "1"]));
    expect(page?.tasks).toHaveLength(1);
    expect(page?.nextPageToken).not.toBe(undefined);
    expect((await tasks(["list", "--limit", "1"])).stderr).toContain("there are more");
    const none = await tasks(["list", "--text", "nothing says this"]);
    expect(none).toEqual({ code: 0, stdout: "", stderr: "parley: no task matches\n" });
    for (const wrong of [
      ["--state", "lost"],
      ["--since", "tuesday"],
      ["--limit", "0"],
      ["--timeout", "x"],
    ]) {
      const { code, stderr } = await tasks(["list", ...wrong]);
      expect([code, stderr]).toEqual([2, expect.stringContaining(`'${wrong[0]} <`)]);
    }
  });

  it.each([80, 200])("fits %i columns of a terminal, without control characters of others", async (columns) => {
    await world.send("alice", "say \u001b[2J 你好你好你好你好你好你好", { contextId: `${"長".repeat(40)}${columns}` });
    const { code, stdout } = await tasks(["list"], { columns });
    expect(code).toBe(0);
    // A wide character occupies two columns.
    const widths = stdout
      .split("\n")
      .map((line) => [...line].reduce((sum, c) => sum + (c > "\u1100" && c !== "…" ? 2 : 1), 0));
    expect(Math.max(...widths)).toBeLessThanOrEqual(columns);
    // The table omits the empty column, and the last one if the terminal is too narrow.
    expect(stdout.split("\n")[0]?.split(/ +/).slice(3)).toEqual([
      "OWNER",
      "AGENT",
      ...(columns === 200 ? ["CONTEXT"] : []),
    ]);
    expect(stdout).not.toContain("\u001b");
  });
});

describe("parley tasks show and log", () => {
  it("print a task and its entries", async () => {
    const task = await world.send("alice", "say one \u001b[31m two");
    const shown = await tasks(["show", task]);
    expect(shown.code).toBe(0);
    expect(shown.stdout).toContain("user: say one \\u001b[31m two\n");
    expect(shown.stdout).toMatch(/^State {4}completed$/m);
    expect(shown.stdout).toContain("artifact said: ");
    expect(json(await tasks(["show", task, "--json"]))[0]).toMatchObject({
      summary: { taskId: task },
      task: { id: task },
    });
    const printed = await tasks(["log", task]);
    const kinds = printed.stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.trim().split(/ {2,}/)[2]);
    expect(kinds.slice(0, 3)).toEqual(["created", "status", "step"]);
    expect(kinds.at(-1)).toBe("status");
    const entries = json(await tasks(["log", task, "--json", "--raw", "--after", "1"]));
    expect(entries).toHaveLength(kinds.length - 1);
    expect(entries[0]).toMatchObject({ entry: { position: 2 }, raw: expect.stringMatching(/^[\w+/]+=*$/) });
    const raw = await tasks(["log", task, "--raw"]);
    expect(raw.stdout).toContain(
      `        ${Buffer.from(String(entries[0]?.raw), "base64").toString("hex").slice(0, 64)}\n`,
    );
    const missing = await tasks(["show", crypto.randomUUID()]);
    expect(missing).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(/^\S.*not.*$/) });
  });
});

describe("parley tasks watch", () => {
  it("follows one task to its end, and all until it is interrupted", async () => {
    const stop = new AbortController();
    let seen = "";
    const all = tasks(["watch", "--owner", "bob", "--json"], {
      signal: stop.signal,
      onOutput: (out) => {
        seen = out;
      },
    });
    const hangs = await world.send("bob", "wait here");
    const one = tasks(["watch", hangs]);
    // The stream of all tasks begins with the next change.
    const after = (): Promise<string> => world.send("bob", "say x").then(() => seen);
    await expect.poll(after).toContain("TASK_STATE_COMPLETED");
    await tasks(["cancel", hangs]);
    const { code, stdout } = await one;
    expect(code).toBe(0);
    expect(stdout.trimEnd().split("\n").at(-1)).toMatch(/ {2}status {4}canceled/);
    await expect.poll(() => seen).toContain(hangs);
    stop.abort();
    const end = await all;
    expect([end.code, end.stderr]).toEqual([0, ""]);
    expect(json(end).every(({ owner }) => owner === "bob")).toBe(true);
  });

  it("fails if it is interrupted before the task has ended, and ends with its reader", async () => {
    const hangs = await world.send("bob", "wait there");
    const stop = new AbortController();
    const cut = await tasks(["watch", hangs], { signal: stop.signal, onOutput: () => stop.abort() });
    expect(cut).toMatchObject({ code: 1, stderr: expect.stringMatching(/interrupted before the task has ended$/) });
    const [, last] = /^parley: --after (\d+) continues here\n/.exec(cut.stderr) ?? [];
    expect(cut.stdout).toMatch(new RegExp(`^ +${last} .*\n$`, "m"));
    const closed = await tasks(["watch", hangs], {
      onOutput: () => {
        throw Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
      },
    });
    expect([closed.code, closed.stderr]).toEqual([0, ""]);
    expect((await tasks(["fail", hangs])).code).toBe(0);
  });
});

describe("parley tasks watch of a server that ends", () => {
  it("does not end with 0", async () => {
    const other = await openTasks(memoryStore());
    const task = await other.send("bob", "ask more");
    const env = { PARLEY_ADMIN: other.address, PARLEY_ADMIN_TOKEN: tokens.read };
    let seen = "";
    const note = (out: string): void => {
      seen = out;
    };
    const watches = [tasks(["watch", task], { env }), tasks(["watch"], { env, onOutput: note })];
    const after = (): Promise<string> => other.send("bob", "say x").then(() => seen);
    await expect.poll(after).not.toBe("");
    await other.close();
    const ends = await Promise.all(watches);
    expect(ends.map(({ code }) => code)).toEqual([3, 3]);
    expect(ends[0]?.stderr).toContain("--after");
  });
});

describe("parley tasks answer", () => {
  it("lets a task that waits go on, with a text or JSON", async () => {
    const task = await world.send("alice", "ask colour");
    for (const [args, why] of [
      [[], "give the answer"],
      [["--data", "{blue}"], "--data is not JSON"],
    ] as const) {
      const { code, stderr } = await tasks(["answer", task, ...args]);
      expect([code, stderr]).toEqual([2, expect.stringContaining(why)]);
    }
    const answered = await tasks(["answer", task, "say blue", "--data", '{"shade": 1}']);
    expect(answered).toMatchObject({ code: 0, stdout: expect.stringMatching(new RegExp(`^${task}  [a-z-]+\n$`)) });
    await expect.poll(() => tasks(["show", task]).then(({ stdout }) => stdout)).toMatch(/^State {4}completed$/m);
    const entries = json(await tasks(["log", task, "--json"]));
    const message = entries.map(({ entry }) => (entry as { message?: object }).message).find((each) => each);
    expect(message).toMatchObject({
      parts: [{ text: "say blue" }, { data: { shade: 1 } }],
      metadata: { "parley.sentBy": "operator" },
    });
    expect(await tasks(["answer", task, "red"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("not wait"),
    });
  });
});

describe("parley tasks cancel, fail and delete", () => {
  it("end tasks, and delete them after a question", async () => {
    const [first, second] = [await world.send("alice", "ask one"), await world.send("alice", "ask two")];
    expect(await tasks(["cancel", first])).toEqual({ code: 0, stdout: `${first}  canceled\n`, stderr: "" });
    expect(await tasks(["cancel", first])).toMatchObject({ code: 1, stdout: "" });
    const [failed] = json(await tasks(["fail", second, "--message", "Stuck.", "--json"]));
    expect(failed?.task).toMatchObject({ state: "TASK_STATE_FAILED" });
    expect((await tasks(["show", second])).stdout).toContain("failed: Stuck.\n");
    expect(await tasks(["delete", first])).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes") });
    const no = await tasks(["delete", first], { columns: 80, input: "n\n" });
    expect(no).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(`delete task ${first}?`) });
    for (const input of ["\u0003", ""]) {
      const left = await tasks(["delete", first], { columns: 80, input });
      expect(left).toMatchObject({ code: 130, stdout: "", stderr: expect.stringMatching(/\nnothing was done$/) });
    }
    expect(await tasks(["delete", first], { columns: 80, input: "y\n" })).toMatchObject({
      code: 0,
      stdout: `${first}  deleted\n`,
    });
    expect(json(await tasks(["delete", second, "--yes", "--json"]))).toEqual([{ deleted: second }]);
    expect((await tasks(["delete", second, "--yes"])).code).toBe(1);
  });
});

describe("parley tasks export and import", () => {
  it("move a task through a file that is not replaced, and through a pipe", async () => {
    const task = await world.send("alice", "say goodbye");
    const out = join(folder, "task.jsonl");
    expect(await tasks(["export", task, "--out", out])).toEqual({ code: 0, stdout: `${out}\n`, stderr: "" });
    expect(statSync(out).mode & 0o777).toBe(0o600);
    const kept = readFileSync(out, "utf8");
    const again = await tasks(["export", task, "--out", out]);
    expect(again).toMatchObject({ code: 2, stderr: `--out: ${out} exists, and is not replaced` });
    expect(readFileSync(out, "utf8")).toBe(kept);
    const nothing = join(folder, "nothing.jsonl");
    expect((await tasks(["export", crypto.randomUUID(), "--out", nothing])).code).toBe(1);
    expect(() => statSync(nothing)).toThrow("ENOENT");
    const { stdout } = await tasks(["export", task]);
    expect(stdout.split("\n").slice(1, -2)).toEqual(kept.split("\n").slice(1, -2));
    expect((await tasks(["import", out])).code).toBe(1);
    await tasks(["delete", task, "--yes"]);
    expect(await tasks(["import", out])).toEqual({ code: 0, stdout: `${task}  completed\n`, stderr: "" });
    await tasks(["delete", task, "--yes"]);
    const [moved] = json(await tasks(["import", "-", "--owner", "bob", "--json"], { input: stdout }));
    expect(moved?.task).toMatchObject({ taskId: task, owner: "bob" });
    const cut = await tasks(["import", "-"], { input: stdout.slice(0, 200) });
    expect(cut.code).toBe(2);
    expect((await tasks(["import", join(folder, "none")])).code).toBe(2);
  });
});

describe("parley owners", () => {
  it("lists owners, and deletes one after a question", async () => {
    await world.send("alice", "say more");
    const { stdout } = await owners(["list"]);
    expect(stdout).toMatch(/^OWNER +TASKS +OPEN +PUSH +AGE +TENANT\n/);
    expect(stdout).toMatch(/^alice +\d+ +0 +0 /m);
    expect(json(await owners(["list", "--json", "--tenant", "none"]))).toEqual([{}]);
    expect(await owners(["delete", "alice"])).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes") });
    expect(await owners(["delete", "alice", "--yes"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+ tasks deleted, 0 remaining\n$/),
    });
    expect((await tasks(["list", "--owner", "alice"])).stdout).toBe("");
  });
});

describe("the way to the service", () => {
  it("distinguishes credentials, servers that are not reached, and usage, without printing a token", async () => {
    const file = join(folder, "token");
    writeFileSync(file, `${tokens.read}\n`);
    expect(
      (await tasks(["list", "--admin", `http://${world.address}`, "--admin-token-file", file], { env: {} })).code,
    ).toBe(0);
    const listed = join(folder, "tokens");
    writeFileSync(listed, `ops write ${tokens.write}\n`);
    const cases: readonly [code: number, said: string, args: readonly string[], env: Record<string, string>][] = [
      [4, "PARLEY_ADMIN_TOKEN", ["list"], { PARLEY_ADMIN: world.address }],
      [4, "PARLEY_ADMIN_TOKEN", ["list"], { PARLEY_ADMIN: world.address, PARLEY_ADMIN_TOKEN: tokens.wrong }],
      [4, "write", ["cancel", "x", "--admin-token-file", file], { PARLEY_ADMIN: world.address }],
      [2, "token alone", ["list", "--admin-token-file", listed], { PARLEY_ADMIN: world.address }],
      [2, "--admin-token-file", ["list", "--admin-token-file", join(folder, "no")], { PARLEY_ADMIN: world.address }],
      [2, "--store", ["list"], {}],
      [2, "not both", ["list", "--admin", world.address, "--store", "x.db"], {}],
      [2, "--admin is not an address", ["list", "--admin", "http://user:secret@localhost:1"], {}],
      [2, "--admin is not an address", ["list", "--admin", "localhost"], {}],
      [3, "ECONNREFUSED", ["list", "--admin", "127.0.0.1:1"], {}],
      [3, "ENOENT", ["list", "--admin", `unix:${join(folder, "none.sock")}`], {}],
      [3, "operator's service", ["list", "--admin", `http://127.0.0.1:${world.server.port}`], {}],
      [3, "is in use", ["list", "--store", join(folder, "tasks.db")], {}],
      [2, "does not exist", ["list", "--store", join(folder, "no.db")], {}],
    ];
    for (const [code, said, args, given] of cases) {
      const ended = await tasks(args, { env: given });
      expect([args, ended]).toEqual([args, { code, stdout: "", stderr: expect.stringContaining(said) }]);
      for (const token of [...Object.values(tokens), "user:secret"]) expect(ended.stderr).not.toContain(token);
    }
  });
});
