import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach } from "vitest";

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

const root = at("");
/** The built command line. */
export const main: string = at("dist/src/cli/main.js");

/** The agent that `npm start` serves. */
export const probe: string = at("dist/examples/probe/agent.js");

/** Path of an agent module of the tests. */
export const fixture = (name: string): string => at(`test/fixtures/agents/${name}.mjs`);

/** A running or finished command line. */
export interface Run {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Exit code, or the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals>;
}

/** Runs the built command line in a directory. */
export function run(args: readonly string[], cwd: string, env: Record<string, string> = {}): Run {
  if (!existsSync(main)) throw new Error("The command line is tested as it is built: npm run build first.");
  return watch(spawn(process.execPath, [main, ...args], { cwd, env: { PATH: process.env.PATH ?? "", ...env } }));
}

/** Runs `npm start` without its build. */
export function npmStart(args: readonly string[]): Run {
  return watch(spawn("npm", ["start", "--ignore-scripts", "--", ...args], { cwd: root }));
}

/** Collects the output of a process. */
export function watch(child: ChildProcess): Run {
  let [stdout, stderr] = ["", ""];
  child.stdout?.on("data", (chunk) => (stdout += String(chunk)));
  child.stderr?.on("data", (chunk) => (stderr += String(chunk)));
  const exited = new Promise<number | NodeJS.Signals>((resolve) => {
    child.on("close", (code, signal) => resolve(code ?? signal ?? 0));
  });
  return { child, exited, stdout: () => stdout, stderr: () => stderr };
}

/** A server that the command line started. */
export interface Served extends Run {
  readonly url: string;
  readonly grpcAddress: string;
}

/** Waits until a server prints its addresses. */
export async function ready(started: Run): Promise<Served> {
  let over = false;
  void started.exited.then(() => (over = true));
  while (!started.stdout().includes("Try it:")) {
    if (over) throw new Error(`It ended instead: ${started.stderr()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const [, url = ""] = /^ *HTTP +(\S+)/m.exec(started.stdout()) ?? [];
  const [, grpcAddress = ""] = /^ *gRPC +(\S+)/m.exec(started.stdout()) ?? [];
  return { ...started, url, grpcAddress };
}

/** A directory that is removed when `clean` is called. */
export function workplace(): { path: string; clean: () => void } {
  const path = mkdtempSync(join(tmpdir(), "parley-cli-"));
  return { path, clean: () => rmSync(path, { recursive: true, force: true }) };
}

/** The directory and the processes of a test. */
export interface Workplace {
  readonly path: string;
  /** Runs the built command line in the directory. The end of the test kills it. */
  run(args: readonly string[], env?: Record<string, string>): Run;
  /** Kills the process when the test ends. */
  keep<R extends Run>(run: R): R;
}

/** Creates a directory for each test of a file. The end of the test removes the directory and kills its processes. */
export function workplaces(): Workplace {
  let current = { path: "", clean: (): void => {} };
  const started: Run[] = [];
  const keep: Workplace["keep"] = (one) => {
    started.push(one);
    return one;
  };
  beforeEach(() => {
    current = workplace();
  });
  afterEach(async () => {
    for (const { child, exited } of started.splice(0)) {
      child.kill("SIGKILL");
      await exited;
    }
    current.clean();
  });
  return {
    get path() {
      return current.path;
    },
    run: (args, env) => keep(run(args, current.path, env)),
    keep,
  };
}
