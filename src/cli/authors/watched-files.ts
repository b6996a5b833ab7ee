import { type FSWatcher, statSync, watch } from "node:fs";
import { dirname, join } from "node:path";

/** Time in which changes count as one, in milliseconds: editors write a file in several steps. */
const SETTLE_MS = 100;

/** Maximum number of folders watched. */
const MAX_FOLDERS = 1_000;

/** Files with code. Data is left out: a program may write it whenever it starts. */
const isSource = (path: string): boolean => /\.[cm]?[jt]sx?$/.test(path);

/**
 * Files whose changes are reported once they settle. Changes that settle together count as one: that of a file that was
 * added, if there is one. Folders are watched, because editors replace files.
 */
export class WatchedFiles {
  readonly #files = new Map<string, string>();
  readonly #folders = new Map<string, FSWatcher>();
  readonly #changed: (path: string) => void;
  readonly #warn: (text: string) => void;
  /** Changed files that are not reported yet. */
  readonly #pending = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reportsAll = false;

  constructor(changed: (path: string) => void, warn: (text: string) => void) {
    this.#changed = changed;
    this.#warn = warn;
  }

  add(path: string): void {
    if (!this.#files.has(path)) this.#files.set(path, stampOf(path));
    const folder = dirname(path);
    if (this.#folders.has(folder) || this.#folders.size >= MAX_FOLDERS) return;
    try {
      const watcher = watch(folder, (_event, name) => this.#onEvent(folder, name));
      watcher.on("error", () => this.#remove(folder));
      this.#folders.set(folder, watcher);
    } catch (error) {
      this.#warn(`changes in ${folder} are not seen: ${(error as Error).message}`);
    }
  }

  /** True for a file that was added. */
  has(path: string): boolean {
    return this.#files.has(path);
  }

  /** Reports every source file in the folders from now on, or not: a file that an import could not find may appear. */
  reportAll(reportsAll: boolean): void {
    this.#reportsAll = reportsAll;
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const folder of [...this.#folders.keys()]) this.#remove(folder);
  }

  #remove(folder: string): void {
    this.#folders.get(folder)?.close();
    this.#folders.delete(folder);
  }

  #onEvent(folder: string, name: string | null): void {
    const paths = name === null ? [...this.#files.keys()] : [join(folder, name)];
    const changed = paths.filter((each) => this.#isChanged(each));
    if (changed.length === 0) return;
    for (const path of changed) this.#pending.add(path);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#report, SETTLE_MS);
  }

  readonly #report = (): void => {
    const paths = [...this.#pending];
    this.#pending.clear();
    const path = paths.findLast((each) => this.has(each)) ?? paths.at(-1);
    if (path !== undefined) this.#changed(path);
  };

  #isChanged(path: string): boolean {
    const before = this.#files.get(path);
    if (before === undefined) return this.#reportsAll && isSource(path);
    const now = stampOf(path);
    this.#files.set(path, now);
    return now !== before;
  }
}

/** Reads of a file and changes of its rights leave the stamp as it is. */
function stampOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? "" : `${found.mtimeMs} ${found.size}`;
}
