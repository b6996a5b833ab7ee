import { type SpawnOptions, spawn } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../e2e/support/build.js";
import { openDatabase } from "../../support/database.js";

/** Where clients are installed; not under version control. */
export const cache: string = join(root, ".cache", "interop");

/** What a program printed, and how it ended. */
export interface Printed {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

/** Runs a program to its end, whatever that is. Rejects only when there is no such program. */
export function run(
  command: string,
  args: readonly string[],
  options: SpawnOptions & { input?: string } = {},
): Promise<Printed> {
  const { input, ...rest } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, ...rest, stdio: ["pipe", "pipe", "pipe"] });
    const output = { stdout: "", stderr: "" };
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output.stdout += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      output.stderr += text;
    });
    child.once("error", (cause) => reject(new Error(`${command} cannot be run: ${cause.message}`, { cause })));
    child.once("close", (code) => resolve({ ...output, code }));
    // A program that ends without reading what it is given is not at fault.
    child.stdin?.on("error", () => {});
    child.stdin?.end(input ?? "");
  });
}

/** Runs a program that has to succeed. */
export async function succeed(command: string, args: readonly string[], options: SpawnOptions = {}): Promise<string> {
  const { stdout, stderr, code } = await run(command, args, options);
  if (code === 0) return stdout;
  throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${stdout}${stderr}`);
}

/** Whether Debian packages can be installed here by whoever runs this. */
export function hasApt(): boolean {
  return process.getuid?.() === 0 && existsSync("/usr/bin/apt-get");
}

/** Installs a Debian package. */
export async function apt(name: string): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  await succeed("apt-get", ["update", "-qq"], { env });
  await succeed("apt-get", ["install", "-y", "-qq", "--no-install-recommends", name], { env });
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
  mkdirSync(cache, { recursive: true });
  // Nobody but who waits for it is held up: each test file has a thread or a process of its own.
  const lock = openDatabase(join(cache, `${name}.lock`), { timeoutMs: 600_000 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
    if (existsSync(complete)) return folder;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    await install(folder);
    writeFileSync(complete, "");
    return folder;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${name} cannot be installed. It needs ${needs}.\n${why}`, { cause });
  } finally {
    lock.close();
  }
}
