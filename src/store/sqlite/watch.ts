import { outgrown } from "./connection.js";
import { check, type FileIdentity } from "./file-identity.js";
import { SCHEMA_VERSION } from "./migrations.js";
import type { Reader } from "./reader.js";
import type { StoreFaults } from "./store-faults.js";
import { fileTrouble } from "./writer-client.js";

/** Between two looks, in milliseconds. */
const LOOK_MS = 500;

/** A look that takes this many turns has found a file system that does not answer. */
const LATE_TURNS = 3;

/**
 * Looks now and then whether the store's files are still where they were, so that it shows while no one writes; a
 * write looks by itself.
 * @returns how to end it
 */
export function watchFiles(files: FileIdentity, troubles: StoreFaults): () => void {
  let turns = 0;
  let over = false;
  const report = (reason: string | undefined): void => {
    // A commit that began later may have found out more: what is well is said by a look that began after that.
    const outdated = turns === 0;
    turns = 0;
    if (!over && !outdated) troubles.note("file", reason === undefined ? undefined : fileTrouble(reason));
  };
  const timer = setInterval(() => {
    if (turns++ === 0) {
      void check(files).then(report);
    } else if (turns > LATE_TURNS) {
      troubles.note("file", fileTrouble(`The file system of ${files.all[0]?.name} does not answer.`));
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
      if (version !== SCHEMA_VERSION) troubles.note("schema", fileTrouble(outgrown(path, version, SCHEMA_VERSION)));
    } catch {
      // A file that cannot be read is reported to its readers, and says nothing of its version.
    }
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}
