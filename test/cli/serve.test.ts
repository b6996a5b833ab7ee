import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import * as http from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { describeFirst, everyNth, itFirst } from "../support/cover.js";
import { openDatabase } from "../support/database.js";
import { fixture, probe, type Run, ready, type Served, workplaces } from "./cli.js";
import { send, stateOf } from "./sending.js";

const anyPort = ["--port", "0", "--grpc-port", "0"];
const json = { "content-type": "application/json" };

// Every test starts processes, which takes time on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

const place = workplaces();

const parley = (args: readonly string[], env?: Record<string, string>): Run => place.run(args, env);

const serve = (args: readonly string[] = [], env?: Record<string, string>): Promise<Served> =>
  ready(parley(["serve", probe, ...anyPort, ...args], env));

describeFirst("parley serve", () => {
  it("says where it listens and what to try, and that works", async () => {
    const server = await serve();
    const said = server.stdout();
    expect(said).toMatch(/^Probe 1\.0\.0 is ready\./);
    expect(said).toContain("JSON-RPC, HTTP+JSON, Connect, gRPC-Web, gRPC\n");
    expect(said).toContain(`Card   ${server.url}/.well-known/agent-card.json`);
    expect(said).toContain(`${server.grpcAddress} lf.a2a.v1.A2AService/SendMessage`);
    const [grpc, unary, streaming] = [...said.matchAll(/-d '(.*)'/g)].map(([, body = ""]) => body);
    const transport = createGrpcTransport({ baseUrl: `http://${server.grpcAddress}` });
    const { message } = JSON.parse(grpc ?? "") as { message: { messageId: string; parts: { text: string }[] } };
    const parts = message.parts.map(({ text }) => ({ content: { case: "text" as const, value: text } }));
    const { payload } = await createClient(A2AService, transport).sendMessage({
      message: { messageId: "1", role: 1, parts },
    });
    expect(payload.case).toBe("task");
    const post = (path: string, body = ""): Promise<Response> =>
      fetch(`${server.url}/${path}`, { method: "POST", headers: json, body });
    expect(await (await post("message:send", unary)).text()).toContain('"TASK_STATE_COMPLETED"');
    const events = await (await post("message:stream", streaming)).text();
    expect(events.match(/^data:/gm)?.length).toBeGreaterThan(5);
  });

  it("keeps tasks in parley.db, and finds them again", async () => {
    const first = await serve();
    const { id } = await send(first.url, "echo hello");
    first.child.kill("SIGTERM");
    expect(await first.exited).toBe(0);
    expect(existsSync(join(place.path, "parley.db"))).toBe(true);
    const second = await serve();
    expect(await stateOf(second.url, id)).toBe("TASK_STATE_COMPLETED");
  });

  it("takes every option from the environment, too", async () => {
    const env = { PARLEY_PUBLIC_URL: "https://example.org", PARLEY_CORS: "true", PARLEY_STORE: "memory" };
    const ports = { PARLEY_PORT: "0", PARLEY_GRPC_PORT: "off", PARLEY_CARD_GRPC: "url" };
    const server = await ready(parley(["serve", probe], { ...env, ...ports }));
    expect(server.grpcAddress).toBe("none");
    expect(server.stdout()).toContain(`curl ${server.url}/lf.a2a.v1.A2AService/SendMessage`);
    const response = await fetch(`${server.url}/.well-known/agent-card.json`, {
      headers: { origin: "https://a.example" },
    });
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(await response.text()).toContain('{"url":"https://example.org","protocolBinding":"GRPC"');
  });
});

describe("parley serve, when something is wrong,", () => {
  const refused = async (args: readonly string[], env?: Record<string, string>): Promise<string> => {
    const one = parley(args, env);
    expect({ args, code: await one.exited, stdout: one.stdout() }).toEqual({ args, code: 2, stdout: "" });
    expect(one.stderr().trimEnd().split("\n")).toHaveLength(1);
    return one.stderr();
  };
  const quiet = ["--log-level", "silent"];

  const options: [string[], string | RegExp, Record<string, string>?][] = [
    [["serve", probe, "--nonsense"], "parley: unknown option '--nonsense'"],
    [["serve"], "missing required argument 'module'"],
    [["tasks", "get", "t1"], "parley: unknown command 'get' (Did you mean task get?)\n"],
    [["serve", probe, "--port", "x"], "'--port <number>' argument 'x' is invalid"],
    [["serve", probe], "from env 'PARLEY_GRPC_PORT'", { PARLEY_GRPC_PORT: "65536" }],
    [["serve", probe, "--log-level", "loud"], "Allowed choices are"],
    [["serve", probe, "--tls-cert", "x"], "TLS needs both --tls-cert and --tls-key"],
    [["serve", probe, "--tls-ca", "x"], "TLS needs both --tls-cert and --tls-key"],
    [["serve", probe, "--tls-cert", "x", "--tls-key", "y"], "cannot read x"],
    [
      ["serve", probe, "--cors", "example.org", "--trust-proxy", "nobody", "--public-url", "x", ...quiet],
      /trustProxy.*cors.*publicUrl/,
    ],
    [["serve", probe], 'PARLEY_SHARED is "maybe", not true or false', { PARLEY_SHARED: "maybe" }],
  ];
  it("names an option in one line", async () => {
    const typed = everyNth(options, 3);
    const said = await Promise.all(typed.map(([args, , env]) => refused(args, env)));
    for (const [i, line] of said.entries()) expect(line).toMatch(typed[i]?.[1] ?? "");
  });

  it.skipIf(process.platform === "win32")("names a pipe in place of a file, which it does not wait for", async () => {
    spawnSync("mkfifo", [join(place.path, "pipe")]);
    const tls = ["--tls-cert", "pipe", "--tls-key", "pipe"];
    const admin = ["--admin", "127.0.0.1:0", "--admin-tokens", "pipe"];
    const said = await Promise.all([tls, admin].map((flags) => refused(["serve", probe, ...flags, ...quiet])));
    expect(said).toEqual([expect.stringContaining("pipe is not a file"), expect.stringContaining("it is not a file")]);
  });

  it("names a module", async () => {
    writeFileSync(join(place.path, "agent.unknown"), "");
    const all: [string, string][] = [
      ["nowhere.js", "the agent module nowhere.js does not exist"],
      [fixture("none"), "exports no agent"],
      [fixture("broken"), "cannot be loaded: the module has a fault"],
      ["agent.unknown", "it is not JavaScript"],
      [fixture("invalid-card"), "parley: Invalid agent: card.name is empty; card.description is empty\n"],
    ];
    const modules = everyNth(all, 2);
    const said = await Promise.all(modules.map(([module]) => refused(["serve", module, ...quiet])));
    for (const [i, line] of said.entries()) expect(line).toContain(modules[i]?.[1]);
  });

  itFirst("names a port that is taken", async () => {
    const server = http.createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.on("listening", resolve));
    const { port } = server.address() as { port: number };
    const taken = `Cannot listen: port ${port} on 127.0.0.1 is already in use`;
    expect(await refused(["serve", probe, "--port", `${port}`, "--grpc-port", "0", ...quiet])).toContain(taken);
    expect(await refused(["serve", probe, "--port", "0", "--grpc-port", `${port}`, ...quiet])).toContain(taken);
    server.close();
  });

  itFirst("names a store that cannot be used", async () => {
    writeFileSync(join(place.path, "damaged.db"), "this is no database, and was never one".repeat(10));
    expect(await refused(["serve", probe, ...anyPort, "--store", "damaged.db"])).toContain("damaged.db is damaged");
    const first = await serve();
    first.child.kill("SIGTERM");
    await first.exited;
    const db = openDatabase(join(place.path, "parley.db"));
    db.pragma("user_version = 99");
    db.close();
    expect(await refused(["serve", probe, ...anyPort])).toContain("its schema is version 99");
    expect(await refused(["serve", probe, ...anyPort, "--store", "no/such/dir.db"])).toContain("does not exist");
  });
});

describeFirst("parley", () => {
  it("prints its version and its commands", async () => {
    const { version } = createRequire(import.meta.url)("../../package.json") as { version: string };
    const one = parley(["--version"]);
    expect([await one.exited, one.stdout()]).toEqual([0, `${version}\n`]);
    const help = parley(["serve", "--help"]);
    expect(await help.exited).toBe(0);
    for (const name of ["--port", "PARLEY_PORT", "--store", "parley.db"]) expect(help.stdout()).toContain(name);
  });
});
