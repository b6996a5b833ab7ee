import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { root } from "../package/installed.js";
import { pathOf, type Version } from "./versions.js";

/** A fresh clone of the project in its own folder, with a Node.js and its npm in the `PATH`. */
export class Clone {
  readonly folder: string = mkdtempSync(join(tmpdir(), "parley-clone-"));
  readonly #env: NodeJS.ProcessEnv;
  /** The processes that it has, of which each leads a group. */
  readonly #running = new Set<ChildProcess>();

  constructor(version: Version) {
    const names = Object.entries(process.env).filter(
      ([name]) => !/^(npm_|node_(env|options|path)$|vitest|vite_|no_color|path$)/i.test(name),
    );
    const path = [...pathOf(version), process.env.PATH].join(delimiter);
    this.#env = { ...Object.fromEntries(names), PATH: path };
    for (const name of filesOfProject()) {
      const into = join(this.folder, name);
      mkdirSync(dirname(into), { recursive: true });
      copyFileSync(join(root, name), into);
    }
  }

  /** Runs a command line, as in a terminal of its own: with a signal for all of its processes. */
  run(command: string, env: Record<string, string> = {}): ChildProcess {
    const options = { cwd: this.folder, env: { ...this.#env, ...env }, shell: true, detached: true };
    const child = spawn(command, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    this.#running.add(child);
    child.once("close", () => this.#running.delete(child));
    return child;
  }

  /** Removes it, and ends what still runs in it. */
  async remove(): Promise<void> {
    for (const child of this.#running) {
      const closed = once(child, "close");
      signalAll(child, "SIGKILL");
      await closed;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Sends a signal to the whole process group, as Ctrl-C does in a terminal. */
export function signalAll({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid !== undefined) process.kill(-pid, signal);
}

/** Files that are committed, or would be with the next commit. */
function filesOfProject(): readonly string[] {
  const list = ["-c", `safe.directory=${root.replace(/\/$/, "")}`, "ls-files", "-co", "--exclude-standard", "-z"];
  const { status, stdout, stderr } = spawnSync("git", list, { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(`git does not tell what it has: ${stderr}`);
  return stdout.split("\0").filter((name) => name !== "" && name !== "node_modules" && existsSync(join(root, name)));
}

/** The first command that the README has. */
export function firstCommand(): string {
  const [, command] = /^```console\n(npm ci.*)$/m.exec(readFileSync(join(root, "README.md"), "utf8")) ?? [];
  if (command === undefined) throw new Error("The README does not say how to begin.");
  return command;
}
