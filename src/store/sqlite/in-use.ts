import { closeSync, openSync, readSync } from "node:fs";
import { immediate, WRITE_TIMEOUT_MS, withFile } from "./connection.js";
import type { Database } from "./driver/driver.js";
import { tryLock } from "./lock.js";
import { hasTable } from "./restoration.js";

/**
 * The file of a store has the table `in_use` from its opening until the last store has closed it in order. A copy of the
 * file without its log has it too, unless the file was closed. Programs of other versions ignore the table, so the
 * schema keeps its version.
 */
const IN_USE = "in_use";

/** Offset of the file format's read version (https://www.sqlite.org/fileformat.html, section 1.3). */
const FORMAT_AT = 19;

/** The version of a file with a write-ahead log. `VACUUM INTO` writes files without one. */
const WITH_LOG = 2;

/** Marks a file as open. This always changes the schema, and so its change count. */
export function markInUse(db: Database): void {
  immediate(db, () => db.exec(`DROP TABLE IF EXISTS ${IN_USE}; CREATE TABLE ${IN_USE} (once)`));
}

/** Tells whether the file has the mark of an open one. */
export function isMarkedInUse(db: Database): boolean {
  return hasTable(db, IN_USE);
}

/**
 * Removes the mark of an open file, unless another store has it open. The mark stays if that fails, such as on a full
 * disk, and the next store removes it.
 */
export function unmarkInUse(path: string): void {
  const lock = tryLock(path);
  if (lock === undefined) return;
  try {
    const options = { mustExist: true, timeoutMs: WRITE_TIMEOUT_MS };
    withFile(path, options, (db) => db.exec(`DROP TABLE IF EXISTS ${IN_USE}`));
  } catch {
    // All tasks are in the file or its log.
  } finally {
    lock.release();
  }
}

/** Tells whether a file may have its latest changes in a log beside it. */
export function hasLogFormat(path: string): boolean {
  const file = openSync(path, "r");
  try {
    const byte = Buffer.alloc(1);
    readSync(file, byte, 0, 1, FORMAT_AT);
    return byte[0] === WITH_LOG;
  } finally {
    closeSync(file);
  }
}
