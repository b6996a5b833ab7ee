import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { npmStart, ready } from "../cli/cli.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { asPrinted, blocksOf, pageText, root, shownAs } from "./pages.js";
import { blocksTyping, follow, type Shell } from "./shell.js";

const home = new Home();
let server: ServerProcess;
let cwd = "";
beforeAll(async () => {
  // A store in memory, because a slow write to a file would make the server unavailable, which the pages do not show.
  server = await home.start("--store", "memory");
  cwd = mkdtempSync(join(tmpdir(), "parley-pages-"));
});
afterAll(async () => {
  await home.leave();
  for (const folder of [cwd, agents]) rmSync(folder, { recursive: true, force: true });
});

// The folder is inside the package, so that agents import it by name.
const agents = join(root, ".cache", "docs", "shell");

/** Starts a server with the agent that a page shows and serves. Returns the example agent's server for other pages. */
async function servedBy(page: string): Promise<ServerProcess> {
  const text = pageText(page);
  const agent = blocksOf(page).find(({ language }) => language === "ts")?.text;
  if (agent === undefined || !/`[^`]* serve \.\/agent\.ts`/.test(text)) return server;
  mkdirSync(agents, { recursive: true });
  home.agent = join(agents, `${page.replaceAll("/", "-")}.ts`);
  writeFileSync(home.agent, agent);
  return home.start("--store", "memory");
}

const json = { "content-type": "application/json" };
const resume = "urn:parley:ext:resume:v1";

/** Sends a text. Returns its task. */
async function send(text: string, returnImmediately = false, headers = {}): Promise<{ id: string }> {
  const message = { messageId: "1", role: "ROLE_USER", parts: [{ text }] };
  const body = JSON.stringify({ message, configuration: { returnImmediately } });
  const response = await fetch(`${server.url}/message:send`, {
    method: "POST",
    headers: { ...json, ...headers },
    body,
  });
  return ((await response.json()) as { task: { id: string } }).task;
}

/** Creates a task that works longer than any test. Returns when its third event is stored. */
async function longTask(): Promise<string> {
  const { id } = await send("stream 600 5 1000", true);
  const headers = { "a2a-extensions": resume, "parley-after-generation": "3" };
  expect((await fetch(`${server.url}/tasks/${id}`, { headers })).status).toBe(200);
  return id;
}

/** Checks of the answers that a page shows. */
const answers: Readonly<Record<string, (text: string) => Promise<void>>> = {
  "docs/bindings/connect.md json": async (text) => {
    const shown = JSON.parse(text) as { details: { value: unknown }[] };
    const body = JSON.stringify({ id: "nope" });
    const url = `${server.url}/lf.a2a.v1.A2AService/GetTask`;
    const response = await fetch(url, { method: "POST", headers: json, body });
    for (const detail of shown.details) detail.value = expect.stringMatching(/^[\w+/]+$/);
    expect(await response.json()).toMatchObject(shown);
  },
  "docs/extensions/resume.md http": async (text) => {
    const [name = "", value = ""] = text.trim().split(": ");
    const { id } = await send("echo hello");
    const response = await fetch(`${server.url}/tasks/${id}`, { headers: { [name]: value } });
    expect(response.headers.get(name)).toBe(value);
  },
  "docs/extensions/resume.md json": async (text) => {
    // The events: created, working, an artifact in four pieces, completed.
    expect(await send("stream 4 5", false, { "a2a-extensions": resume })).toMatchObject(JSON.parse(text) as object);
  },
};

/** Requires curl and bash in CI. Minimal systems have no curl, and Windows has no bash. */
const hasShell = process.env.CI !== undefined || spawnSync("bash", ["-c", "curl --version"]).status === 0;

describe("what a page has its reader type", () => {
  it.skipIf(!hasShell).each(blocksTyping(/^curl /))("prints what it shows: %s", async (_, { page, commands }) => {
    const ports = { "8080": new URL((await servedBy(page)).url).port };
    for (const command of commands) {
      const env = command.command.includes("$TASK") ? { TASK: await longTask() } : {};
      await follow(command, { cwd, ports, env } satisfies Shell);
    }
  });

  it.each(blocksTyping(/^npm ci && npm start$/))("starts the example agent: %s", async (_, { commands: [command] }) => {
    const run = npmStart(["--port", "0", "--grpc-port", "0", "--store", join(cwd, "start.db")]);
    try {
      const { url, grpcAddress, stdout } = await ready(run);
      const printed = stdout().slice(stdout().indexOf("Probe "));
      const asShown = printed
        .replaceAll(new URL(url).host, "127.0.0.1:8080")
        .replaceAll(grpcAddress, "127.0.0.1:50051")
        .replace(join(cwd, "start.db"), "parley.db");
      // Some pages do not show the output.
      const prints = command?.prints ?? "";
      if (prints.trim() !== "") expect(asPrinted(asShown)).toMatch(shownAs(prints));
    } finally {
      run.child.kill("SIGTERM");
      await run.exited;
    }
  });

  it.each(Object.entries(answers))("is answered as it shows: %s", async (place, ask) => {
    const [page = "", language] = place.split(" ");
    const blocks = blocksOf(page).filter((block) => block.language === language);
    expect(blocks).not.toEqual([]);
    for (const { text } of blocks) await ask(text);
  });

  it("makes a file give space back: docs/backup.md", async () => {
    const [, command = ""] = /^(node -e '.*')$/m.exec(pageText("docs/backup.md")) ?? [];
    expect(command).toContain('"parley.db"');
    // Node.js 20 has no SQLite.
    if (!hasShell || !process.getBuiltinModule?.("node:sqlite")) return;
    await follow({ folder: "", command, prints: "" }, { cwd, ports: {}, env: {} });
  });
});
