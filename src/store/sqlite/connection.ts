import { sqliteDriver } from "./driver/choose.js";
import type { Database, DriverName } from "./driver/driver.js";
import type { FileIdentity } from "./file-identity.js";

// What the writer's thread loads: nothing of the protocol, whose code would be in memory twice.

/** Marks a file as ours in the header of SQLite (`PRAGMA application_id`): "PARL". */
export const APPLICATION_ID: number = 0x5041524c;

/** `PRAGMA auto_vacuum` of a file that can give pages back, in steps that its writer asks for. */
export const INCREMENTAL = 2;

/** SQLite's own default, in bytes. */
export const PAGE_BYTES = 4_096;

/** How long a write waits for another process that writes, in milliseconds. */
export const WRITE_TIMEOUT_MS = 10_000;

/** How long a read waits, in milliseconds. It hardly ever does: readers do not wait for writers in WAL mode. */
export const READ_TIMEOUT_MS = 1_000;

/** Pages in the log before the writer moves them into the file, 16 MiB: the next commit waits some 10 ms for it. */
export const CHECKPOINT_PAGES: number = 4_000;

/**
 * Bytes of bulk writes in the log before the writer moves them into the file, with the small ones among them: a write that
 * comes meanwhile waits for it, so it is done in small steps. Each page of a bulk write is moved once, however often.
 */
export const BULK_CHECKPOINT_BYTES: number = 2 * 1024 * 1024;

/** The log file is cut to this size, in bytes, after a reader that took long has let it grow. */
const JOURNAL_LIMIT_BYTES = 64 * 1024 * 1024;

/** Cache of the writer, in KiB: pages that commits touch stay in memory. Ids ascend, so those are the last of each index. */
const WRITER_CACHE_KIB = 8 * 1024;

/**
 * Cache of the reader, in KiB: the upper pages of the indexes, and the tasks of the moment. All others are in the system's own cache, from
 * where a page costs a microsecond: with 16 MB for 100,000 tasks, reads and lists took no less CPU.
 */
const READER_CACHE_KIB = 4 * 1024;

/** What a crash of the machine may take: nothing with FULL, the last moments with NORMAL. */
export type Synchronous = "FULL" | "NORMAL";

/** The connection that reads, never in the way of the writer. */
export function openReader(path: string): Database {
  const db = sqliteDriver().open(path, { readonly: true, timeoutMs: READ_TIMEOUT_MS });
  db.pragma(`cache_size = -${READER_CACHE_KIB}`);
  // The first read makes the log file, which shows other stores of this process that the file is in use (see `inspect`).
  db.pragma("user_version");
  return db;
}

/** What the writer's thread is given when it starts. */
export interface WriterData {
  readonly path: string;
  readonly synchronous: Synchronous;
  /** Where SQLite comes from in this process. */
  readonly driver: DriverName;
  /** The files that the rest of the store has open, to be the same ones. */
  readonly files: FileIdentity;
  /** Holders of leases whose processes are gone; undefined when other processes may have the file: it is not known then. */
  readonly gone: readonly string[] | undefined;
  /** Version of the schema that the file has to have at every commit; undefined where no other process can change it. */
  readonly schema: number | undefined;
}

/** What is wrong with a file that another program changed while it was open here. */
export function outgrown(path: string, version: number, known: number): string {
  return (
    `The file ${path} cannot be written any more: its schema became version ${version}, and this program knows ` +
    `${known}: a newer one has opened it. End this one and start the newer one.`
  );
}

/** Moves what is in the log into the file, as far as no reader needs it. What goes wrong the next commit will meet. */
export function checkpoint(db: Database): void {
  try {
    db.pragma("wal_checkpoint(PASSIVE)");
  } catch {
    // As with the checkpoints that SQLite makes by itself: the log has everything.
  }
}

/** The connection that writes. */
export function openWriter({ path, synchronous }: Pick<WriterData, "path" | "synchronous">): Database {
  const db = sqliteDriver().open(path, { mustExist: true, timeoutMs: WRITE_TIMEOUT_MS });
  db.pragma(`synchronous = ${synchronous}`);
  // Not within a commit, but after it, when the files were looked at.
  db.pragma("wal_autocheckpoint = 0");
  db.pragma(`journal_size_limit = ${JOURNAL_LIMIT_BYTES}`);
  db.pragma(`cache_size = -${WRITER_CACHE_KIB}`);
  return db;
}

/** Runs `work` in a transaction that has the write lock from its start, or takes back what it did. */
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
