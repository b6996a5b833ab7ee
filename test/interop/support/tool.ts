import { type SpawnOptions, spawn } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hold } from "../../../tools/hold.mjs";
import { root } from "../../e2e/support/build.js";

/** Where clients are installed; not under version control. */
export const cache: string = join(root, ".cache", "interop");

/** What no program takes, in milliseconds, also one that downloads and compiles: it has hung then. */
const PROGRAM_MS = 240_000;

/** The same of the installation of a Debian package, which is better not ended in the middle. */
const APT_MS = 480_000;

/** After this time, in milliseconds, nothing that failed is tried again: with one more it stays below the limit of a hook. */
const AGAIN_MS = 300_000;

/** What a program printed, and how it ended. */
export interface Printed {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

/** How a program is run. */
export interface RunOptions extends SpawnOptions {
  readonly input?: string;
  /** It is killed when it has not ended after so many milliseconds. */
  readonly limitMs?: number;
}

/**
 * Runs a program to its end, whatever that is. Rejects when there is no such program, and when it has not ended in time (four minutes,
 * unless the options say otherwise): then it is killed, with those that it started.
 */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Printed> {
  const { input, limitMs = PROGRAM_MS, ...rest } = options;
  return new Promise((resolve, reject) => {
    // It leads a group, so that nothing of it stays when it has to be killed.
    const child = spawn(command, args, { cwd: root, detached: true, ...rest, stdio: ["pipe", "pipe", "pipe"] });
    const output = { stdout: "", stderr: "" };
    const kill = (): void => {
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    };
    const late = setTimeout(() => {
      kill();
      const printed = `${output.stdout}${output.stderr}`;
      reject(new Error(`${command} ${args.join(" ")} did not end within ${limitMs / 1000} s:\n${printed}`));
    }, limitMs);
    process.once("exit", kill);
    const over = (): void => {
      clearTimeout(late);
      process.off("exit", kill);
    };
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output.stdout += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      output.stderr += text;
    });
    child.once("error", (cause) => {
      over();
      reject(new Error(`${command} cannot be run: ${cause.message}`, { cause }));
    });
    child.once("close", (code) => {
      over();
      resolve({ ...output, code });
    });
    // A program that ends without reading what it is given is not at fault.
    child.stdin?.on("error", () => {});
    child.stdin?.end(input ?? "");
  });
}

/** Runs a program that has to succeed. */
export async function succeed(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { stdout, stderr, code } = await run(command, args, options);
  if (code === 0) return stdout;
  throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${stdout}${stderr}`);
}

/** Does what asks a registry, which fails at times: three times, unless that takes minutes. */
export async function persistently<T>(act: () => Promise<T>): Promise<T> {
  const begin = performance.now();
  for (let attempt = 1; ; attempt++) {
    try {
      return await act();
    } catch (error) {
      if (attempt === 3 || performance.now() - begin > AGAIN_MS) throw error;
      await sleep(attempt * 3_000);
    }
  }
}

/** Whether Debian packages can be installed here by whoever runs this. */
export function hasApt(): boolean {
  return process.getuid?.() === 0 && existsSync("/usr/bin/apt-get");
}

/** Installs a Debian package, one at a time; waits for whoever else installs one. */
export async function apt(name: string): Promise<void> {
  const options = { env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" }, limitMs: APT_MS };
  const patient = [
    "-qq",
    "-o",
    "Acquire::Retries=3",
    "-o",
    "Acquire::http::Timeout=30",
    "-o",
    "DPkg::Lock::Timeout=180",
  ];
  const release = await hold(join(cache, "apt.pid"));
  try {
    await persistently(async () => {
      await succeed("apt-get", [...patient, "update"], options);
      await succeed("apt-get", [...patient, "install", "-y", "--no-install-recommends", name], options);
    });
  } finally {
    release();
  }
}

/** How a client is installed. */
export interface Installation {
  /** Name with versions: another one is another installation. */
  readonly name: string;
  /** What the machine has to have for it, as somebody who lacks it should read it. */
  readonly needs: string;
  /** Installs into a folder that is empty. */
  readonly install: (folder: string) => Promise<void>;
}

/**
 * The folder of a client, which is installed unless it is there from an earlier run. Several test files may ask for the
 * same one at the same time: the first installs it, the others wait.
 *
 * @throws an error that says what is missing: a client that cannot be installed is a failure, not a test less.
 */
export async function installed({ name, needs, install }: Installation): Promise<string> {
  const folder = join(cache, name);
  const complete = join(folder, ".complete");
  const release = await hold(join(cache, `${name}.pid`));
  try {
    if (existsSync(complete)) return folder;
    await persistently(async () => {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { recursive: true });
      await install(folder);
    });
    writeFileSync(complete, "");
    return folder;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${name} cannot be installed. It needs ${needs}.\n${why}`, { cause });
  } finally {
    release();
  }
}
