import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { commandRows } from "../../../src/cli/a2a/commands.js";
import { build } from "../../e2e/support/build.js";
import { main, watch, workplaces } from "../cli.js";
import { openWorld, runIn, type World } from "./world.js";

/** Commands that call an agent, with the operands of a call. */
const calling: Readonly<Record<string, readonly string[]>> = {
  send: ["hi"],
  "send --stream": ["hi"],
  "task get": ["t1"],
  "task list": [],
  "task cancel": ["t1"],
  "task subscribe": ["t1"],
  "task download": ["t1"],
  "card get": [],
  call: ["GetTask", '{"id":"t1"}'],
  bench: ["--warmup", "50ms"],
  chat: ["hi"],
  record: ["RECORD", "hi"],
  replay: ["RECORDED"],
  doctor: [],
  ping: [],
  conformance: [],
  "task push-config create": ["t1", "https://example.org/"],
  "task push-config get": ["t1", "p1"],
  "task push-config list": ["t1"],
  "task push-config delete": ["t1", "p1"],
};

/** Commands that call no agent, or whose stalls other tests cover. */
const others: readonly string[] = [
  ...["listen", "auth login", "auth status", "auth logout", "config show", "completion", "version"],
  ...["agents add", "agents list", "agents show", "agents remove", "agents rename"],
];

const turn = { message: { role: "ROLE_USER", parts: [{ text: "hi" }] }, answer: { message: [], artifacts: [] } };
const recorded = `{"format":"parley-recording","version":1}\n${JSON.stringify(turn)}\n`;

/** Commands that read a stream. */
const streaming = ["send --stream", "task subscribe"];

const commandLines = Object.entries(calling).filter(([words]) =>
  commandRows.some((row) => words.startsWith(row.words)),
);

/** Stages at which an agent stalls. */
const stages = ["card", "card body", "headers", "body", "stream"] as const;
type Stage = (typeof stages)[number];

/** Answers up to a stage and then stalls. */
function stall(stage: Stage, port: number, isCard: boolean, response: ServerResponse): void {
  const url = `http://127.0.0.1:${port}`;
  const interfaces = [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }];
  const task = { id: "t1", contextId: "c1", status: { state: "TASK_STATE_WORKING" } };
  if (isCard && stage === "card") return;
  if (isCard) {
    response.writeHead(200, { "content-type": "application/json" });
    if (stage === "card body") return void response.write('{"name":');
    const card = {
      name: "Stalls",
      capabilities: { streaming: true, pushNotifications: true },
      supportedInterfaces: interfaces,
    };
    return void response.end(JSON.stringify(card));
  }
  if (stage === "headers") return;
  const isStream = stage === "stream";
  response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
  const event = JSON.stringify({ jsonrpc: "2.0", id: 1, result: { task } });
  response.write(isStream ? `data: ${event}\n\n` : event.slice(0, 20));
}

describe("an agent that stalls", { timeout: 60_000 }, () => {
  let server: Server | undefined;
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });

  /** Serves a stalling agent. @param onStall called when it stalls */
  async function stalling(stage: Stage, onStall: () => void): Promise<string> {
    const isCardStage = stage.startsWith("card");
    const own = createServer((request, response) => {
      const isCard = request.url?.includes("agent-card") === true;
      request.resume();
      stall(stage, (own.address() as AddressInfo).port, isCard, response);
      if (isCard === isCardStage) setTimeout(onStall, 20);
    }).listen(0, "127.0.0.1");
    server = own;
    await new Promise((resolve) => own.once("listening", resolve));
    return `127.0.0.1:${(own.address() as AddressInfo).port}`;
  }

  it("is tried by every command that calls agents", () => {
    const known = new Set([...Object.keys(calling), ...others]);
    expect(commandRows.map(({ words }) => words).filter((words) => !known.has(words))).toEqual([]);
  });

  const rows = commandLines.flatMap(([words, operands]) =>
    stages
      .filter((stage) => words !== "card get" || stage.startsWith("card"))
      .filter((stage) => stage !== "stream" || streaming.includes(words))
      .map((stage, at) => ({ words, operands, stage, signal: at % 2 === 0 ? "SIGINT" : "SIGTERM" })),
  );

  it.each(rows)("is left by $words at $signal, stalled at the $stage", async ({ words, operands, stage, signal }) => {
    const stop = new AbortController();
    const agent = await stalling(stage, () => stop.abort(signal));
    const { exit, out, err } = await runIn([...words.split(" "), "-a", agent, ...operands], {
      interrupted: stop.signal,
      files: { RECORDED: recorded },
    });
    expect(exit).toBe(signal === "SIGINT" ? 130 : 143);
    expect(err).toContain(`Error: ${signal} ended the wait.\nCode: PARLEY_ERR_INTERRUPTED\n`);
    expect(out).not.toContain("COMPLETED");
    if (words.startsWith("task ") && words !== "task list" && !words.includes("push-config")) {
      expect(err).toMatch(/^Task ID: t1$/m);
      expect(err).toMatch(/^Hint: parley task get .* t1 --wait$/m);
    }
  });

  // The other commands do not wait for a task, so only the timeout of their calls ends them.
  const waiting = commandLines.filter(([words]) =>
    ["send", "task subscribe", "chat", "record", "replay", "doctor", "ping", "conformance"].includes(words),
  );

  it.each(waiting)("is left by %s at --timeout, stalled at the card", async (words, operands) => {
    const agent = await stalling("card", () => {});
    const { exit, err } = await runIn([...words.split(" "), "-a", agent, "--timeout", "50ms", ...operands], {
      files: { RECORDED: recorded },
    });
    expect(exit).toBe(5);
    expect(err).toContain("Nothing more came within 50 ms (--timeout).\nCode: A2ACLI_ERR_TIMEOUT\n");
  });
});

build();
const place = workplaces();

/** Command lines with much output, with and without an agent. */
const printing: readonly (readonly string[])[] = [
  ["send", "-a", "AGENT", "hi"],
  ["send", "-a", "AGENT", "--stream", "stream 3"],
  ["send", "-a", "AGENT", "-o", "json", "hi"],
  ["task", "list", "-a", "AGENT"],
  ["card", "get", "-a", "AGENT"],
  ["bench", "-a", "AGENT", "--requests", "3", "--warmup", "0"],
  ["config", "show"],
  ["--help"],
  ["--version"],
];

describe("the output of a process", { timeout: 60_000 }, () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
    await world.run(["send", "-a", "AGENT", "hi"]);
  });
  afterAll(() => world.close());

  /** Runs a command line with a redirection in a shell. */
  function shell(script: string, argv: readonly string[]) {
    const words = argv.map((word) => word.replace("AGENT", `127.0.0.1:${world.server.port}`));
    return place.keep(watch(spawn("sh", ["-c", script, "sh", process.execPath, main, ...words], { cwd: place.path })));
  }

  it.skipIf(!existsSync("/dev/full")).each(printing)(
    "fails in one line without room: %s %s %s %s %s",
    async (...argv) => {
      const { exited, stderr } = shell('exec "$@" >/dev/full', argv);
      expect(await exited).toBe(1);
      expect(stderr().match(/^parley: stdout: ENOSPC.*$/gm)).toHaveLength(1);
    },
  );

  it.skipIf(!existsSync("/dev/full"))("does not fail for lack of room if nothing is written", async () => {
    const { exited, stderr } = shell('exec "$@" >/dev/full', ["send", "--bogus"]);
    expect(await exited).toBe(2);
    expect(stderr()).not.toContain("ENOSPC");
  });

  it.each(printing)("ends quietly with its reader, without colours: %s %s %s %s %s", async (...argv) => {
    const { exited, stdout, stderr } = shell('("$@"; echo "code $?" >&2) | head -n 1', argv);
    expect(await exited).toBe(0);
    expect(stderr()).toMatch(/code 0\n$/);
    expect(stderr()).not.toMatch(/EPIPE|Error/);
    expect(stdout() + stderr()).not.toContain("\u001b");
  });
});
