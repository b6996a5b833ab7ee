import { outgrown } from "./connection.js";
import type { FileFault, FileGuard } from "./file-guard.js";
import type { FileIdentity } from "./file-identity.js";
import { SCHEMA_VERSION } from "./migrations.js";
import type { Reader } from "./reader.js";
import { restartFault, type StoreFaults } from "./store-faults.js";

/** Between two looks, in milliseconds. */
const LOOK_MS = 500;

/** A look that takes this many turns has found a file system that does not answer. */
const LATE_TURNS = 3;

/**
 * Looks now and then whether the store's files are still its own, so that it shows while no one writes; a
 * write looks by itself.
 * @returns how to end it
 */
export function watchFiles(files: FileIdentity, guard: FileGuard, troubles: StoreFaults): () => void {
  let turns = 0;
  let over = false;
  const report = (fault: FileFault | undefined): void => {
    // A commit that began later may have found out more: what is well is said by a look that began after that.
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
  }, LOOK_MS);
  timer.unref();
  return () => {
    over = true;
    clearInterval(timer);
  };
}

/**
 * Looks now and then whether a shared file still has the schema that this program knows. A newer program waits until it has
 * the file alone; but the lock may have been removed, or the file be another program's work.
 * @returns how to end it
 */
export function watchSchema(reader: Reader, path: string, troubles: StoreFaults): () => void {
  const timer = setInterval(() => {
    try {
      const version = reader.version();
      if (version !== SCHEMA_VERSION) troubles.note("schema", restartFault(outgrown(path, version, SCHEMA_VERSION)));
    } catch {
      // A file that cannot be read is reported to its readers, and says nothing of its version.
    }
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}
