import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bindings } from "../support/drivers.js";
import { expectSoundFile } from "../support/sound-file.js";
import { root } from "./support/build.js";
import { buildOlder, hasOlder } from "./support/older-build.js";
import { Home, type ServerProcess } from "./support/server-process.js";
import { say, stateOf } from "./support/story.js";

const present = join(root, "dist/src/cli/main.js");

let home: Home;

beforeEach(() => {
  home = new Home();
});

afterEach(() => home.leave());

/** Serves the file with a program while `work` runs. Then stops the server in order. */
async function serving<T>(main: string, work: (server: ServerProcess) => Promise<T>): Promise<T> {
  home.main = main;
  const server = await home.start();
  try {
    return await work(server);
  } finally {
    expect(await server.stop()).toEqual({ code: 0, signal: null });
  }
}

/** Makes a REST call. @returns the task of the answer, or undefined for an error */
async function call(server: ServerProcess, method: string, request: JsonObject): Promise<JsonObject | undefined> {
  const driver = bindings.find(({ name }) => name === "rest")?.connect(server);
  const answer = await driver?.call(method, request);
  driver?.close();
  return (answer?.message?.task ?? answer?.message) as JsonObject | undefined;
}

async function stateIn(server: ServerProcess, id: string): Promise<string> {
  const task = await call(server, "GetTask", { id });
  return task === undefined ? "missing" : stateOf(task);
}

async function send(server: ServerProcess, text: string, about: { taskId?: string } = {}): Promise<string> {
  const task = await call(server, "SendMessage", say(text, about));
  return task?.id as string;
}

const parley = (main: string, ...args: string[]): void => {
  execFileSync(process.execPath, [main, ...args], { cwd: home.folder, stdio: ["ignore", "ignore", "inherit"] });
};

describe("a file of an older version", { timeout: 120_000 }, () => {
  it("is upgraded, and the older program continues on the backup after a rollback", async ({ skip }) => {
    skip(!hasOlder, "This clone is shallow and lacks the commit of the older program.");
    const older = join(buildOlder(), "dist/src/cli/main.js");
    const { done, open } = await serving(older, async (server) => {
      const tasks = { done: await send(server, "echo one"), open: await send(server, "ask which") };
      parley(older, "backup", home.store, "before.db");
      return tasks;
    });

    const late = await serving(present, async (server) => {
      expect(server.log).toMatch(/"?from"?[:=] ?13/);
      expect(await stateIn(server, done)).toBe("TASK_STATE_COMPLETED");
      expect(await stateIn(server, await send(server, "echo which", { taskId: open }))).toBe("TASK_STATE_COMPLETED");
      return send(server, "echo late");
    });

    home.main = older;
    expect((await home.launch().exited).code).not.toBe(0);
    const aside = join(home.folder, "aside");
    mkdirSync(aside);
    for (const name of readdirSync(home.folder)) {
      if (name.startsWith("tasks.db")) renameSync(join(home.folder, name), join(aside, name));
    }
    parley(older, "restore", "before.db", home.store);

    await serving(older, async (server) => {
      expect(await stateIn(server, done)).toBe("TASK_STATE_COMPLETED");
      expect(await stateIn(server, late)).toBe("missing");
      expect(await stateIn(server, open)).toBe("TASK_STATE_INPUT_REQUIRED");
      expect(await stateIn(server, await send(server, "echo which", { taskId: open }))).toBe("TASK_STATE_COMPLETED");
      expect(await stateIn(server, await send(server, "echo again"))).toBe("TASK_STATE_COMPLETED");
    });
    // The current program upgrades the file again.
    await serving(present, async (server) => expect(await stateIn(server, open)).toBe("TASK_STATE_COMPLETED"));
    expectSoundFile(home.store);
  });
});
