import { StoreError, type StoreErrorKind } from "../task-store.js";
import { codeOf } from "./driver/codes.js";

/**
 * Anything that went wrong in SQLite as the store's error, the real one kept as its cause. Codes:
 * https://www.sqlite.org/rescode.html
 */
export function toStoreError(thrown: unknown, doing: string): StoreError {
  if (thrown instanceof StoreError) return thrown;
  const code = codeOf(thrown);
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  const detail = code === "" ? text : `${text} (${code})`;
  return new StoreError(kindOf(code), `${doing}: ${detail}`, { cause: thrown });
}

function kindOf(code: string): StoreErrorKind {
  if (isDamage(code)) return "damaged";
  return isOutage(code) ? "unavailable" : "failed";
}

/** Whether an error says that the file is not what it should be. */
export function isDamage(code: string): boolean {
  return code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB";
}

/** Whether an error is of the disk, the file system or another process, whatever was to be written. */
function isOutage(code: string): boolean {
  // A file that is shorter than it says is no better tomorrow.
  return /^SQLITE_(FULL|IOERR(?!_SHORT_READ)|CANTOPEN|READONLY|PERM|BUSY|LOCKED|PROTOCOL)/.test(code);
}
