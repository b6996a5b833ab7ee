import { closeSync, existsSync, openSync, readSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { type Logger, silentLogger } from "../../core/log.js";
import { READ_TIMEOUT_MS, withFile } from "./connection.js";
import type { FileFault } from "./file-guard.js";
import type { FileIdentity } from "./file-identity.js";
import { tryLock } from "./lock.js";
import { FRAME_HEADER_BYTES, LOG_HEADER_BYTES } from "./log-index.js";

/** Offset of the count of schema changes in the first page (https://www.sqlite.org/fileformat.html, section 1.3). */
const COOKIE_AT = 40;

/**
 * Tells if the log beside a file belongs to another file. That happens when a file is restored from a backup and the
 * previous file's log remains: SQLite would apply it to the restored file.
 *
 * The writer begins each log with the first page, in a separate commit. The file then has the schema change count from
 * before that log, or from one of its commits. Copies by SQLite (`VACUUM INTO`, `.backup`) have another count, and
 * every opening of the file changes it. A log with another beginning, written by another program or a migration, is not
 * judged.
 */
function isForeignLog(path: string): boolean {
  const file = openSync(path, "r");
  const log = openSync(`${path}-wal`, "r");
  try {
    const cookie = read(file, 0, 100)?.readUInt32BE(COOKIE_AT);
    const header = read(log, 0, LOG_HEADER_BYTES);
    if (cookie === undefined || header === undefined) return false;
    const frameBytes = FRAME_HEADER_BYTES + header.readUInt32BE(8);
    for (let at = LOG_HEADER_BYTES; ; at += frameBytes) {
      const frame = read(log, at, FRAME_HEADER_BYTES + 100);
      // Remains of an earlier log have another salt.
      if (frame === undefined || frame.compare(header, 16, 24, 8, 16) !== 0) return at > LOG_HEADER_BYTES;
      const isFirstPage = frame.readUInt32BE(0) === 1;
      const endsCommit = frame.readUInt32BE(4) !== 0;
      if (at === LOG_HEADER_BYTES && !(isFirstPage && endsCommit)) return false;
      if (isFirstPage && frame.readUInt32BE(FRAME_HEADER_BYTES + COOKIE_AT) === cookie) return false;
    }
  } finally {
    closeSync(log);
    closeSync(file);
  }
}

function read(fd: number, at: number, bytes: number): Buffer | undefined {
  const buffer = Buffer.alloc(bytes);
  return readSync(fd, buffer, 0, bytes, at) < bytes ? undefined : buffer;
}

/** Renames the log of another file, unless a store has the file open. @throws the system's error, or SQLite's. */
export function setForeignLogAside(given: string, logger: Logger): void {
  if (!existsSync(given)) return;
  const path = realpathSync(given);
  if (!existsSync(`${path}-wal`) || statSync(path).size === 0) return;
  // Every store holds the lock file. While a store has the file open, closing a descriptor of ours could drop its
  // locks.
  // Opening the file reports a lock that another store holds.
  const lock = existsSync(`${path}-lock`) ? tryLock(path) : { release: () => {} };
  if (lock === undefined) return;
  try {
    if (isForeignLog(path)) setLogAside(path, logger);
  } finally {
    lock.release();
  }
}

/** Renames the log of a file. */
export function setLogAside(path: string, logger: Logger): void {
  const log = `${path}-wal-unused`;
  renameSync(`${path}-wal`, log);
  rmSync(`${path}-shm`, { force: true });
  logger.warn(
    { path, log },
    "the log beside the file of the store belongs to another file: it was renamed and is not used",
  );
}

/** Removes the log after the last connection of the store has closed; renames a log that belongs to another file. */
export function leaveLog({ kept }: FileIdentity, fault: FileFault | undefined, logger: Logger = silentLogger): void {
  const [file, log] = kept;
  if (fault === undefined) return moveLog(file.name);
  try {
    const path = realpathSync(file.name);
    const isOurs = statSync(log.name).ino === log.ino;
    const isForeign = fault.logIsForeign || statSync(path).ino !== file.ino;
    if (isOurs && isForeign) setLogAside(path, logger);
  } catch {
    // A missing file may come back together with the other.
  }
}

/**
 * Lets SQLite move the log into its file and remove it, if no other connection has the file open. The reader cannot do
 * that, and the writer must not.
 */
export function moveLog(path: string): void {
  try {
    withFile(path, { mustExist: true, timeoutMs: READ_TIMEOUT_MS }, (db) => db.pragma("user_version"));
  } catch {
    // The log stays; the next program to open the file recovers it.
  }
}
