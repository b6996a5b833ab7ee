import { type SpawnOptions, spawn } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hold } from "../../../tools/hold.mjs";
import { root } from "../../e2e/support/build.js";

/** Folder of installed clients. It is not under version control. */
export const cache: string = join(root, ".cache", "interop");

/** Timeout of a program in milliseconds, enough for downloads and compilation. */
const PROGRAM_MS = 240_000;

/** Timeout for the installation of a Debian package, which should not be interrupted. */
const APT_MS = 480_000;

/**
 * Time in milliseconds after which failed actions are not retried, so that the last attempt ends within a hook's limit.
 */
const AGAIN_MS = 300_000;

/** Output and exit code of a program. */
export interface Printed {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

export interface RunOptions extends SpawnOptions {
  readonly input?: string;
  /** Time in milliseconds after which the program is killed. */
  readonly limitMs?: number;
}

/**
 * Runs a program to its end and returns its result, whatever its exit code. Rejects if the program does not exist.
 * Kills the program with its children and rejects if it exceeds the limit, by default four minutes.
 */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Printed> {
  const { input, limitMs = PROGRAM_MS, ...rest } = options;
  return new Promise((resolve, reject) => {
    // The program leads a process group, so that a kill reaches its children.
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
    // A program may end without reading its input.
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

/** Retries an action that uses a registry, up to three times unless that takes minutes. */
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

/** True if this user can install Debian packages here. */
export function hasApt(): boolean {
  return process.getuid?.() === 0 && existsSync("/usr/bin/apt-get");
}

/** Installs a Debian package. Waits for other installations, because only one may run at a time. */
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

/** Instructions to install a client. */
export interface Installation {
  /** Name with versions. It identifies the installation. */
  readonly name: string;
  /** Requirements of the machine, for the error message. */
  readonly needs: string;
  /** Installs into an empty folder. */
  readonly install: (folder: string) => Promise<void>;
}

/**
 * The folder of a client. Installs the client unless an earlier run did. If several test files request it at the same
 * time, the first one installs it and the others wait.
 *
 * @throws an error that names the missing requirement. A client that cannot be installed fails its tests.
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
