import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Options } from "../options.js";
import { Attacker, Caller, Load, TestServer } from "./child.js";
import type { Bench } from "./scenario.js";

const BENCH = join(import.meta.dirname, "..");
const ROOT = join(BENCH, "..");

/** Where files are while something is measured: on the disk, not in the system's directory, which may be memory. */
export const SCRATCH: string = join(BENCH, "results", "tmp");
mkdirSync(SCRATCH, { recursive: true });

/** Compiles the servers and the load generator. @param root of a tree of the project, this one or another */
export function compile(root: string = ROOT): void {
  const compiler = join(ROOT, "node_modules", ".bin", "tsc");
  const { status } = spawnSync(compiler, ["-p", join(root, "bench", "tsconfig.json")], { stdio: "inherit" });
  if (status !== 0) throw new Error("the build failed");
}

/** Compiles the measured code. */
export function build(): void {
  compile();
  // The command line is measured as the bundle of the package.
  const bundled = spawnSync(process.execPath, [join(ROOT, "tools", "build.mjs")], { stdio: "inherit" });
  if (bundled.status !== 0) throw new Error("the build failed");
}

/** Does something with servers, files and a load generator of its own, and ends and removes them. */
export async function withBench<T>(options: Options, work: (bench: Bench) => Promise<T>): Promise<T> {
  const load = await Load.start();
  const servers: (TestServer | Attacker | Caller)[] = [];
  const directory = mkdtempSync(join(SCRATCH, "run-"));
  let files = 0;
  const bench: Bench = {
    options,
    load,
    async start(program, ...args) {
      const server = await TestServer.start(program, args);
      servers.push(server);
      return server;
    },
    async attacker() {
      const attacker = await Attacker.start();
      servers.push(attacker);
      return attacker;
    },
    async caller(...args) {
      const caller = await Caller.start(args);
      servers.push(caller);
      return caller;
    },
    directory,
    database: () => join(directory, `${files++}.db`),
  };
  try {
    return await work(bench);
  } finally {
    await Promise.all([...servers, load].map((child) => child.end()));
    rmSync(directory, { recursive: true });
  }
}
