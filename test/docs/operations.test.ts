import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { build } from "../e2e/support/build.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { blocksOf, root } from "./pages.js";
import { follow } from "./shell.js";

const page = readFileSync(join(root, "docs/operations.md"), "utf8").replaceAll(/\s+/g, " ");

/** Commands in the text of the page, in its order. */
const commands = [...page.matchAll(/`((?:npx parley|curl) [^`]+)`/g)].map(([, command = ""]) => command);

build();

let home: Home;
let elsewhere: string;

beforeEach(() => {
  home = new Home();
  elsewhere = mkdtempSync(join(tmpdir(), "parley-drill-"));
});

afterEach(async () => {
  await home.leave();
  rmSync(elsewhere, { recursive: true });
});

const portOf = ({ url }: ServerProcess): string => new URL(url).port;

async function send(server: ServerProcess, text: string): Promise<string> {
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] };
  const response = await fetch(`${server.url}/message:send`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ message }),
  });
  return ((await response.json()) as { task: { id: string } }).task.id;
}

/** Runs a command of the page in a folder. @returns its output */
function type(command: string, cwd: string, server: ServerProcess, task = ""): Promise<string> {
  const line = command.replace("npx parley", `node ${join(root, "dist/src/cli/main.js")}`);
  const ports = { "8080": portOf(server) };
  return follow({ folder: "", command: line, prints: "" }, { cwd, ports, env: { TASK: task } });
}

/** Average growth of the file for each task with this text, in bytes. */
async function bytesOfEach(text: string, count: number): Promise<number> {
  const sizes = [];
  for (let times = 0; times < 2; times++) {
    const server = await home.start();
    for (let sent = 0; sent < count; sent += 10) {
      await Promise.all(Array.from({ length: 10 }, () => send(server, text)));
    }
    await server.stop();
    sizes.push(statSync(home.store).size);
  }
  const [before = 0, after = 0] = sizes;
  return (after - before) / count;
}

describe("docs/operations.md", { timeout: 60_000 }, () => {
  it("shows how a server says that it is ready", async () => {
    const server = await home.start();
    const [command] = blocksOf("docs/operations.md").flatMap((block) => block.commands);
    await follow(command!, { cwd: home.folder, ports: { "8080": portOf(server) }, env: {} });
  });

  it("shows commands of the drill that work", async () => {
    expect(commands).toHaveLength(4);
    const [backup = "", restore = "", resume = "", check = ""] = commands;
    const first = await home.start();
    const task = await send(first, "stream 3 8 0");
    await type(backup, home.folder, first);
    copyFileSync(join(home.folder, "before.db"), join(elsewhere, "before.db"));
    await type(restore, elsewhere, first);
    home.store = join(elsewhere, "tasks.db");
    const second = await home.start();
    const events = await type(resume, elsewhere, second, task);
    // The task at generation 1, and each later event.
    expect([...events.matchAll(/^id: (\d+)$/gm)].map(([, id]) => id)).toEqual(["1", "2", "3", "4", "5", "6"]);
    await type(check, elsewhere, second);
  });

  it("states the size of a task and of a piece on disk", async () => {
    const stated = [...page.matchAll(/\| (?:Disk of [^|]+)\| ([\d.]+) KB/g)].map(([, size]) => Number(size));
    const task = (await bytesOfEach("echo hello", 500)) / 1_000;
    rmSync(home.store);
    const long = (await bytesOfEach("stream 200 20 0", 50)) / 1_000;
    const measured = [task, (long - task) / 199];
    for (const [at, size] of measured.entries()) {
      expect(size / (stated[at] ?? 0)).toBeGreaterThan(0.8);
      expect(size / (stated[at] ?? 0)).toBeLessThan(1.2);
    }
    expect(stated).toHaveLength(2);
  });
});
