import { storeErrorOf } from "../errors.js";
import type { StoreError, StoreErrorKind } from "../task-store.js";
import { codeOf } from "./driver/codes.js";

/**
 * Converts any error of SQLite or of a file to a StoreError, with the original as its cause. Codes:
 * https://www.sqlite.org/rescode.html
 */
export function toStoreError(thrown: unknown, doing: string): StoreError {
  return storeErrorOf(thrown, doing, codeOf(thrown), kindOf);
}

function kindOf(code: string): StoreErrorKind {
  if (isDamage(code)) return "damaged";
  return isOutage(code) ? "unavailable" : "failed";
}

/** True for an error of a damaged file. */
function isDamage(code: string): boolean {
  return code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB";
}

/** True for an error of the disk, the file system or another process, independent of the write. */
function isOutage(code: string): boolean {
  // Errors of files that are not written through SQLite: a backup, or the lock of a store.
  if (/^E(NOSPC|DQUOT|FBIG|IO)$/.test(code)) return true;
  // A truncated file does not recover by itself.
  return /^SQLITE_(FULL|IOERR(?!_SHORT_READ)|CANTOPEN|READONLY|PERM|BUSY|LOCKED|PROTOCOL)/.test(code);
}
