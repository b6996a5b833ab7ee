import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, statfsSync } from "node:fs";

/** A disk in memory. Its mount is visible only in this process's namespace. */
export class Disk {
  readonly path: string;
  readonly #sizeMb: number;

  constructor(path: string, sizeMb: number) {
    this.path = path;
    this.#sizeMb = sizeMb;
    mkdirSync(path, { recursive: true });
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${sizeMb}m`, "tmpfs", path]);
  }

  /** Shrinks the disk to its content, so that no page is free. This needs no memory. */
  fill(): void {
    for (let attempt = 1; ; attempt++) {
      const { bsize, blocks, bfree } = statfsSync(this.path);
      const size = `remount,size=${(bsize * (blocks - bfree)) / 1024}k`;
      const { status, stderr } = spawnSync("mount", ["-o", size, this.path], { encoding: "utf8" });
      if (status === 0) return;
      // A writer took a page in the meantime.
      if (attempt === 100) throw new Error(`The disk cannot be filled: ${stderr}`);
    }
  }

  /** Restores the size. */
  empty(): void {
    execFileSync("mount", ["-o", `remount,size=${this.#sizeMb}m`, this.path]);
  }
}
