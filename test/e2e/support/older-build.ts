import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { openDatabase } from "../../support/database.js";
import { root } from "./build.js";

/** The last commit that writes version 13 of the file, from which the current program upgrades. */
const COMMIT = "17592eed9ed7bcf0a34ee5a913288ed565317202";

/** True if the clone has the commit. A shallow clone does not. */
export const hasOlder: boolean =
  spawnSync("git", ["cat-file", "-e", `${COMMIT}^{commit}`], { cwd: root, stdio: "ignore" }).status === 0;

/**
 * Builds the program of that commit with the current packages, unless an earlier run has done so. @returns its folder
 */
export function buildOlder(): string {
  const folder = join(root, ".cache", "older", COMMIT);
  mkdirSync(join(root, ".cache", "older"), { recursive: true });
  const lock = openDatabase(join(root, ".cache", "older", "build.db"), { timeoutMs: 120_000 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
    const complete = join(folder, "dist", "complete");
    if (existsSync(complete)) return folder;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    const archive = execFileSync("git", ["archive", COMMIT], { cwd: root, maxBuffer: 2 ** 28 });
    execFileSync("tar", ["-x", "-C", folder], { input: archive });
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    execFileSync(process.execPath, ["tools/build.mjs"], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
    mkdirSync(complete);
    return folder;
  } finally {
    lock.close();
  }
}
