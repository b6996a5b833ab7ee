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

/** An agent module of the tests. */
export const fixture = (name: string): string => at(`test/fixtures/agents/${name}.mjs`);

/** A command line that runs or ran. */
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

/** Runs `npm start` as people do, but for the build that comes before. */
export function npmStart(args: readonly string[]): Run {
  return watch(spawn("npm", ["start", "--ignore-scripts", "--", ...args], { cwd: root }));
}

/** Collects what a process says. */
export function watch(child: ChildProcess): Run {
  let [stdout, stderr] = ["", ""];
  child.stdout?.on("data", (chunk) => (stdout += String(chunk)));
  child.stderr?.on("data", (chunk) => (stderr += String(chunk)));
  const exited = new Promise<number | NodeJS.Signals>((resolve) => {
    child.on("close", (code, signal) => resolve(code ?? signal ?? 0));
  });
  return { child, exited, stdout: () => stdout, stderr: () => stderr };
}

/** A server that was started by the command line. */
export interface Served extends Run {
  readonly url: string;
  readonly grpcAddress: string;
}

/** Waits until a server says where it listens. */
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

/** What a test has for itself. */
export interface Workplace {
  readonly path: string;
  /** Runs the built command line in the directory, until the test is over. */
  run(args: readonly string[], env?: Record<string, string>): Run;
  /** Ends it when the test is over. */
  keep<R extends Run>(run: R): R;
}

/** A directory for each test of a file. What is left of it, and what runs in it, ends with the test. */
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
