import { realpathSync, type Stats, statSync } from "node:fs";
import { stat } from "node:fs/promises";

/** One of a store's files, and what tells it from another: an inode is not used again while it is open. */
interface OpenFile {
  readonly name: string;
  readonly dev: number;
  readonly ino: number;
}

/** The files that a store has open. It crosses to the writer's thread. */
export interface FileIdentity {
  /** Database and log: what is written is kept there. */
  readonly kept: readonly OpenFile[];
  /** Those, and the index of the log, which is memory that processes share. */
  readonly all: readonly OpenFile[];
}

/** Notes which files are there now. @throws the system's error when one of them is not. */
export function identityOf(path: string): FileIdentity {
  // SQLite puts the other files beside the file itself, whatever links lead to it.
  const real = realpathSync(path);
  const all = [path, `${real}-wal`, `${real}-shm`].map((name) => {
    const { dev, ino } = statSync(name);
    return { name, dev, ino };
  });
  return { kept: all.slice(0, 2), all };
}

/**
 * Whether the names of the files that are written still lead to them, or what happened: a file that has lost its name
 * takes every write and keeps none. It costs 3 microseconds.
 */
export function checkNow({ kept }: FileIdentity): string | undefined {
  for (const file of kept) {
    try {
      const found = faultIn(file, statSync(file.name, { throwIfNoEntry: false }));
      if (found !== undefined) return found;
    } catch (error) {
      return hidden(file, error);
    }
  }
  return undefined;
}

/** As `lookNow`, at all files and without holding up the thread: a file system may take long to answer. */
export async function check({ all }: FileIdentity): Promise<string | undefined> {
  for (const file of all) {
    try {
      const found = faultIn(file, await stat(file.name).catch(absent));
      if (found !== undefined) return found;
    } catch (error) {
      return hidden(file, error);
    }
  }
  return undefined;
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
}

function faultIn({ name, dev, ino }: OpenFile, now: Stats | undefined): string | undefined {
  if (now === undefined) return `The file ${name} was removed or moved while the store had it open.`;
  if (now.ino !== ino || now.dev !== dev) return `The file ${name} was replaced while the store had it open.`;
  return undefined;
}

function hidden({ name }: OpenFile, error: unknown): string {
  return `The file ${name} cannot be looked at any more: ${(error as Error).message}.`;
}
