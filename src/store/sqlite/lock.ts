import { readFileSync, statSync } from "node:fs";
import { StoreError } from "../task-store.js";
import { sqliteDriver } from "./driver/choose.js";
import { codeOf } from "./driver/codes.js";
import type { Database } from "./driver/driver.js";
import { createPrivate } from "./private-file.js";

/** Time that an opener waits for the lock, in milliseconds: at a restart the predecessor may still be closing. */
const LOCK_TIMEOUT_MS = 2_000;

/** The lock of an open store on its file. */
export interface FileLock {
  /** Releases the lock. Later calls do nothing. */
  release(): void;
}

/** Keeps the connections alive: the garbage collector would close them and release their locks. */
const held = new Set<Database>();

/**
 * Locks a store's file: exclusively, or shared with other stores. The lock is SQLite's, on an empty database
 * `<path>-lock` beside the file, which remains after the release. It works between stores of one process and of
 * several, and the system releases it when its process dies. Only stores respect it: other programs can still read the
 * file.
 *
 * Blocks this thread for up to `timeoutMs`.
 * @throws StoreError `failed` that tells how the other store holds the file; the system's error, or SQLite's, if the
 * lock file cannot be created or opened.
 */
export function lockFile(path: string, shared: boolean, timeoutMs: number = LOCK_TIMEOUT_MS): FileLock {
  // A user with read permission could lock it, and so block a server from its file.
  createPrivate(`${path}-lock`);
  let db: Database;
  try {
    db = take(path, shared, timeoutMs);
  } catch (error) {
    throw codeOf(error).startsWith("SQLITE_BUSY") ? inUse(path, shared, error) : error;
  }
  held.add(db);
  return {
    release() {
      held.delete(db);
      db.close();
    },
  };
}

/** Locks a store's file exclusively, if nothing holds its lock. Does not wait. */
export function tryLock(path: string): FileLock | undefined {
  try {
    return lockFile(path, false, 0);
  } catch {
    return undefined;
  }
}

/** Begins a transaction that stays open. Without a write-ahead log a reader holds a shared lock on the file. */
function take(path: string, shared: boolean, timeoutMs: number): Database {
  const db = sqliteDriver().open(`${path}-lock`, { timeoutMs });
  try {
    db.exec(shared ? "BEGIN; SELECT count(*) FROM sqlite_schema" : "BEGIN EXCLUSIVE");
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function inUse(path: string, shared: boolean, cause: unknown): StoreError {
  const holder = shared || isExclusive(path) ? "for itself alone" : "as one of several that share it";
  return new FileInUse(`Cannot open ${path}: ${holdersOf(path)} has it open ${holder}.`, cause);
}

/** The error of a file that another store has open. */
export class FileInUse extends StoreError {
  /** The message without advice, for commands that cannot share a file. */
  readonly fact: string;

  constructor(fact: string, cause: unknown) {
    const advice = "let every store of this file share it (`shared: true`, `parley serve --shared`).";
    super("failed", `${fact} Close that one first, or ${advice}`, { cause });
    this.fact = fact;
  }
}

/** Locks a file for a command that needs exclusive access. The error does not advise to share the file. */
export function lockedAlone<T>(lock: () => T): T {
  try {
    return lock();
  } catch (error) {
    if (!(error instanceof FileInUse)) throw error;
    throw new StoreError("failed", `${error.fact} End it first.`, { cause: error.cause });
  }
}

/** True if the store that holds the lock holds it exclusively. */
function isExclusive(path: string): boolean {
  try {
    take(path, true, 0).close();
    return false;
  } catch {
    return true;
  }
}

/** The processes that have a file open. Linux lists the processes that hold locks; other systems do not. */
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
    // makedev(3): bits 8 to 19 are the major number, the others the minor one.
    const [major, minor] = [(dev >> 8) & 0xfff, (dev & 0xff) | ((dev >> 12) & 0xfff00)];
    const found = new Set<number>();
    for (const [, pid, high, low, inode] of readFileSync("/proc/locks", "latin1").matchAll(lockLine))
      if (Number(inode) === ino && Number(`0x${high}`) === major && Number(`0x${low}`) === minor)
        found.add(Number(pid));
    // Processes of other containers are listed as 0.
    found.delete(0);
    return [...found].sort((a, b) => a - b);
  } catch {
    return [];
  }
}
