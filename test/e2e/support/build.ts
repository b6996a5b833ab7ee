import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openDatabase } from "../../support/database.js";

/** The repository. */
export const root: string = fileURLToPath(new URL("../../..", import.meta.url));

/** A file of each build, all of which are written every time. */
const compiled = join(root, "dist", "src", "cli", "main.js");

/** What ends up in `dist`, and how. */
const sources = ["src", "contract", "gen", "examples/probe", "tools/build.mjs", "tools/lean.mjs", "package.json"];

let checked = false;

/**
 * Builds the command line and the example, unless all that was built is younger than its sources. Several test
 * files may ask for it at the same time: a lock lets one of them do it while the others wait. The lock is that of a
 * database file, because the system lifts it when its holder dies.
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

/** True if a built file exists and is younger than all sources. */
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

/** When a file, or the youngest file in a folder, was changed last, in milliseconds. */
function youngest(path: string): number {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => youngest(join(path, name))));
}
