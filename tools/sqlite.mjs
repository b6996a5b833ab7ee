/**
 * Installs better-sqlite3 where this Node.js has no SQLite of its own, before the first build. It is no dependency of
 * the first install, because npm 10 runs the install script of every package: who has a newer Node.js would wait for a
 * compiler, or fail without one. Nor is this a script of the install: npm would warn of it who installs the package. It
 * stays in a folder of its own, so that the next install does not build it again.
 */
import { lstatSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
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

function isCurrent() {
  const read = (path) => JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
  return works(installed) && read(installed).version === read(folder).dependencies[name];
}

/** Builds the package. @return whether it works */
function build() {
  process.stderr.write("Building better-sqlite3, since this Node.js has no SQLite of its own …\n");
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  const { status, stderr } = npm(["ci", ...quiet], folder, { encoding: "utf8" });
  if (status === 0 && works(installed)) return true;
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
  if (isCurrent() || build()) linkIt();
  else process.exitCode = 1;
}
