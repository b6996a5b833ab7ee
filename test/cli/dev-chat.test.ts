import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { build, root } from "../e2e/support/build.js";
import { main } from "./cli.js";

build();

// `script` of util-linux runs a command in a terminal.
const hasTerminals = spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux") === true;

const agentFile = `
import { setTimeout as sleep } from "node:timers/promises";
import { artifact, inputRequired } from "parley-a2a";
import { word } from "./words.js";

export const agent = {
  card: { name: "Words", description: "Says a word.", version: "1.0.0" },
  recover: "restart",
  async *execute(turn: { text: string; attempt: number; signal: AbortSignal }) {
    console.log("the agent logs " + turn.text);
    if (turn.text === "ask") return yield inputRequired("Which?");
    yield artifact({ name: "word", text: word + "-" + turn.text + "-" + turn.attempt });
    if (turn.text === "slow" && turn.attempt === 1) await sleep(60_000, undefined, { signal: turn.signal });
  },
};
`;

let folder = "";
let child: ChildProcess | undefined;
let shown = "";
let ended: Promise<number | null> | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "parley-dev-chat-"));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
  symlinkSync(join(root, "dist"), join(folder, "dist"), "junction");
  writeFileSync(join(folder, "package.json"), readFileSync(join(root, "package.json")));
  writeFileSync(join(folder, "agent.ts"), agentFile);
  says("one");
});
afterEach(async () => {
  child?.kill("SIGKILL");
  await ended;
  rmSync(folder, { recursive: true, force: true });
  if (log() !== "") rmSync(dirname(log()), { recursive: true, force: true });
});

const says = (word: string): void =>
  writeFileSync(join(folder, "words.ts"), `export const word: string = "${word}";\n`);
const log = (): string => /The server's log is in (\S+)/.exec(shown)?.[1] ?? "";
const type = (keys: string): void => void child?.stdin?.write(keys);
const sees = (text: string | RegExp): Promise<void> => expect.poll(() => shown, { timeout: 30_000 }).toMatch(text);
/** Clears the terminal's recorded output. */
const forget = (): void => {
  shown = `The server's log is in ${log()}\n`;
};

async function started(): Promise<void> {
  shown = "";
  const command = `"${process.execPath}" "${main}" dev agent.ts --chat --port 0 --grpc-port off`;
  const env = { PATH: process.env.PATH ?? "", HOME: folder, TERM: "xterm" };
  child = spawn("script", ["--quiet", "--return", "--flush", "--command", command, "/dev/null"], { cwd: folder, env });
  const { stdout } = child;
  stdout?.on("data", (piece) => {
    shown += stripVTControlCharacters(String(piece)).replaceAll("\r", "");
  });
  ended = new Promise((resolve) => child?.once("close", resolve));
}

describe.skipIf(!hasTerminals)("parley dev --chat", { timeout: 60_000 }, () => {
  it("talks with the agent, and keeps the server's log in a file of its own", async () => {
    await started();
    await sees("Talking with Words.");
    expect(shown).toMatch(/Words 1\.0\.0 is served at http:\/\/localhost:\d+\n/);
    type("hello\r");
    await sees("one-hello-1");
    await expect.poll(() => readFileSync(log(), "utf8")).toContain("the agent logs hello");
    expect(readFileSync(log(), "utf8")).toMatch(/call .* SendStreamingMessage/);
    expect(shown).not.toContain("the agent logs");
    expect(statSync(log()).mode & 0o777).toBe(0o600);
  });

  it("continues a task with the new code, and says that the server has restarted", async () => {
    await started();
    await sees("Talking with Words.");
    type("ask\r");
    await sees(/Which\?\n/);
    says("two");
    await sees("parley: the agent is served again");
    type("this\r");
    await sees("two-this-1");
    expect(readFileSync(log(), "utf8")).toMatch(/message +user: this/);
  });

  it("continues an answer that the restart has cut", async () => {
    await started();
    await sees("Talking with Words.");
    type("slow\r");
    await sees("one-slow-1");
    says("two");
    await sees("two-slow-2");
  });

  it("shows why the server does not start, and sends the message when it does", async () => {
    await started();
    await sees("Talking with Words.");
    writeFileSync(join(folder, "words.ts"), "export const word = ;\n");
    await sees(/parley: the agent module agent\.ts cannot be loaded: .* \(words\.ts:1\)/);
    type("first\r");
    await sees("Waiting for the server. Ctrl-C stops waiting.");
    type("\x03");
    await sees("Nothing is sent.");
    forget();
    type("second\r");
    await sees("Waiting for the server.");
    says("three");
    await sees("three-second-1");
    expect(readFileSync(log(), "utf8")).not.toContain("user: first");
  });

  it("begins the chat once an agent with an error is mended", async () => {
    writeFileSync(join(folder, "words.ts"), "export const word = ;\n");
    await started();
    await sees(/parley: the agent module agent\.ts cannot be loaded/);
    expect(shown).not.toContain("Talking with");
    says("one");
    await sees("Talking with Words.");
  });

  it("ends the server when the person leaves", async () => {
    await started();
    await sees("Talking with Words.");
    const [, url = ""] = /served at (\S+)/.exec(shown) ?? [];
    expect((await fetch(`${url}/.well-known/agent-card.json`)).status).toBe(200);
    type("/quit\r");
    expect(await ended).toBe(0);
    await expect(fetch(`${url}/.well-known/agent-card.json`)).rejects.toThrow();
  });

  it("refuses to chat without a terminal", () => {
    const { status, stderr } = spawnSync(process.execPath, [main, "dev", "agent.ts", "--chat"], {
      cwd: folder,
      encoding: "utf8",
    });
    expect([status, stderr]).toEqual([2, "parley: --chat needs a terminal: run parley chat in another one\n"]);
    expect(existsSync(join(folder, "parley.db"))).toBe(false);
  });
});
