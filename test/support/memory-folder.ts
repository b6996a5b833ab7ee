import { existsSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

/** A file system in memory, on Linux. */
const MEMORY = "/dev/shm";

/** Free bytes from which the files of a database may be in memory. The largest takes 200 MB. */
const MEMORY_ROOM = 2 ** 30;

/**
 * Returns the folder for files of databases that need no disk: to create, to sync and to remove them takes a multiple of
 * the time there.
 */
export function memoryFolder(): string {
  if (!existsSync(MEMORY)) return tmpdir();
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize < MEMORY_ROOM ? tmpdir() : MEMORY;
}
