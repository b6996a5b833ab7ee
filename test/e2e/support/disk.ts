import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./build.js";

/** Behaviour of a disk: it stores writes, has no space, fails, or does not answer. */
export type DiskState = "well" | "full" | "fail" | "hang";

/** The reason if disks cannot fail here, or undefined. */
export const noDisk: string | undefined = whyNot();

function whyNot(): string | undefined {
  if (process.platform !== "linux") return "what stands in for the disk is preloaded as Linux does it";
  try {
    execFileSync("cc", ["--version"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "there is no C compiler (cc) to build what stands in for the disk";
  }
}

/**
 * Controls the disk below a directory for one process, which has to run `under` it. A preloaded library intercepts the
 * process's system calls (test/fixtures/disk-shim).
 */
export class Disk {
  /** Command prefix of the process. */
  readonly under: readonly string[];
  readonly #folder = mkdtempSync(join(tmpdir(), "parley-disk-"));
  readonly #control = join(this.#folder, "control");

  constructor(directory: string) {
    this.become("well");
    const variables = { LD_PRELOAD: library(), DISK_SHIM_UNDER: directory, DISK_SHIM_CONTROL: this.#control };
    this.under = ["env", ...Object.entries(variables).map(([name, value]) => `${name}=${value}`)];
  }

  /** Changes the disk's behaviour immediately. */
  become(state: DiskState): void {
    // The rename replaces the file atomically, because the process may read it at any time.
    writeFileSync(`${this.#control}.next`, state);
    renameSync(`${this.#control}.next`, this.#control);
  }

  leave(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** The library, compiled once for each version of its source. */
function library(): string {
  const source = join(root, "test/fixtures/disk-shim/shim.c");
  const version = createHash("sha256").update(readFileSync(source)).digest("hex").slice(0, 16);
  const built = join(root, ".cache", `disk-shim-${version}.so`);
  if (existsSync(built)) return built;
  mkdirSync(join(root, ".cache"), { recursive: true });
  const own = `${built}.${process.pid}`;
  execFileSync("cc", ["-shared", "-fPIC", "-O1", "-o", own, source, "-ldl"]);
  renameSync(own, built);
  return built;
}
