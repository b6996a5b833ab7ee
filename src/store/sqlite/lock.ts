import { StoreError } from "../task-store.js";
import { sqliteDriver } from "./driver/choose.js";
import { codeOf } from "./driver/codes.js";
import type { Database } from "./driver/driver.js";

/** How long an opener waits for another one to let go, in milliseconds: at a restart the predecessor may be closing. */
export const LOCK_TIMEOUT_MS = 2_000;

/** The hold of an open store on its file. */
export interface FileLock {
  /** Lets go. Later calls do nothing. */
  release(): void;
}

/** A connection that nothing refers to would be closed, and its lock lifted, by the garbage collector. */
const held = new Set<Database>();

/**
 * Holds a store's file: alone, or together with others that share it. The lock is that of SQLite on an empty database
 * beside the file, `<path>-lock`, which stays there when nobody holds it. It keeps apart stores of one process and of
 * several, and the system lifts it when its process dies, however that happens. It binds stores alone: other programs
 * may look at the file.
 *
 * It waits up to `LOCK_TIMEOUT_MS`, and lets nothing else run in this thread meanwhile.
 * @throws StoreError `failed` that says how the other one holds the file; SQLite's error when there is no place for
 * the lock.
 */
export function lockFile(path: string, shared: boolean): FileLock {
  const db = sqliteDriver().open(`${path}-lock`, { timeoutMs: LOCK_TIMEOUT_MS });
  try {
    take(db, shared);
  } catch (error) {
    const refused = codeOf(error).startsWith("SQLITE_BUSY") ? inUse(db, path, shared, error) : error;
    db.close();
    throw refused;
  }
  held.add(db);
  return {
    release() {
      held.delete(db);
      db.close();
    },
  };
}

/** Begins a transaction that stays open. Without a write-ahead log a reader locks the file shared, as long as it reads. */
function take(db: Database, shared: boolean): void {
  if (!shared) return void db.exec("BEGIN EXCLUSIVE");
  db.exec("BEGIN");
  db.rows("SELECT count(*) FROM sqlite_schema").get();
}

function inUse(db: Database, path: string, shared: boolean, cause: unknown): StoreError {
  const holder = shared || isExclusive(db) ? "for itself alone" : "as one of several that share it";
  const message =
    `Cannot open ${path}: another process, or another store of this one, has it open ${holder}. Close that one first, or let every store of this file ` +
    "share it (`shared: true`, `parley serve --shared`).";
  return new StoreError("failed", message, { cause });
}

/** Whether whoever has the lock lets nobody share it. */
function isExclusive(db: Database): boolean {
  try {
    db.pragma("busy_timeout = 0");
    take(db, true);
    return false;
  } catch {
    return true;
  }
}
