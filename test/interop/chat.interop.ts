import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Turn } from "../../src/agent/agent.js";
import { type AgentEvent, artifact, completed, inputRequired, working } from "../../src/agent/event.js";
import { createServer, type Server } from "../../src/server/create-server.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { fixture, main } from "../cli/cli.js";
import { build } from "../e2e/support/build.js";
import { Home } from "../e2e/support/server-process.js";
import { installTmux, Terminal } from "./support/terminal.js";
import { run } from "./support/tool.js";

// Chats in a real terminal.

build();

const answer =
  "# Plan\n\nGo to **Rome** by train.\n\n- pack\n- leave\n\n| day | where |\n|-----|-------|\n| 1 | Rome |\n\nHave fun.\n";

const agent = {
  card: { name: "Guide", description: "Guides.", version: "1", skills: [] },
  async *execute(turn: Turn): AsyncGenerator<AgentEvent, void, undefined> {
    const [word = ""] = (turn.task?.history[0]?.parts[0]?.text === "form" ? "form" : turn.text).split(" ");
    if (word === "code") {
      const text = `\`\`\`\n${Array.from({ length: 12 }, (_, at) => `L${at} ${"wide ".repeat(30)}\n`).join("")}\`\`\`\n`;
      for (let at = 0; at < text.length; at += 40) {
        yield artifact({ id: "a", text: text.slice(at, at + 40), append: true });
        await new Promise((resolve) => setTimeout(resolve, 60));
      }
      yield completed("End of code.");
      return;
    }
    if (word === "ask") {
      yield inputRequired("Which city?");
      return;
    }
    if (word === "hold") {
      yield working("Looking for trains.");
      await new Promise((resolve) => turn.signal.addEventListener("abort", resolve));
      return;
    }
    if (word === "form") {
      const schema = {
        type: "object",
        required: ["amount"],
        properties: { amount: { type: "number" }, currency: { type: "string", enum: ["EUR", "USD"] } },
      };
      const values = yield* turn.form(schema, { text: "Fill in, please." });
      yield completed(`Got ${JSON.stringify(values)}.`);
      return;
    }
    if (turn.task !== undefined && turn.task.history.length > 1) {
      yield completed(`You said ${turn.text}.`);
      return;
    }
    if (word === "file") {
      yield artifact({ name: "f", file: { bytes: new Uint8Array(3), name: "../a.bin" } });
      yield completed();
      return;
    }
    for (let at = 0; at < answer.length; at += 5) {
      yield artifact({ id: "a", text: answer.slice(at, at + 5), append: true });
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    yield completed();
  },
};

describe("chat in a terminal", { timeout: 120_000 }, () => {
  let server: Server;
  let folder = "";
  let terminal: Terminal;
  beforeAll(async () => {
    await installTmux();
    server = await createServer({
      agent: agent as never,
      store: memoryStore(),
      host: "127.0.0.1",
      port: 0,
      grpcPort: 0,
      limits: { shutdownGraceMs: 0 },
    });
  });
  afterAll(() => server.close({ graceMs: 0 }));
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "parley-chat-"));
  });
  afterEach(() => {
    terminal.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const command = (more: string, env = ""): string =>
    `cd ${folder} && HOME=${folder} ${env} ${process.execPath} ${main} chat -a 127.0.0.1:${server.port} ${more}; echo "ended with $?"`;

  it.each([
    [80, 30],
    [200, 50],
    [40, 12],
  ])("A2ACLI_CHAT_001 shows Markdown at %i columns, once", async (columns, rows) => {
    terminal = new Terminal(command(""), { columns, rows });
    await terminal.shows(/^> *$/m);
    terminal.enter("plan");
    await terminal.shows("Have fun.");
    await terminal.shows(/Have fun\.\n+> *$/);
    const all = terminal.all();
    for (const text of ["# Plan", "Go to Rome by train.", "• pack", "• leave", "1   │ Rome", "Have fun."]) {
      expect(all.split(text), text).toHaveLength(2);
    }
    expect(terminal.all(true)).toContain("\x1b[1m");
    terminal.keys("C-d");
    await terminal.shows("ended with 0");
    expect(terminal.all().replaceAll("\n", "")).toMatch(/Resume with: ?parley.*--context-id/);
  });

  it("colours nothing with NO_COLOR", async () => {
    terminal = new Terminal(command("", "NO_COLOR=1"));
    await terminal.shows(/^> *$/m);
    terminal.enter("plan");
    await terminal.shows(/Have fun\.\n+> *$/);
    for (const code of [1, 2, 31, 36]) expect(terminal.all(true)).not.toContain(`\x1b[${code}m`);
  });

  it("A2ACLI_CHAT_001 continues a task that asks, and begins anew with /new", async () => {
    terminal = new Terminal(command('"ask"'));
    await terminal.shows(/Which city\?\n[\s\S]*\n> *$/);
    terminal.enter("Rome");
    await terminal.shows(/You said Rome\.\n+> *$/);
    terminal.enter("/task");
    await terminal.shows(/State: COMPLETED[\s\S]*\n> *$/);
    const context = /Context ID: (\S+)/.exec(terminal.screen)?.[1];
    terminal.enter("/new");
    await terminal.shows(/A new conversation\.\n+> *$/);
    terminal.enter("plan");
    await terminal.shows(/Have fun\.\n+> *$/);
    terminal.enter("/task");
    await terminal.shows(/(?:Context ID: \S+[\s\S]*){2}/);
    expect(terminal.screen.match(/Context ID: (\S+)/g)?.at(-1)).not.toContain(context);
  });

  it("asks for the fields of a form, and sends them", async () => {
    terminal = new Terminal(command('"form"'));
    await terminal.shows("amount:");
    terminal.enter("many");
    await terminal.shows("must be number");
    terminal.enter("12");
    await terminal.shows("currency:");
    terminal.enter("2");
    await terminal.shows("Send this?");
    terminal.enter("");
    await terminal.shows('Got {"amount":12,"currency":"USD"}.');
  });

  it("leaves a form open, and asks for it again in the next chat", async () => {
    terminal = new Terminal(command('"form"'), { columns: 200 });
    await terminal.shows("amount:");
    terminal.keys("C-c");
    await terminal.shows(/Nothing is sent\. \/form asks again[\s\S]*\n> *$/);
    terminal.enter("/form");
    await terminal.shows(/(?:amount:[\s\S]*){2}/);
    terminal.keys("C-d");
    await terminal.shows("ended with 0");
    const [resumed = ""] = /--context-id \S+ --task-id \S+/.exec(terminal.screen) ?? [];
    terminal.close();
    terminal = new Terminal(command(resumed));
    await terminal.shows("amount:");
    terminal.enter("12");
    await terminal.shows("currency:");
    terminal.enter("");
    await terminal.shows("Send this?");
    terminal.enter("");
    await terminal.shows('Got {"amount":12}.');
  });

  it.each([
    ["runs", "hold", "Looking for trains."],
    ["is finished", "plan", "Have fun."],
  ])("A2ACLI_CHAT_001 shows the task of --task-id that %s", async (_, text, shown) => {
    const sent = [main, "send", text, "--async", "-o", "json", "-a", `127.0.0.1:${server.port}`];
    const { code, stdout } = await run(process.execPath, sent);
    expect(code).toBe(0);
    const { id, contextId } = JSON.parse(stdout).task;
    terminal = new Terminal(command(`--task-id ${id}`), { columns: 200 });
    await terminal.shows(shown);
    if (text === "hold") terminal.keys("C-c");
    await terminal.shows(/\n> *$/);
    terminal.enter("/task");
    await terminal.shows(`Context ID: ${contextId}`);
    expect(terminal.screen).toContain(text === "hold" ? "State: CANCELED" : "State: COMPLETED");
  });

  it("sends a paste of several lines as one message", async () => {
    terminal = new Terminal(command('"ask"'));
    await terminal.shows(/Which city\?\n[\s\S]*\n> *$/);
    terminal.paste("Rome\nor\nParis");
    await terminal.shows("> [paste 1: 3 lines]");
    terminal.enter(" please");
    await terminal.shows(/You said Rome\nor\nParis please\./);
  });

  it("shows lines of code that are wider than the terminal once", async () => {
    terminal = new Terminal(command('"code"'), { columns: 50, rows: 20 });
    await terminal.shows(/End of code\.\n+> *$/);
    for (let at = 0; at < 12; at++) expect(terminal.all().match(new RegExp(`^ +L${at} `, "gm"))).toHaveLength(1);
  });

  it("clears a line that is typed at Ctrl-C, and counts each of two", async () => {
    terminal = new Terminal(command('"hold"'));
    await terminal.shows("Looking for trains.");
    terminal.keys("C-c", "C-c");
    await terminal.shows(/\n> *$/);
    terminal.enter("/new");
    await terminal.shows(/A new conversation\.\n+> *$/);
    terminal.keys("x", "y", "C-c");
    await terminal.shows("> xy^C");
    terminal.keys("C-c");
    await terminal.shows("ended with 0");
  });

  it("cancels the task at the first Ctrl-C, and stops waiting at the second", async () => {
    terminal = new Terminal(command('"hold"'));
    await terminal.shows("Looking for trains.");
    terminal.keys("C-c");
    await terminal.shows(/Canceling the task[\s\S]*Task \S+: CANCELED\n+> *$/);
    terminal.enter("plan");
    await terminal.shows(/Have fun\.\n+> *$/);
    terminal.keys("C-c");
    await terminal.shows("ended with 0");
  });

  it("names wrong commands and files, and goes on", async () => {
    terminal = new Terminal(command(""));
    await terminal.shows(/^> *$/m);
    terminal.enter("/nope");
    await terminal.shows(/\/nope is not a command[\s\S]*\n> *$/);
    terminal.enter("/file missing.txt");
    await terminal.shows(/ENOENT[\s\S]*\n> *$/);
    terminal.enter("plan");
    await terminal.shows(/Have fun\.\n+> *$/);
    terminal.enter("/save talk.md");
    await terminal.shows(/Saved: talk\.md\n+> *$/);
    expect(readFileSync(join(folder, "talk.md"), "utf8")).toContain(answer);
    terminal.enter("/save talk.md");
    await terminal.shows(/EEXIST[\s\S]*\n> *$/);
    terminal.enter("/save talk.jsonl");
    await terminal.shows(/Saved: talk\.jsonl\n+> *$/);
    const [mine, answered] = readFileSync(join(folder, "talk.jsonl"), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(mine).toEqual({ from: "user", text: "plan" });
    expect(answered).toMatchObject({ from: "agent", text: answer, contextId: expect.any(String) });
    terminal.enter("/quit");
    await terminal.shows("ended with 0");
  });

  it("saves the files of answers under safe names", async () => {
    terminal = new Terminal(command('"file" --save-fileparts got'));
    await terminal.shows("Saved: ");
    expect(readFileSync(join(folder, "got", "a.bin"))).toHaveLength(3);
  });

  it("is ended by SIGTERM with its code, and the command that goes on", async () => {
    const pid = join(folder, "pid");
    terminal = new Terminal(
      `${command('"hold"')
        .replace("chat -a", "chat -a")
        .replace(process.execPath, `exec ${process.execPath}`)
        .replace(/; echo.*/, "")} & echo $! > ${pid}; fg; echo "ended with $?"`.replace(/^/, "set -m; "),
    );
    await terminal.shows("Looking for trains.");
    process.kill(Number(readFileSync(pid, "utf8")), "SIGTERM");
    await terminal.shows("ended with 143");
  });
});

describe("chat and a server that is killed", { timeout: 120_000 }, () => {
  let home: Home;
  let terminal: Terminal;
  beforeAll(installTmux);
  beforeEach(() => {
    home = new Home();
    home.agent = fixture("counting");
  });
  afterEach(async () => {
    terminal.close();
    await home.leave();
  });

  it.each(["jsonrpc", "rest", "grpc"])(
    "goes on with the text after a kill -9, and shows it once (%s)",
    async (binding) => {
      const server = await home.start();
      const { port } = new URL(server.url);
      const flags = `-a 127.0.0.1:${port} --transport ${binding}`;
      terminal = new Terminal(`${process.execPath} ${main} chat "count 30 150" ${flags}`, { columns: 200 });
      await terminal.shows(/^1 2 3 4 5 /m);
      await server.kill();
      await terminal.shows("connection lost, resuming");
      await home.start("--port", port, "--grpc-port", `${server.grpcPort}`);
      await terminal.shows(/\n> *$/);
      const numbers = Array.from({ length: 30 }, (_, at) => at + 1).join(" ");
      expect(
        terminal
          .all()
          .split("\n")
          .filter((line) => line.startsWith("1 2 3")),
      ).toEqual([numbers]);
    },
  );
});

describe("chat in a pipe", () => {
  it("writes plain text, and ends quietly when its reader is gone", async () => {
    const server = await createServer({
      agent: agent as never,
      store: memoryStore(),
      host: "127.0.0.1",
      port: 0,
      grpcPort: 0,
    });
    try {
      const child = spawn("sh", [
        "-c",
        `${process.execPath} ${main} chat -a 127.0.0.1:${server.port} plan | head -1; echo done`,
      ]);
      let out = "";
      child.stdout.on("data", (chunk) => {
        out += chunk;
      });
      await new Promise((resolve) => child.on("close", resolve));
      expect(out).toBe("# Plan\ndone\n");
    } finally {
      await server.close({ graceMs: 0 });
    }
  });
});
