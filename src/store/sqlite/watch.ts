import { outgrown } from "./connection.js";
import { check, type FileIdentity } from "./file-identity.js";
import { SCHEMA_VERSION } from "./migrations.js";
import type { Reader } from "./reader.js";
import type { StoreFaults } from "./store-faults.js";
import { placeTrouble } from "./writer-client.js";

/** Between two looks, in milliseconds. */
const LOOK_MS = 500;

/** A look that takes this many turns has found a file system that does not answer. */
const LATE_TURNS = 3;

/**
 * Looks now and then whether the store's files are still where they were, so that it shows while nobody writes; what
 * is written looks by itself.
 * @returns how to end it
 */
export function watchPlace(place: FileIdentity, troubles: StoreFaults): () => void {
  let turns = 0;
  let over = false;
  const told = (reason: string | undefined): void => {
    // A commit that began later may have found out more: what is well is said by a look that began after that.
    const outdated = turns === 0;
    turns = 0;
    if (!over && !outdated) troubles.note("place", reason === undefined ? undefined : placeTrouble(reason));
  };
  const timer = setInterval(() => {
    if (turns++ === 0) {
      void check(place).then(told);
    } else if (turns > LATE_TURNS) {
      troubles.note("place", placeTrouble(`The file system of ${place.all[0]?.name} does not answer.`));
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
      if (version !== SCHEMA_VERSION) troubles.note("schema", placeTrouble(outgrown(path, version, SCHEMA_VERSION)));
    } catch {
      // A file that cannot be read tells whoever reads it, and says nothing of its version.
    }
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}
