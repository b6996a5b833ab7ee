import { outgrown } from "./connection.js";
import type { FileFault, FileGuard } from "./file-guard.js";
import type { FileIdentity } from "./file-identity.js";
import { SCHEMA_VERSION } from "./migrations.js";
import type { Reader } from "./reader.js";
import { restartFault, type StoreFaults } from "./store-faults.js";

/** Interval between checks, in milliseconds. */
const CHECK_MS = 500;

/** A check that takes this many intervals means that the file system does not respond. */
const LATE_TURNS = 3;

/**
 * Periodically checks that the store's files are still its own, for times without writes; each write checks by itself.
 * @returns a function that stops the checks
 */
export function watchFiles(files: FileIdentity, guard: FileGuard, troubles: StoreFaults): () => void {
  let turns = 0;
  let over = false;
  const report = (fault: FileFault | undefined): void => {
    // A commit may have found a fault after this check began: only a check started after that can report recovery.
    const outdated = turns === 0;
    turns = 0;
    if (!over && !outdated) troubles.noteFile(fault);
  };
  const timer = setInterval(() => {
    if (turns++ === 0) {
      void guard.check().then(report);
    } else if (turns > LATE_TURNS) {
      troubles.note("file", restartFault(`The file system of ${files.all[0]?.name} does not answer.`));
    }
  }, CHECK_MS);
  timer.unref();
  return () => {
    over = true;
    clearInterval(timer);
  };
}

/**
 * Periodically checks that a shared file still has the known schema. A newer program migrates only under an exclusive
 * lock, but the lock file may have been removed, or another program may have changed the file.
 * @returns a function that stops the checks
 */
export function watchSchema(reader: Reader, path: string, troubles: StoreFaults): () => void {
  const timer = setInterval(() => {
    try {
      const version = reader.version();
      if (version !== SCHEMA_VERSION) troubles.note("schema", restartFault(outgrown(path, version, SCHEMA_VERSION)));
    } catch {
      // Reads report an unreadable file; its version is unknown.
    }
  }, CHECK_MS);
  timer.unref();
  return () => clearInterval(timer);
}
