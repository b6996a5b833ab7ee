import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { main } from "../cli/cli.js";
import { build, root } from "../e2e/support/build.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { PostgresServer, programs } from "../store/postgres/server.js";
import { deployed, freePorts, nginxWith, program } from "./support/site.js";
import { installTmux, Terminal } from "./support/terminal.js";
import { apt, succeed } from "./support/tool.js";

// Three servers on one PostgreSQL behind nginx, as in docs/scaling.md.

const words = "Every event is stored before any caller sees it.".split(" ");

/** The agent of examples/recovery. It records the process that runs the turn. */
const agent = (folder: string): string => `
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { artifact } from ${JSON.stringify(join(root, "dist/src/index.js"))};
const words = ${JSON.stringify(words)};
export default {
  card: { name: "Sentence", description: "Says a sentence word by word.", version: "1.0.0" },
  recover: "restart",
  async *execute(turn) {
    writeFileSync(${JSON.stringify(join(folder, "turn"))}, String(process.pid));
    const said = turn.task?.artifacts[0]?.parts.length ?? 0;
    for (const word of words.slice(said)) {
      yield artifact({ name: "sentence", text: word + " ", append: true });
      await sleep(400, undefined, { signal: turn.signal });
    }
  },
};
`;

build();

const home = new Home("--idempotent-message-ids", "--drain-delay", "2s", "--trust-proxy", "loopback");
let database: PostgresServer;
let nginx: ChildProcess;
let url = "";
let grpcUrl = "";
const servers: { server: ServerProcess; ports: readonly string[] }[] = [];

beforeAll(async () => {
  if (programs() === undefined) await apt("postgresql");
  await program("nginx", "nginx", "-v");
  await installTmux();
  database = new PostgresServer(programs() ?? "");
  home.store = database.url;
  home.agent = join(home.folder, "agent.mjs");
  writeFileSync(home.agent, agent(home.folder));
  const [first, second] = [await freePorts(), await freePorts()];
  const http = [...first.http, second.http[0]];
  const grpc = [...first.grpc, second.grpc[0]];
  const { http1, http2 } = first.front;
  url = `http://127.0.0.1:${http1}`;
  grpcUrl = `127.0.0.1:${http2}`;
  const places = http.flatMap((port, at) => [
    [`agent-${at + 1}:8080`, `127.0.0.1:${port}`],
    [`agent-${at + 1}:50051`, `127.0.0.1:${grpc[at]}`],
  ]);
  const site = deployed("nginx/replicas.conf", {
    ...Object.fromEntries(places),
    "listen 8080;": `listen 127.0.0.1:${http1};`,
    "listen 50051 http2;": `listen 127.0.0.1:${http2} http2;`,
  });
  for (const [at, port] of http.entries()) {
    const ports = ["--port", `${port}`, "--grpc-port", `${grpc[at]}`, "--grpc-public-url", `127.0.0.1:${http2}`];
    servers.push({ server: await home.start(...ports), ports });
  }
  nginx = spawn("nginx", nginxWith(home.folder, site), { stdio: "inherit" });
}, 300_000);

afterAll(async () => {
  const exited = once(nginx, "exit");
  nginx.kill("SIGTERM");
  await exited;
  await home.leave();
  database.end();
});

/** The server that runs the turn. */
function working(): (typeof servers)[number] {
  const pid = Number(readFileSync(join(home.folder, "turn"), "utf8"));
  const found = servers.find(({ server }) => server.pid === pid);
  if (found === undefined) throw new Error(`No server has the process ${pid}.`);
  return found;
}

describe("three servers behind nginx", { timeout: 120_000 }, () => {
  it("answer on the ports of one", async () => {
    const ready = (): Promise<number> =>
      fetch(`${url}/readyz`).then(
        ({ status }) => status,
        () => 0,
      );
    await expect.poll(ready).toBe(200);
    const card = JSON.parse(await succeed("curl", ["-sS", "--max-time", "30", `${url}/.well-known/agent-card.json`]));
    const urls = card.supportedInterfaces.map((each: { url: string }) => each.url);
    expect(urls).toEqual(expect.arrayContaining([url, grpcUrl]));
    const sent = await succeed(process.execPath, [main, "send", "-q", "go", "-a", url, "--transport", "grpc"]);
    expect(sent).toContain(words.join(" "));
  });

  it("continue the text of a chat at a survivor when the server that streams it is killed", async () => {
    const chat = `${process.execPath} ${main} chat -a ${url} "go"; echo "ended with $?"`;
    const terminal = new Terminal(`cd ${home.folder} && HOME=${home.folder} ${chat}`);
    try {
      await terminal.shows("Every event is");
      const victim = working();
      await victim.server.kill();
      const survivors = servers.filter((each) => each !== victim);
      const tookOver = (): typeof servers =>
        survivors.filter(({ server }) => server.log.includes("took over interrupted tasks"));
      // The takeover follows the default lease of 15 seconds.
      await expect.poll(tookOver, { timeout: 60_000 }).toHaveLength(1);
      await terminal.shows(words.join(" "));
      expect(tookOver()).toEqual([working()]);
      victim.server = await home.start(...victim.ports);
      await terminal.shows(/sees it\.\s*\n+> *$/);
      expect(terminal.all().split("Every event")).toHaveLength(2);
      terminal.keys("C-d");
      await terminal.shows("ended with 0");
    } finally {
      terminal.close();
    }
  });

  it("show the same finished task, whichever of them answers", async () => {
    const listed = JSON.parse(await succeed("curl", ["-sS", "--max-time", "30", `${url}/tasks`]));
    const [{ id }] = listed.tasks;
    const read = servers.map(({ server }) => fetch(`${server.url}/tasks/${id}`).then((answer) => answer.json()));
    const tasks = (await Promise.all(read)) as { artifacts: { parts: { text: string }[] }[] }[];
    const text = tasks[0]?.artifacts[0]?.parts.map((part) => part.text).join("") ?? "";
    expect(text.trim()).toBe(words.join(" "));
    expect(tasks).toEqual([tasks[0], tasks[0], tasks[0]]);
  });
});
