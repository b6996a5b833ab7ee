import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Binding } from "../../../src/client/index.js";
import { root } from "../../e2e/support/build.js";
import { Home } from "../../e2e/support/server-process.js";
import { javaClass, javaProject } from "./java.js";
import { pythonEnvironment, pythonWith } from "./python.js";
import { cache, persistently, succeed } from "./tool.js";

/** Folder of equal agents, each served with another library. The first word of a message selects the action. */
const folder = join(root, "test", "interop", "servers");

/** The key that callers of a guarded server send in the header `X-Api-Key`, as its card says. */
export const KEY = "key-of-the-tests-0123456789abcdef";

/** A running server. */
export interface Started {
  readonly url: string;
  stop(): Promise<unknown>;
}

/** Timeout for a server to become ready, in milliseconds. */
const READY_MS = 60_000;

/** Starts a program that prints its URL when it is ready. */
export async function started(command: string, args: readonly string[]): Promise<Started> {
  const env = { ...process.env, ...pythonEnvironment };
  const child: ChildProcess = spawn(command, args, { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] });
  const kill = (): boolean => child.kill("SIGKILL");
  const late = setTimeout(kill, READY_MS);
  process.once("exit", kill);
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`${command} ended with ${code} before it was ready.`)));
    child.stdout?.setEncoding("utf8").once("data", (text: string) => resolve(text.trim()));
  });
  clearTimeout(late);
  return {
    url,
    stop: () => {
      process.off("exit", kill);
      kill();
      return ended;
    },
  };
}

/** Starts a server. A guarded one requires the key and sends push notifications, even to this machine. */
type Start = (guarded?: { readonly pushPort: number }) => Promise<Started>;

const mode = (guarded: object | undefined): string[] => (guarded === undefined ? [] : [KEY]);

/** Each server, by its name and version. */
export const servers: Readonly<Record<string, Start>> = {
  Parley: async (guarded) => {
    const push = [
      "--push",
      "--push-allow-http",
      "--push-allow",
      "127.0.0.1",
      "--push-ports",
      String(guarded?.pushPort),
    ];
    const home = new Home(...(guarded === undefined ? [] : push));
    if (guarded !== undefined) home.agent = join(folder, "parley.mjs");
    const { url } = await home.start();
    return { url, stop: () => home.leave() };
  },
  "@a2a-js/sdk 1.3": (guarded) =>
    started(process.execPath, ["--import", "tsx", join(folder, "js.ts"), ...mode(guarded)]),
  "a2a-sdk 1.3 (Python)": async (guarded) => {
    const requirements = join(folder, "python", "requirements.txt");
    const python = await pythonWith("python-a2a-sdk-1.3.0-server", requirements);
    return started(python, [join(folder, "python", "server.py"), ...mode(guarded)]);
  },
  "a2a-go 2.3": async (guarded) => {
    mkdirSync(join(cache, "servers"), { recursive: true });
    const program = join(cache, "servers", guarded === undefined ? "go" : "go-guarded");
    await persistently(() => succeed("go", ["build", "-o", program, "."], { cwd: join(folder, "go") }));
    return started(program, mode(guarded));
  },
};

/** Servers without a guard and without some bindings. */
export const plainServers: Readonly<Record<string, { bindings: readonly Binding[]; start(): Promise<Started> }>> = {
  // The library's gRPC serves a draft, `a2a.v1.A2AService`.
  "a2a-java-sdk 1.0.0.Alpha3": {
    bindings: ["JSONRPC", "HTTP+JSON"],
    start: async () => {
      const project = await javaProject({ name: "java-sdk-1.0.0.Alpha3-server-1", from: join(folder, "java") });
      return started("java", javaClass(project, "Main"));
    },
  },
};

/** All servers without a guard. */
export const allServers: Readonly<Record<string, () => Promise<Started>>> = {
  ...Object.fromEntries(Object.entries(plainServers).map(([name, { start }]) => [name, start])),
  ...Object.fromEntries(Object.entries(servers).map(([name, start]) => [name, () => start()])),
};
