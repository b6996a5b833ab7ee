import { spawn } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { build } from "../e2e/support/build.js";
import { type Run, watch, workplaces } from "./cli.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

build();

const place = workplaces();

/** An agent that says a word from another file, slowly if asked to. */
const agentFile = (description = "Says a word."): string => `
import { setTimeout as sleep } from "node:timers/promises";
import { artifact } from "parley-a2a";
import { word } from "./words.js";

export const agent = {
  card: { name: "Words", description: ${JSON.stringify(description)}, version: "1.0.0" },
  recover: "restart",
  async *execute(turn: { text: string; attempt: number; signal: AbortSignal }) {
    yield artifact({ name: "word", text: word + " " + turn.attempt });
    if (turn.text === "block" && turn.attempt === 1) for (;;);
    if (turn.text === "slow" && turn.attempt === 1) await sleep(60_000, undefined, { signal: turn.signal });
  },
};
`;

const edit = (name: string, text: string): void => writeFileSync(join(place.path, name), text);

/** `parley dev` with a server that has started. */
interface Dev extends Run {
  readonly url: string;
}

/** Ids of server processes, which are killed after each test because a failed test may leave them. */
const servers = new Set<number>();
afterEach(() => {
  for (const id of servers) {
    try {
      process.kill(id, "SIGKILL");
    } catch {
      // The process has ended.
    }
  }
  servers.clear();
});

function files(agent = agentFile()): void {
  symlinkSync(join(root, "node_modules"), join(place.path, "node_modules"), "junction");
  edit("package.json", readFileSync(join(root, "package.json"), "utf8"));
  symlinkSync(join(root, "dist"), join(place.path, "dist"), "junction");
  edit("words.ts", 'export const word: string = "one";\n');
  edit("agent.ts", agent);
}

async function started(...args: readonly string[]): Promise<Dev> {
  const words = args.includes("--port") ? args : ["--port", "0", "--grpc-port", "off", ...args];
  const run = place.run(["dev", "agent.ts", ...words]);
  await expect.poll(() => run.stdout() + run.stderr()).toContain("Files are watched");
  const [url = ""] = /http:\/\/localhost:\d+/.exec(run.stdout()) ?? [];
  noteServer(run);
  return { ...run, url };
}

/** @returns the id of the server process */
function noteServer({ child }: Run): number {
  const listed = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim();
  const id = Number(listed.split(" ")[0]);
  servers.add(id);
  return id;
}

const isAlive = (id: number): boolean => {
  try {
    return process.kill(id, 0);
  } catch {
    return false;
  }
};

/** The description in the card, or the error of the request. */
const described = (url: string) => async (): Promise<string> => {
  const response = await fetch(`${url}/.well-known/agent-card.json`).catch((error: Error) => error);
  return response instanceof Error
    ? response.message
    : ((await response.json()) as { description: string }).description;
};

/** The answer to a message, or the error of the request. */
const said =
  (url: string, text = "x") =>
  async (): Promise<string> => {
    const response = await fetch(`${url}/message:send`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] } }),
    }).catch((error: Error) => error);
    return response instanceof Error ? response.message : response.text();
  };

describe.skipIf(process.platform !== "linux")("parley dev", { timeout: 60_000 }, () => {
  it("serves the new code of the agent and of what it imports, at the same address", async () => {
    files();
    const { url, stderr } = await started();
    expect(await said(url)()).toContain('"one 1"');
    edit("words.ts", 'export const word: string = "two";\n');
    await expect.poll(said(url)).toContain('"two 1"');
    edit("agent.ts", agentFile("Says a new word."));
    await expect.poll(described(url)).toBe("Says a new word.");
    expect(stderr().match(/^parley: .*/gm)).toEqual(
      ["words.ts has changed", "the agent is served again", "agent.ts has changed", "the agent is served again"].map(
        (line) => `parley: ${line}`,
      ),
    );
  });

  it("shows the address, advice about the card, and commands that work", async () => {
    files();
    const { url, stdout } = await started();
    expect(stdout()).toContain(`Words 1.0.0 is served at ${url}\n`);
    expect(stdout()).toContain("Card: skills is empty");
    const [command = ""] = /^ {2}(.* send .*)$/m.exec(stdout()) ?? [];
    const run = place.keep(watch(spawn("sh", ["-c", command.trim()], { cwd: place.path })));
    expect([await run.exited, run.stdout()], run.stderr()).toEqual([0, expect.stringContaining("one 1")]);
  });

  it("writes a line for each call and each event, without colours in a pipe", async () => {
    files();
    const { url, stderr } = await started();
    await said(url, "to\u001b[2Jme")();
    await expect.poll(stderr).toMatch(/event \w{8} {2}status {4}completed/);
    await expect.poll(stderr).toMatch(/call {2}\w{8} {2}SendMessage {2}\S+ {2}OK {2}\d+ ms\n/);
    expect(stderr()).toMatch(/event \w{8} {2}created {3}user: to\\u001b\[2Jme\n/);
    expect(stderr()).toMatch(/event \w{8} {2}artifact {2}word: one 1\n/);
    expect(stderr()).not.toContain("\u001b");
  });

  it("waits after a syntax error, which it shows once, and after a missing import", async () => {
    files();
    const { url, stderr, child } = await started();
    edit("words.ts", "export const word = ;\n");
    await expect.poll(stderr).toContain("it starts again when a file changes");
    expect(stderr()).toMatch(/parley: the agent module agent\.ts cannot be loaded: .* \(words\.ts:1\)\n/);
    expect(stderr().match(/cannot be loaded/g)).toHaveLength(1);
    expect(child.exitCode).toBeNull();
    edit("words.ts", 'export { word } from "./later.js";\n');
    await expect.poll(stderr).toContain("Cannot find module");
    edit("later.ts", 'export const word: string = "late";\n');
    await expect.poll(said(url)).toContain('"late 1"');
  });

  it("starts with an error, and serves when it is mended", async () => {
    files("export const agent = {;\n");
    const run = place.run(["dev", "agent.ts", "--port", "0", "--grpc-port", "off"]);
    await expect.poll(run.stderr).toContain("it starts again when a file changes");
    edit("agent.ts", agentFile());
    await expect.poll(run.stdout).toContain("Files are watched");
    noteServer(run);
  });

  it("keeps tasks, and the stream of a client continues with the new code", async () => {
    files();
    const { url } = await started();
    const client = place.run(["send", "-a", url, "--stream", "slow"], { HOME: place.path });
    await expect.poll(client.stdout).toContain("one 1");
    edit("words.ts", 'export const word: string = "two";\n');
    expect(await client.exited, client.stderr()).toBe(0);
    expect(client.stdout()).toContain("two 2");
  });

  it("kills a server that does not return from its agent", async () => {
    files();
    const dev = await started();
    const blocked = said(dev.url, "block")();
    await expect.poll(dev.stderr).toContain("user: block");
    edit("words.ts", 'export const word: string = "two";\n');
    await blocked;
    await expect.poll(dev.stderr).toContain("the agent is served again");
  });

  it("waits for a change after the agent has ended its process", async () => {
    files();
    const dev = await started();
    process.kill(noteServer(dev), "SIGKILL");
    await expect.poll(dev.stderr).toContain("the server ended (SIGKILL); it starts again when a file changes");
    edit("words.ts", 'export const word: string = "two";\n');
    await expect.poll(said(dev.url)).toContain('"two 1"');
  });

  it.each(["SIGINT", "SIGTERM"] as const)("ends the server at %s", async (signal) => {
    files();
    const dev = await started();
    const server = noteServer(dev);
    dev.child.kill(signal);
    expect(await dev.exited, dev.stderr()).toBe(0);
    expect(isAlive(server)).toBe(false);
  });

  it("ends at once at the second Ctrl-C, and leaves no server that its agent blocks", async () => {
    files();
    const dev = await started();
    const server = noteServer(dev);
    const blocked = said(dev.url, "block")();
    await expect.poll(dev.stderr).toContain("user: block");
    dev.child.kill("SIGINT");
    await sleep(1_000);
    dev.child.kill("SIGINT");
    expect(await dev.exited).toBe(130);
    await expect.poll(() => isAlive(server)).toBe(false);
    await blocked;
  });

  it("leaves no server when it is killed", async () => {
    files();
    const dev = await started();
    const server = noteServer(dev);
    expect(isAlive(server)).toBe(true);
    dev.child.kill("SIGKILL");
    await expect.poll(() => isAlive(server)).toBe(false);
  });

  it("ends where a change of a file does not help: a port that is in use", async () => {
    files();
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as { port: number };
    const run = place.run(["dev", "agent.ts", "--port", `${port}`, "--grpc-port", "off"]);
    expect(await run.exited).toBe(2);
    expect(run.stderr()).toContain(`port ${port} on 127.0.0.1 is already in use`);
    other.close();
  });

  it.each([
    { args: ["none.ts"], says: "parley: the agent module none.ts does not exist\n" },
    { args: ["agent.ts", "--port", "x"], says: "option '--port" },
    { args: ["agent.ts", "--such"], says: "unknown option '--such'" },
    { args: [], says: "missing required argument 'module'" },
  ])("refuses $args in one line", async ({ args, says }) => {
    files();
    const run = place.run(["dev", ...args]);
    expect([await run.exited, run.stdout()]).toEqual([2, ""]);
    expect(run.stderr()).toContain(says);
    expect(run.stderr().trimEnd().split("\n")).toHaveLength(1);
  });
});
