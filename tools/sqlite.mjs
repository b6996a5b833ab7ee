/**
 * Installs better-sqlite3 where this Node.js has no SQLite of its own, before the first build. It is no dependency of
 * the first install, because npm 10 runs the install script of every package: who has a newer Node.js would wait for a
 * compiler, or fail without one. Nor is this a script of the install: npm would warn of it who installs the package. It
 * stays in a folder of its own, so that the next install does not build it again.
 */
import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { hold } from "./hold.mjs";
import { npm } from "./npm.mjs";

const require = createRequire(import.meta.url);
const name = "better-sqlite3";
const folder = join(dirname(fileURLToPath(import.meta.url)), "sqlite");
const installed = join(folder, "node_modules", name);
const link = join(folder, "..", "..", "node_modules", name);

function hasSqlite() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 13);
}

/** @param path of the package, which is there and built for this Node.js, or not */
function works(path) {
  try {
    new (require(path))(":memory:").close();
    return true;
  } catch {
    return false;
  }
}

/** The same, asked of a new process. */
function worksElsewhere(path) {
  const script = `new (require(${JSON.stringify(path)}))(":memory:").close()`;
  return existsSync(path) && spawnSync(process.execPath, ["--eval", script], { stdio: "ignore" }).status === 0;
}

function isCurrent() {
  const read = (path) => JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
  return worksElsewhere(installed) && read(installed).version === read(folder).dependencies[name];
}

/** Builds the package. @return whether it works */
function build() {
  process.stderr.write(
    "Building better-sqlite3, since this Node.js has no SQLite of its own; this takes a few minutes …\n",
  );
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  const { status, stderr } = npm(["ci", ...quiet], folder, { encoding: "utf8" });
  if (status === 0 && worksElsewhere(installed)) return true;
  process.stderr.write(`${stderr}It cannot be built: it takes a C++ compiler and Python, or Node.js 22.13 or later.\n`);
  return false;
}

/** Puts it where the project's own packages are. */
function linkIt() {
  if (lstatSync(link, { throwIfNoEntry: false }) !== undefined) rmSync(link, { recursive: true });
  // A junction, which needs no rights on Windows, has a whole path.
  symlinkSync(process.platform === "win32" ? installed : relative(dirname(link), installed), link, "junction");
}

if (!hasSqlite() && !works(link)) {
  const release = await hold(join(folder, "..", "..", ".cache", "install-tools-sqlite.pid"));
  try {
    // Another build may have put it there meanwhile; what this process found before, Node.js may remember.
    if (!worksElsewhere(link)) {
      if (isCurrent() || build()) linkIt();
      else process.exitCode = 1;
    }
  } finally {
    release();
  }
}
