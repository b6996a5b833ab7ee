import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { add } from "../../src/cli/operate/top.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { openTasks, type TaskWorld } from "../admin/task-world.js";
import { tokens } from "../admin/world.js";
import { type Ended, type Place, runGroup } from "./operate-run.js";

let world: TaskWorld;
let task: string;
beforeAll(async () => {
  world = await openTasks(memoryStore());
  task = await world.send("alice", "ask \u001b[2Jmoney");
});
afterAll(() => world.close());

const top = (args: readonly string[], place: Place = {}): Promise<Ended> =>
  runGroup(add, "top", args, { env: { PARLEY_ADMIN: world.address, PARLEY_ADMIN_TOKEN: tokens.read }, ...place });

const enter = "\u001b[?1049h";
const leave = "\u001b[?25h\u001b[?1049l";
// biome-ignore lint/suspicious/noControlCharactersInRegex: it takes them away
const plain = (text: string): string => text.replaceAll(/\u001b\[[?\d;]*[A-Za-z]/g, "");

describe("parley top", () => {
  it("prints one snapshot without a terminal", async () => {
    const { code, stdout, stderr } = await top([]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).not.toContain("\u001b");
    expect(stdout).toMatch(/^Readiness {3}ready$/m);
    expect(stdout).toMatch(/^Calls {7}1 ended, 0 open, 0 streams$/m);
    expect(stdout).toMatch(/^Tasks {7}1 wait for a person$/m);
    expect(stdout).toContain(`${task}  input-required`);
    const json = await top(["--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      server: { endedCalls: "1", readiness: "ready" },
      tasks: [{ taskId: task }],
    });
  });

  it.each([80, 200])("fits a terminal of %i columns and 15 lines, and refreshes until q", async (columns) => {
    let frames = 0;
    const { code, stdout } = await top([], {
      ...{ columns, rows: 15, keys: ["commits/s", "q"] },
      onOutput: (text) => {
        frames = text.split("\u001b[H").length - 1;
      },
    });
    expect([code, frames >= 2]).toEqual([0, true]);
    expect(stdout.startsWith(enter)).toBe(true);
    expect(stdout.endsWith(leave)).toBe(true);
    for (const frame of stdout.slice(enter.length, -leave.length).split("\u001b[H").slice(1)) {
      const lines = plain(frame).split("\r\n");
      expect(lines.length).toBeLessThanOrEqual(15);
      expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(columns);
    }
    expect(plain(stdout)).toMatch(/Calls {7}\d+\.\d\/s, 0 open/);
  });

  it("ends at a signal and leaves the terminal as it was", async () => {
    const stop = new AbortController();
    const { code, stdout } = await top([], {
      columns: 80,
      signal: stop.signal,
      onOutput: (text) => text.includes("Memory") && stop.abort(),
    });
    expect([code, stdout.endsWith(leave)]).toEqual([0, true]);
    const key = await top([], { columns: 80, keys: ["Memory", "\u0003"] });
    expect([key.code, key.stdout.endsWith(leave)]).toEqual([0, true]);
  });

  it("shows that a server is lost, and fails if it is not there at the start", async () => {
    const other = await openTasks(memoryStore());
    let closed: Promise<void> | undefined;
    const { code, stdout } = await top([], {
      ...{ columns: 120, env: { PARLEY_ADMIN: other.address, PARLEY_ADMIN_TOKEN: tokens.read } },
      keys: ["cannot be reached", "q"],
      onOutput: () => {
        closed ??= other.close();
      },
    });
    await closed;
    expect([code, stdout.endsWith(leave)]).toEqual([0, true]);
    const lost = await top([], { columns: 80, env: { PARLEY_ADMIN: other.address } });
    expect(lost).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining("cannot be reached") });
  });
});
