/**
 * Runs a command with the packages of folders that have a package.json of their own:
 *
 *   node tools/with.mjs bench,tools/generate COMMAND ARGUMENTS...
 *
 * The first install leaves them out, because few contributors need them. The folder's package-lock.json has their versions.
 * They are installed if they are missing or the lock file has changed since the last install.
 * Without a command it installs them and ends.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { hold } from "./hold.mjs";
import { npm } from "./npm.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const windows = process.platform === "win32";

/** Installs the packages of a folder, one process at a time. */
async function install(folder) {
  const lockFile = join(root, folder, "package-lock.json");
  const wanted = createHash("sha256").update(readFileSync(lockFile)).digest("hex");
  const mark = join(root, folder, "node_modules", ".installed");
  const isInstalled = () => existsSync(mark) && readFileSync(mark, "utf8") === wanted;
  if (isInstalled()) return;
  const release = await hold(join(root, ".cache", `install-${folder.replaceAll(/[\\/]/g, "-")}.pid`));
  try {
    if (isInstalled()) return;
    process.stderr.write(`Installing what is needed in ${folder} …\n`);
    // No package here needs its install script, which only moves or checks what npm has put in place; peers are the project's.
    // NODE_ENV=production would leave out the packages that build.
    const how = [
      "--include=dev",
      "--ignore-scripts",
      "--legacy-peer-deps",
      "--no-audit",
      "--no-fund",
      "--loglevel=error",
    ];
    const { status } = npm(["ci", ...how], join(root, folder), { stdio: ["ignore", 2, 2] });
    if (status !== 0) throw new Error(`npm ci in ${folder} ended with ${status}`);
    writeFileSync(mark, wanted);
  } finally {
    release();
  }
}

/** Runs the command with the programs of all folders in its PATH, and ends as it does. */
function run(folders, [command, ...args]) {
  const programs = [...folders, "."].map((folder) => join(root, folder, "node_modules", ".bin"));
  const name = Object.keys(process.env).find((key) => key.toUpperCase() === "PATH") ?? "PATH";
  const path = [...programs, process.env[name] ?? ""].join(delimiter);
  // Programs of packages are batch files on Windows, which only a shell runs.
  const quoted = windows ? args.map((text) => (/[^\w./:=-]/.test(text) ? `"${text}"` : text)) : args;
  const child = spawn(command, quoted, { stdio: "inherit", env: { ...process.env, [name]: path }, shell: windows });
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
  child.once("error", (error) => {
    process.stderr.write(`${command} cannot be run: ${error.message}\n`);
    process.exitCode = 127;
  });
  child.once("exit", (code) => {
    process.exitCode = code ?? 1;
  });
}

const [list = "", ...command] = process.argv.slice(2);
const folders = list.split(",").filter((folder) => folder !== "");
if (folders.length === 0) throw new Error("usage: node tools/with.mjs FOLDER[,FOLDER] [COMMAND ARGUMENTS...]");
for (const folder of folders) await install(folder);
if (command.length > 0) run(folders, command);
