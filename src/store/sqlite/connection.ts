import { sqliteDriver } from "./driver/choose.js";
import type { Database, DriverName, OpenOptions } from "./driver/driver.js";
import type { FileIdentity } from "./file-identity.js";

// The writer thread loads this file. It imports no protocol code, which would be in memory twice.

/** Marks a file as ours in the header of SQLite (`PRAGMA application_id`): "PARL". */
export const APPLICATION_ID: number = 0x5041524c;

/** Marks a file that `parley store copy` is filling, which no store opens: "PARC". */
export const COPY_ID = 0x50415243;

/** `PRAGMA auto_vacuum` of a file that can give pages back, in steps that its writer asks for. */
export const INCREMENTAL = 2;

/** SQLite's own default, in bytes. */
export const PAGE_BYTES = 4_096;

/** Time that a write waits for the write lock of another process, in milliseconds. */
export const WRITE_TIMEOUT_MS = 10_000;

/** Time that a read waits for a lock, in milliseconds. Rarely needed: in WAL mode readers do not wait for writers. */
export const READ_TIMEOUT_MS = 1_000;

/** Log pages before a checkpoint, 16 MiB: the next commit waits about 10 ms for it. */
export const CHECKPOINT_PAGES: number = 4_000;

/**
 * Bytes of bulk writes in the log before a checkpoint. Small, because writes that arrive meanwhile wait for it. The
 * number of checkpoints does not matter: each page of a bulk write is moved once.
 */
export const BULK_CHECKPOINT_BYTES: number = 2 * 1024 * 1024;

/** SQLite truncates the log file to this size, in bytes, after a long read let it grow. */
const JOURNAL_LIMIT_BYTES = 64 * 1024 * 1024;

/** Cache of the writer, in KiB, for pages that commits touch. Ids ascend, so those are the last pages of each index. */
const WRITER_CACHE_KIB = 8 * 1024;

/**
 * Cache of the reader, in KiB, for the upper pages of the indexes and the active tasks. The system caches the rest,
 * from where a page costs a microsecond: with 16 MB for 100,000 tasks, reads and lists took no less CPU.
 */
const READER_CACHE_KIB = 4 * 1024;

/** Writes that a crash of the machine may lose: none with FULL, the most recent with NORMAL. */
export type Synchronous = "FULL" | "NORMAL";

/** Opens the connection that reads, which never blocks the writer. */
export function openReader(path: string): Database {
  const db = sqliteDriver().open(path, { readonly: true, timeoutMs: READ_TIMEOUT_MS });
  db.pragma(`cache_size = -${READER_CACHE_KIB}`);
  // The first read creates the log file, which shows other stores of this process that the file is in use (see
  // `inspect`).
  db.pragma("user_version");
  return db;
}

/** Opens a file for `work`, and closes it after that. @throws the driver's error */
export function withFile<T>(path: string, options: OpenOptions, work: (db: Database) => T): T {
  const db = sqliteDriver().open(path, options);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/** Start parameters of the writer thread. */
export interface WriterData {
  readonly path: string;
  readonly synchronous: Synchronous;
  /** The SQLite driver of this process. */
  readonly driver: DriverName;
  /** Identity of the files that the rest of the store has open. */
  readonly files: FileIdentity;
  /** Lease holders whose processes are gone; undefined (unknown) if other processes may have the file. */
  readonly deadHolders: readonly string[] | undefined;
  /** Lease holders whose processes have ended, while the state of other processes with the file is unknown. */
  readonly ended?: readonly string[];
  /** Schema version that the file must have at every commit; undefined if no other process can change it. */
  readonly schema: number | undefined;
}

/** The error text for a file that another program migrated while it was open here. */
export function outgrown(path: string, version: number, known: number): string {
  return (
    `The file ${path} can no longer be written: its schema became version ${version}, and this program knows ` +
    `${known}: a newer one has opened it. End this one and start the newer one.`
  );
}

/** Moves the log into the file, as far as its readers permit. The next commit reports a failure. */
export function checkpoint(db: Database): void {
  try {
    db.pragma("wal_checkpoint(PASSIVE)");
  } catch {
    // The log still has everything, as after a failed automatic checkpoint.
  }
}

/** Opens the connection that writes. */
export function openWriter({ path, synchronous }: Pick<WriterData, "path" | "synchronous">): Database {
  const db = sqliteDriver().open(path, { mustExist: true, timeoutMs: WRITE_TIMEOUT_MS });
  db.pragma(`synchronous = ${synchronous}`);
  // Checkpoints run after a commit, once the files were checked, and not within it.
  db.pragma("wal_autocheckpoint = 0");
  db.pragma(`journal_size_limit = ${JOURNAL_LIMIT_BYTES}`);
  db.pragma(`cache_size = -${WRITER_CACHE_KIB}`);
  return db;
}

/** Runs `work` in a transaction that takes the write lock at its start, and rolls back on an error. */
export function immediate<T>(db: Database, work: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    if (db.inTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
