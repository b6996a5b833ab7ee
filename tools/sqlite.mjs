/**
 * Builds better-sqlite3 where this Node.js has no SQLite of its own, at the end of the first install: nothing else here needs
 * an install script, so none of them is allowed (`allowScripts`), and who has a newer Node.js waits for no compiler.
 */
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const folder = join(dirname(fileURLToPath(import.meta.url)), "..", "node_modules", "better-sqlite3");

function hasSqlite() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 13);
}

function isBuilt() {
  try {
    new (require("better-sqlite3"))(":memory:").close();
    return true;
  } catch {
    return false;
  }
}

if (!hasSqlite() && !isBuilt()) {
  process.stderr.write("Building better-sqlite3, since this Node.js has no SQLite of its own …\n");
  const npm = process.env.npm_execpath ?? "";
  const options = { cwd: folder, encoding: "utf8", shell: !npm.endsWith(".js") };
  const args = ["run", "--silent", "install"];
  const { status, stderr } = npm.endsWith(".js")
    ? spawnSync(process.execPath, [npm, ...args], options)
    : spawnSync("npm", args, options);
  if (status !== 0) {
    process.stderr.write(
      `${stderr}It cannot be built: it takes a C++ compiler and Python, or Node.js 22.13 or later.\n`,
    );
    process.exitCode = 1;
  }
}
