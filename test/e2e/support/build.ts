import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openDatabase } from "../../support/database.js";

export const root: string = fileURLToPath(new URL("../../..", import.meta.url));

/** A file of the build. Each build writes all files. */
const compiled = join(root, "dist", "src", "cli", "main.js");

/** Sources of `dist`. */
const sources = ["src", "contract", "gen", "examples/probe", "tools/build.mjs", "tools/lean.mjs", "package.json"];

let checked = false;

/**
 * Builds the command line and the example, unless the build is newer than all sources. A lock lets one of several test
 * files build while the others wait. It is a lock of a database file, because the system releases it when its holder
 * dies.
 */
export function build(): void {
  if (checked) return;
  mkdirSync(join(root, ".cache"), { recursive: true });
  const lock = openDatabase(join(root, ".cache", "build.db"), { timeoutMs: 120_000 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
    if (!isCompiled()) compile();
    checked = true;
  } finally {
    lock.close();
  }
}

function isCompiled(): boolean {
  return isYounger(compiled, sources);
}

/** True if a built file exists and is newer than all sources. */
export function isYounger(built: string, sources: readonly string[]): boolean {
  if (!existsSync(built)) return false;
  return statSync(built).mtimeMs > Math.max(...sources.map((path) => youngest(join(root, path))));
}

function compile(): void {
  try {
    execFileSync(process.execPath, ["tools/build.mjs"], { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    const { stderr } = error as { stderr?: Buffer };
    throw new Error(`The project cannot be built:\n${stderr?.toString() ?? String(error)}`, { cause: error });
  }
}

/** Time of the last change of a file or of the newest file in a folder, in milliseconds. */
function youngest(path: string): number {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => youngest(join(path, name))));
}
