import { readFileSync, statSync } from "node:fs";
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
 * Holds a store's file: alone, or together with other stores that share it. The lock is that of SQLite on an empty database
 * beside the file, `<path>-lock`, which stays there when the lock is free. It keeps apart stores of one process and of
 * several, and the system lifts it when its process dies, however that happens. It binds stores alone: other programs
 * may look at the file.
 *
 * It waits up to `timeoutMs`, and lets nothing else run in this thread meanwhile.
 * @throws StoreError `failed` that says how the other one holds the file; SQLite's error when there is no place for
 * the lock.
 */
export function lockFile(path: string, shared: boolean, timeoutMs: number = LOCK_TIMEOUT_MS): FileLock {
  const db = sqliteDriver().open(`${path}-lock`, { timeoutMs });
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
    `Cannot open ${path}: ${holdersOf(path)} has it open ${holder}. Close that one first, or let every store of this file ` +
    "share it (`shared: true`, `parley serve --shared`).";
  return new StoreError("failed", message, { cause });
}

/** Whether the store that has the lock has it alone. */
function isExclusive(db: Database): boolean {
  try {
    db.pragma("busy_timeout = 0");
    take(db, true);
    return false;
  } catch {
    return true;
  }
}

/** The processes that have a file open, as far as the system tells: Linux names the processes that have locks. */
export function holdersOf(path: string): string {
  const others = pidsAt(`${path}-lock`).filter((pid) => pid !== process.pid);
  if (others.length === 0) return "another process, or another store of this one,";
  return others.length === 1 ? `process ${others[0]}` : `one of the processes ${others.join(", ")}`;
}

/** A line of `/proc/locks`: number, kind, mode, access, process, device:inode, from, to (proc(5)). */
const lockLine = /^\d+: \S+ +\S+ +\S+ +(\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) /gm;

function pidsAt(path: string): number[] {
  try {
    const { dev, ino } = statSync(path);
    // makedev(3): twelve bits of the major number from the eighth on, the minor one around them.
    const [major, minor] = [(dev >> 8) & 0xfff, (dev & 0xff) | ((dev >> 12) & 0xfff00)];
    const found = new Set<number>();
    for (const [, pid, high, low, inode] of readFileSync("/proc/locks", "latin1").matchAll(lockLine))
      if (Number(inode) === ino && Number(`0x${high}`) === major && Number(`0x${low}`) === minor)
        found.add(Number(pid));
    // Processes of other containers have no number here.
    found.delete(0);
    return [...found].sort((a, b) => a - b);
  } catch {
    return [];
  }
}
