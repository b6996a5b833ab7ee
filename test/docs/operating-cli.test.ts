import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as check from "../../src/cli/operate/check.js";
import * as owners from "../../src/cli/operate/owners.js";
import * as push from "../../src/cli/operate/push.js";
import * as server from "../../src/cli/operate/server.js";
import * as tasks from "../../src/cli/operate/tasks.js";
import * as top from "../../src/cli/operate/top.js";
import type { ServerOptions } from "../../src/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { openWorld, tokens, type World } from "../admin/world.js";
import { type Group, runGroup } from "../cli/operate-run.js";
import { Receiver } from "../push/receiver.js";
import { root } from "./pages.js";

const groups: Readonly<Record<string, Group>> = {
  tasks: tasks.add,
  owners: owners.add,
  push: push.add,
  server: server.add,
  check: check.add,
  top: top.add,
};

/** The commands of the page, in its order. */
const commands = [...readFileSync(join(root, "docs/operating-cli.md"), "utf8").matchAll(/^npx parley (.+)$/gm)].map(
  ([, command = ""]) => command,
);

/** Commands that docs/operations.md names for alerts. Some of them lack their task. */
const [, alerts = ""] = readFileSync(join(root, "docs/operations.md"), "utf8").split("\n## Alerts\n");
const answers = [...alerts.matchAll(/`(?:parley )?((?:tasks|push|server) [^`]+)`/g)].map(([, command = ""]) => command);

describe("docs/operating-cli.md", () => {
  let folder: string;
  let receiver: Receiver;
  let world: World;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "parley-operate-"));
    receiver = await Receiver.start();
    const store = sqliteStore(join(folder, "parley.db"));
    const log = (): void => {};
    const logger = { level: "info", debug: log, info: log, warn: log, error: log };
    const push = { allowHttp: true, ports: [receiver.port], allow: ["127.0.0.1"] };
    world = await openWorld({ backupFolder: folder }, { store, push, logger } as Partial<ServerOptions>);
  });
  afterAll(async () => {
    await world.server.close({ graceMs: 0 });
    await receiver.stop();
    rmSync(folder, { recursive: true });
  });

  async function send(text: string): Promise<string> {
    const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] };
    const taskPushNotificationConfig = { id: "hook", url: receiver.url("/hook") };
    const body = { message, configuration: { taskPushNotificationConfig, returnImmediately: text.startsWith("wait") } };
    const answer = await fetch(`${world.server.url}/message:send`, {
      method: "POST",
      headers: { "content-type": "application/json", "a2a-version": "1.0", "x-key": tokens.caller },
      body: JSON.stringify(body),
    });
    return ((await answer.json()) as { task: { id: string } }).task.id;
  }

  /** Runs a command of the page with a suitable task. */
  async function type(command: string): Promise<number> {
    const named = /\$TASK|task\.jsonl/.test(command);
    const [, kind = ""] = /^tasks (fail|cancel|answer)/.exec(command) ?? [];
    const text = kind === "" ? "finish" : kind === "answer" ? "ask which" : "wait docs";
    const task = named ? await send(text) : "";
    const env = { PARLEY_ADMIN: world.address, PARLEY_ADMIN_TOKEN: tokens.write };
    const lines = join(folder, "task.jsonl");
    if (command.startsWith("tasks import")) {
      const { stdout } = await runGroup(tasks.add, "tasks", ["export", task], { env });
      await runGroup(tasks.add, "tasks", ["delete", task, "--yes"], { env });
      writeFileSync(lines, stdout);
    }
    if (command.startsWith("tasks export")) rmSync(lines, { force: true });
    if (command.startsWith("push resend")) {
      const idle = ["list", "--task", task, "--state", "idle"];
      await expect.poll(async () => (await runGroup(push.add, "push", idle, { env })).stdout).toContain(task);
    }
    const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? "");
    const values: Readonly<Record<string, string>> = {
      $TASK: task,
      $CONFIG: "hook",
      "task.jsonl": lines,
      "parley.db": join(folder, "parley.db"),
    };
    const [name = "", ...args] = words.map((word) => values[word] ?? word);
    const signal = command === "tasks watch" ? AbortSignal.timeout(100) : new AbortController().signal;
    const { code, stderr } = await runGroup(groups[name]!, name, args, { env, signal });
    if (code !== 0) throw new Error(`${command}: ${stderr}`);
    return code;
  }

  it("has a command of each kind", () => {
    const kinds = new Set(
      commands.map((command) =>
        command
          .split(" ")
          .slice(0, /^(top|check)/.test(command) ? 1 : 2)
          .join(" "),
      ),
    );
    expect(kinds.size).toBe(26);
  });

  it.each(commands)("shows a command that works: parley %s", async (command) => {
    expect(await type(command)).toBe(0);
  });

  it.each(answers)("has the command that docs/operations.md names: parley %s", async (command) => {
    if (command.includes(" --")) expect(await type(command)).toBe(0);
    else expect(commands).toContainEqual(expect.stringMatching(new RegExp(`^${command}(?: |$)`)));
  });

  it("finds them", () => {
    expect(answers.length).toBeGreaterThan(6);
  });
});
