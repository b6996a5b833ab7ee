import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { build } from "esbuild";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { greeter } from "../../examples/frameworks/agent.js";
import { createServer as createAgentServer } from "../../src/server/create-server.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { root } from "../e2e/support/build.js";
import { freePort } from "../support/free-port.js";
import { installed, succeed } from "./support/tool.js";

/* The examples of frameworks and runtimes. Each runs unchanged in the real framework, as installed from npm. */

let folder: string;
/** Folder in which the examples run, so that they find packages. */
let examples: string;

beforeAll(async () => {
  folder = await installed({
    name: "frameworks-1",
    needs: "npm and access to its registry",
    install: async (into) => {
      for (const file of ["package.json", "package-lock.json"])
        cpSync(join(root, "test/interop/frameworks", file), join(into, file));
      // The programs of Bun and Deno are in a package for each system, and the lock file may lack some of these. So
      // this is not `npm ci`. It installs the same versions of everything else.
      await succeed("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: into });
      symlinkSync(root, join(into, "node_modules", "parley-a2a"), "junction");
    },
  });
  examples = join(folder, "examples");
  rmSync(examples, { recursive: true, force: true });
  mkdirSync(examples);
  cpSync(join(root, "examples/frameworks"), examples, { recursive: true });
});

/** Path of a program in the package for this system. */
function program(scope: string, ...path: readonly string[]): string {
  const [name = ""] = readdirSync(join(folder, "node_modules", scope));
  return join(folder, "node_modules", scope, name, ...path);
}

/** Compiles a TypeScript example with decorators for Node.js. */
async function compiled(name: string): Promise<string> {
  const outfile = join(examples, `${name}.mjs`);
  await build({
    entryPoints: [join(examples, `${name}.ts`)],
    outfile,
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
  });
  return outfile;
}

interface Host {
  readonly url: string;
  /** Ends the host as an orchestrator does. Returns its exit code and standard error. */
  stop(): Promise<{ code: number | null; stderr: string }>;
}

let running: Host | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

const say = (text: string): object => ({ messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] });

/** Runs a program that prints its port. */
async function host(command: string, args: readonly string[], cwd = examples): Promise<Host> {
  const child: ChildProcess = spawn(command, args, { cwd, env: { ...process.env, PORT: "0" } });
  const ended = once(child, "exit");
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (text) => (stdout += String(text)));
  child.stderr?.on("data", (text) => (stderr += String(text)));
  const stop: Host["stop"] = async () => {
    if (child.exitCode === null) child.kill("SIGTERM");
    const [code] = (await ended) as [number | null];
    return { code, stderr };
  };
  running = { url: "", stop };
  const port = (): string | undefined => /listening on (\d+)|localhost:(\d+)/.exec(stdout)?.slice(1).find(Boolean);
  await expect
    .poll(() => port() ?? (child.exitCode === null ? undefined : stderr), { timeout: 60_000 })
    .toMatch(/^\d+$/);
  running = { url: `http://localhost:${port()}`, stop };
  return running;
}

const json = { "content-type": "application/json", "a2a-version": "1.0" };

const post = (url: string, body: unknown, init: RequestInit = {}): Promise<Response> =>
  fetch(url, { method: "POST", headers: json, body: JSON.stringify(body), ...init });

interface Card {
  readonly name: string;
  readonly supportedInterfaces: readonly { readonly url: string; readonly protocolVersion: string }[];
}

/** Checks all parts of an agent below a path of a host, and the host's own routes. */
async function expectServed(url: string, path: string): Promise<void> {
  const base = url + path;
  for (const place of [url, base]) {
    const headers = { "A2A-Version": "1.0" };
    const card = (await (await fetch(`${place}/.well-known/agent-card.json`, { headers })).json()) as Card;
    expect(card.name).toBe("Greeter");
    const all = card.supportedInterfaces;
    expect(all.filter(({ protocolVersion }) => protocolVersion === "1.0")).toHaveLength(3);
    expect(new Set(all.map(({ url }) => url))).toEqual(new Set([base]));
  }
  const params = { message: say("Ann") };
  const greeting = { artifacts: [{ parts: [{ text: "Hello " }, { text: "Ann!" }] }] };
  const done = { ...greeting, status: { state: "TASK_STATE_COMPLETED" } };
  const answer = await post(base, { jsonrpc: "2.0", id: 7, method: "SendMessage", params });
  expect(await answer.json()).toMatchObject({ id: 7, result: { task: done } });
  const stream = await post(`${base}/message:stream`, { message: say("Ann") });
  expect(stream.headers.get("content-type")).toContain("text/event-stream");
  expect((await stream.text()).match(/"(task|artifactUpdate|statusUpdate)":/g)).toEqual([
    '"task":',
    '"artifactUpdate":',
    '"artifactUpdate":',
    '"statusUpdate":',
  ]);
  await expectLeft(base);
  expect(await (await fetch(url)).text()).toBe("An app of its own.");
  for (const method of ["GET", "POST"]) expect((await fetch(`${url}/nowhere`, { method })).status).toBe(404);
}

/** Checks that a task continues after its reader has left, and that another request cancels it. */
async function expectLeft(base: string): Promise<void> {
  const leave = new AbortController();
  const stream = await post(`${base}/message:stream`, { message: say("Godot") }, { signal: leave.signal });
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  let read = "";
  while (!read.includes("Godot!")) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`it ended: ${read}`);
    read += value;
  }
  leave.abort();
  await expect(reader.read()).rejects.toThrow();
  const id = /"taskId":"([^"]+)"/.exec(read)?.[1];
  const task = await (await fetch(`${base}/tasks/${id}`, { headers: json })).json();
  expect(task).not.toMatchObject({ status: { state: "TASK_STATE_CANCELED" } });
  const canceled = await (await post(`${base}/tasks/${id}:cancel`, {})).json();
  expect(canceled).toMatchObject({ id, status: { state: "TASK_STATE_CANCELED" } });
}

/** Path of the program that runs workers of the folder. */
const workerd = join(root, "test/interop/frameworks/workerd.mjs");

describe("an agent is embedded in", () => {
  it("Hono", async () => {
    const { url, stop } = await host(process.execPath, [await compiled("hono")]);
    await expectServed(url, "/agents");
    // A reader that leaves causes no error output.
    expect(await stop()).toEqual({ code: 0, stderr: "" });
  });

  it("NestJS, whose controllers get what is theirs", async () => {
    const { url, stop } = await host(process.execPath, [await compiled("nest")]);
    await expectServed(url, "");
    expect(await (await post(`${url}/own`, { a: 1 })).json()).toEqual({ own: true });
    expect((await stop()).stderr).toBe("");
  });

  it("Bun", async () => {
    const { url, stop } = await host(program("@oven", "bin", "bun"), ["run", "bun.ts"]);
    await expectServed(url, "/agents");
    expect((await stop()).stderr).toBe("");
  });

  it("Deno", async () => {
    const { url, stop } = await host(program("@deno", "deno"), ["run", "--allow-all", "--no-check", "deno.ts"]);
    await expectServed(url, "/agents");
    expect((await stop()).stderr).not.toContain("Error");
  });

  it("Cloudflare's workerd, in a Durable Object", async () => {
    const { url } = await host(
      process.execPath,
      [workerd, "examples/workerd.ts", "2025-09-01", "nodejs_compat"],
      folder,
    );
    await expectServed(url, "/agents");
  });

  it("Next.js, in a route handler", async () => {
    const next = join(folder, "node_modules/next/dist/bin/next");
    const args = ["dev", "--port", `${await freePort()}`];
    const { url } = await host(process.execPath, [next, ...args], join(examples, "next"));
    // The framework compiles each route on its first request.
    for (const path of ["/", "/.well-known/agent-card.json", "/agents/.well-known/agent-card.json"]) {
      expect((await fetch(url + path)).status).toBe(200);
    }
    await expectServed(url, "/agents");
  }, 300_000);
});

describe("the client in Cloudflare's workerd", () => {
  // The fetch of workers before 2024-11-11 does not know `cache`.
  it.each(["2025-09-01 nodejs_compat", "2025-09-01", "2023-01-01"])("of %s", async (dateAndFlags) => {
    const script = "client-worker.mjs";
    cpSync(join(root, "test/interop/frameworks", script), join(folder, script));
    const server = await createAgentServer({
      agent: greeter,
      store: memoryStore(),
      host: "127.0.0.1",
      port: 0,
      grpcPort: 0,
    });
    const cutting = createServer((socket) => socket.once("data", () => socket.destroy())).listen(0, "127.0.0.1");
    try {
      await once(cutting, "listening");
      const { port } = cutting.address() as AddressInfo;
      const { url } = await host(process.execPath, [workerd, script, ...dateAndFlags.split(" ")], folder);
      const query = new URLSearchParams({ agent: server.url, cut: `http://127.0.0.1:${port}` });
      const answer = { text: "Hello Ann!", kinds: ["task", "artifact", "artifact", "status"] };
      const said = {
        answers: { JSONRPC: answer, "HTTP+JSON": answer, CONNECT: answer, "GRPC-WEB": answer },
        cut: "UNAVAILABLE",
        again: "Hello Ann!",
        made: ["function", "object"],
      };
      // The second request uses the client that the first one created.
      for (const _ of [1, 2]) expect(await (await fetch(`${url}/?${query}`)).json()).toEqual(said);
    } finally {
      cutting.close();
      await server.close();
    }
  });
});
