import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { build } from "../e2e/support/build.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { expectSoundFile } from "../support/sound-file.js";
import { blocksOf, type Command, root } from "./pages.js";
import { follow } from "./shell.js";

const commands = blocksOf("docs/backup.md").flatMap((block) => block.commands);
const backups = commands.filter(({ command }) => command.includes("parley backup"));
const restore = commands.filter((command) => !backups.includes(command));

build();

let home: Home;
let server: ServerProcess;

beforeEach(async () => {
  home = new Home();
  server = await home.start();
});

afterEach(() => home.leave());

async function send(index: number): Promise<string> {
  const message = { messageId: `${index}`, role: "ROLE_USER", parts: [{ text: "echo hello" }] };
  const response = await fetch(`${server.url}/message:send`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ message }),
  });
  return ((await response.json()) as { task: { id: string } }).task.id;
}

async function isThere(id: string): Promise<boolean> {
  return (await fetch(`${server.url}/tasks/${id}`)).status === 200;
}

/** Runs a command in the folder of the file, which has another name here. */
async function type({ command }: Command): Promise<void> {
  const parley = `node ${join(root, "dist/src/cli/main.js")}`;
  const named = command.replaceAll("parley.db", "tasks.db").replaceAll("npx parley", parley);
  await follow({ folder: "", command: named, prints: "" }, { cwd: dirname(home.store), ports: {}, env: {} });
}

describe("docs/backup.md", { timeout: 60_000 }, () => {
  it.each(backups)("copies the file of a server that writes, and restores it: $command", async (backup) => {
    const kept = [];
    for (let index = 0; index < 20; index++) kept.push(await send(index));
    let writes = true;
    const writing = (async () => {
      for (let index = 20; writes; index++) await send(index);
    })();
    await type(backup);
    writes = false;
    await writing;
    const lost = await send(0);
    expect(await server.kill()).toMatchObject({ signal: "SIGKILL" });
    expect(restore).toHaveLength(3);
    for (const command of restore) await type(command);
    server = await home.start();
    for (const id of kept) expect(await isThere(id), id).toBe(true);
    expect(await isThere(lost)).toBe(false);
    expect(await isThere(await send(1))).toBe(true);
    expect(await server.stop()).toEqual({ code: 0, signal: null });
    expect(expectSoundFile(home.store)).toBeGreaterThan(kept.length);
  });
});
