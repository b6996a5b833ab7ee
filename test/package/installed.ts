import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository. */
export const root: string = fileURLToPath(new URL("../..", import.meta.url));

const { version } = createRequire(import.meta.url)("../../package.json") as { version: string };

/** The package as npm would publish it, installed in a folder of its own that shares nothing with the repository. */
export interface Installed {
  /** The folder that it is installed in, as docs/get-started.md says. */
  readonly folder: string;
  readonly tarball: string;
  /** Paths in the tarball. */
  readonly files: readonly string[];
  /** Disk usage of the package and its dependencies, in bytes. */
  readonly bytes: number;
  remove(): void;
}

/** Packs the build, and installs it with the commands of docs/get-started.md. */
export function install(): Installed {
  const work = mkdtempSync(join(tmpdir(), "parley-package-"));
  const [packed] = JSON.parse(shell("npm pack --json --ignore-scripts --pack-destination .", work, root)) as {
    files: { path: string }[];
  }[];
  const folder = join(work, "mine");
  mkdirSync(folder);
  // The page's last command is for old versions of Node.js, see below.
  const commands = commandsToInstall().filter((command) => !command.includes("@photostructure/sqlite"));
  for (const command of commands) shell(command.replace("<path>", work), folder);
  const bytes = sizeOf(join(folder, "node_modules")).bytes;
  if (!hasSqlite()) {
    // As that command would, whose package is none of ours.
    mkdirSync(join(folder, "node_modules", "@photostructure"));
    symlinkSync(ours("@photostructure/sqlite"), join(folder, "node_modules", "@photostructure", "sqlite"), "junction");
  }
  return {
    folder,
    tarball: join(work, `parley-a2a-${version}.tgz`),
    files: (packed?.files ?? []).map(({ path }) => path),
    bytes,
    remove: () => rmSync(work, { recursive: true, force: true }),
  };
}

/** The commands of docs/get-started.md for a new folder. */
function commandsToInstall(): readonly string[] {
  const [, block] =
    /^```console\n(npm init[\s\S]*?)^```/m.exec(readFileSync(join(root, "docs/get-started.md"), "utf8")) ?? [];
  if (block === undefined) throw new Error("docs/get-started.md does not say how the package is installed.");
  return block.trim().split("\n");
}

function hasSqlite(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 13);
}

/** Runs a command line, which has to succeed. @param into what stands for `.` in it */
function shell(command: string, into: string, cwd: string = into): string {
  const line = command.replace(/ \.$/, ` "${into}"`);
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(package|lifecycle)/i.test(name)),
  );
  Object.assign(env, { npm_config_prefer_offline: "true", npm_config_audit: "false", npm_config_fund: "false" });
  delete env.npm_config_local_prefix;
  const { status, stdout, stderr } = spawnSync(line, { cwd, env, shell: true, encoding: "utf8" });
  if (status !== 0) throw new Error(`${line} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}

/** Disk usage of a folder, as `du` counts it, and its number of files. */
export function sizeOf(folder: string): { bytes: number; files: number } {
  const total = { bytes: 0, files: 0 };
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    const stat = lstatSync(path);
    // Windows reports no blocks.
    total.bytes += stat.blocks === undefined ? stat.size : stat.blocks * 512;
    if (!entry.isDirectory()) {
      total.files++;
      continue;
    }
    const inside = sizeOf(path);
    total.bytes += inside.bytes;
    total.files += inside.files;
  }
  return total;
}

/** Folder of a package that the repository's first install has. */
export function ours(name: string): string {
  const folder = join(root, "node_modules", name);
  if (!existsSync(folder)) throw new Error(`${name} is not in the ${dirname(folder)}`);
  return folder;
}
