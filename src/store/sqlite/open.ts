import { closeSync, existsSync, openSync, readSync, realpathSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Logger, silentLogger } from "../../core/log.js";
import { type Restoration, StoreError } from "../task-store.js";
import { numberIn } from "./column.js";
import { APPLICATION_ID, COPY_ID, INCREMENTAL, READ_TIMEOUT_MS, WRITE_TIMEOUT_MS, withFile } from "./connection.js";
import { codeOf } from "./driver/codes.js";
import type { Database } from "./driver/driver.js";
import { toStoreError } from "./errors.js";
import { setForeignLogAside } from "./foreign-log.js";
import { isMarkedInUse, markInUse } from "./in-use.js";
import { holdersIn } from "./leases.js";
import { type FileLock, holdersOf, lockFile } from "./lock.js";
import { migrate, SCHEMA_VERSION } from "./migrations.js";
import { createPrivate } from "./private-file.js";
import { noteRestoration, readRestorations } from "./restoration.js";

/** Files up to this size, in bytes, are checked in full when they are opened: about 0.3 seconds at most. */
const FULL_CHECK_BYTES: number = 64 * 1024 * 1024;

/** Files up to this size, in bytes, that cannot shrink are rewritten when opened: about 0.2 seconds. */
const MAX_REWRITTEN_BYTES: number = 16 * 1024 * 1024;

/** Interval between log lines of a migration, in milliseconds. */
const PROGRESS_MS = 2_000;

/** Time that an opener waits for other processes to close a shared file before it migrates it, in milliseconds. */
const UPGRADE_TIMEOUT_MS = 5_000;

/** Timeout of one attempt to lock a shared file exclusively, in milliseconds: another opener may have migrated it. */
const ALONE_MS = 100;

/** Result of `prepareFile`. */
export interface Prepared {
  readonly path: string;
  /** Schema version that the file had; 0 when it was new. */
  readonly before: number;
  /**
   * Lease holders whose processes are gone, because no other process can have the file; undefined for a shared file.
   */
  readonly deadHolders: readonly string[] | undefined;
  /** Restorations of the file from backups, oldest first. */
  readonly restorations: readonly Restoration[];
  /** Released when the store is closed. */
  readonly lock: FileLock;
}

/**
 * Checks that a path is a sound Parley file of the current schema; locks, creates or migrates it. A rejected file keeps
 * every byte.
 * @param again true if this server has the file open and only its writer process has ended
 * @throws StoreError `damaged`, `newer-schema`, `failed` if it belongs to another application, is in use or cannot be
 * written, `unavailable` if the disk is full or fails.
 */
export function prepareFile(
  given: string,
  shared: boolean,
  logger: Logger = silentLogger,
  again: boolean = false,
): Prepared {
  if (given === "" || given === ":memory:") {
    throw new StoreError("failed", "The SQLite store needs a file; for tasks in memory there is the memory store.");
  }
  const path = resolve(given);
  checkPlace(path);
  setForeignLogAside(path, logger);
  if (existsSync(path) && statSync(path).size > 0) inspect(path);
  const { lock, before } = shared ? lockCurrent(path, logger) : { lock: lockPlace(path, false), before: undefined };
  try {
    if (again) checkAgain(path);
    const opened = create(path, shared || again, logger);
    return { path, lock, ...opened, before: before ?? opened.before };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Logs that a file was created or migrated. */
export function logPreparation({ path, before }: Prepared, logger: Logger): void {
  if (before === SCHEMA_VERSION) return;
  const what = before === 0 ? "created the file of the store" : "brought the store to the current schema";
  logger.info({ path, from: before, to: SCHEMA_VERSION }, what);
}

/**
 * Locks a file of the current schema shared. The first process to lock an older file exclusively migrates it: older
 * programs that have it open would write by the old layout.
 * @throws StoreError `failed` if another process holds it for `UPGRADE_TIMEOUT_MS`.
 */
function lockCurrent(path: string, logger: Logger): { lock: FileLock; before: number | undefined } {
  const latest = performance.now() + UPGRADE_TIMEOUT_MS;
  let before: number | undefined;
  for (;;) {
    let lock: FileLock;
    try {
      lock = lockPlace(path, true);
    } catch (error) {
      // Another opener may be migrating the file.
      if (performance.now() < latest && existsSync(path) && versionOf(path) < SCHEMA_VERSION) continue;
      throw error;
    }
    try {
      const version = versionOf(path);
      if (version >= SCHEMA_VERSION) return { lock, before };
      lock.release();
      const alone = lockAlone(path);
      if (alone === undefined) {
        if (performance.now() > latest) throw outdated(path, version);
        continue;
      }
      try {
        before = create(path, true, logger).before;
      } finally {
        alone.release();
      }
    } catch (error) {
      lock.release();
      throw error;
    }
  }
}

/** Checks the schema version again: an upgraded program must not change the tables that running processes read. */
function checkAgain(path: string): void {
  const version = versionOf(path);
  // 0: the file was removed.
  if (version === 0 || version === SCHEMA_VERSION) return;
  const why = `its schema is version ${version}, and this program has ${SCHEMA_VERSION}`;
  throw new StoreError("failed", `Cannot open ${path} again: ${why}. Restart the server.`);
}

function versionOf(path: string): number {
  try {
    return withFile(path, { timeoutMs: WRITE_TIMEOUT_MS }, (db) => numberIn(db.pragma("user_version")));
  } catch (error) {
    throw openError(path, error);
  }
}

/** Locks a file exclusively; undefined if it is in use. */
function lockAlone(path: string): FileLock | undefined {
  try {
    return lockFile(realpathSync(path), false, ALONE_MS);
  } catch (error) {
    // In use: the cause is SQLite's own error.
    if (error instanceof Error && codeOf(error.cause).startsWith("SQLITE_BUSY")) return undefined;
    throw openError(path, error);
  }
}

function outdated(path: string, version: number): StoreError {
  const what = version === 0 ? "it has no tables yet" : `its schema is version ${version}`;
  return new StoreError(
    "failed",
    `Cannot open ${path}: ${what}, this program brings it to ${SCHEMA_VERSION}, and ${holdersOf(realpathSync(path))} ` +
      "has it open meanwhile, which may be an older program. End all that share the file, then start this one.",
  );
}

export function checkPlace(path: string): void {
  const directory = dirname(path);
  if (!existsSync(directory)) {
    throw new StoreError("failed", `Cannot open ${path}: the directory ${directory} does not exist.`);
  }
  if (existsSync(path) && !statSync(path).isFile()) {
    throw new StoreError("failed", `Cannot open ${path}: it is not a file.`);
  }
}

/** The application and version of a file; undefined if it has no tables yet. */
export interface Identity {
  readonly application: number;
  readonly version: number;
}

function inspect(path: string): void {
  try {
    // Without a log the header is authoritative, and reading it leaves nothing in the directory. With a log, the file
    // is in use or a crash left it: only a connection can read it, and closing a descriptor of ours would drop the
    // locks of another store in this process.
    if (!existsSync(`${path}-wal`)) judge(path, readHeader(path));
    // The process that created it was killed: only a writable connection can roll that back.
    if (existsSync(`${path}-journal`)) return;
    withFile(path, { readonly: true, timeoutMs: READ_TIMEOUT_MS }, (db) => {
      judge(path, readIdentity(db));
      if (statSync(path).size <= FULL_CHECK_BYTES) quickCheck(path, db);
    });
  } catch (error) {
    throw openError(path, error);
  }
}

export function readIdentity(db: Database): Identity | undefined {
  const application = numberIn(db.pragma("application_id"));
  const version = numberIn(db.pragma("user_version"));
  const isEmpty = db.rows("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
  return isEmpty && application === 0 ? undefined : { application, version };
}

/** Reads the first 100 bytes (https://www.sqlite.org/fileformat.html, section 1.3). */
function readHeader(path: string): Identity | undefined {
  const header = Buffer.alloc(100);
  const file = openSync(path, "r");
  try {
    const read = readSync(file, header, 0, header.length, 0);
    if (read < header.length || header.toString("latin1", 0, 16) !== "SQLite format 3\0") {
      throw new StoreError("damaged", `${path} is damaged or no database: it does not begin like one.`);
    }
  } finally {
    closeSync(file);
  }
  const application = header.readInt32BE(68);
  // The file has only a header: another process is about to create the tables, or was killed before it did.
  if (application === 0 && header.readUInt32BE(40) === 0) return undefined;
  return { application, version: header.readInt32BE(60) };
}

export function judge(path: string, identity: Identity | undefined): void {
  if (identity === undefined) return;
  if (identity.application === COPY_ID) {
    throw new StoreError(
      "failed",
      `Cannot open ${path}: it is the target of an unfinished "parley store copy". Run that command again to start over.`,
    );
  }
  if (identity.application !== APPLICATION_ID) {
    throw new StoreError("failed", `Cannot open ${path}: it is the database of another application.`);
  }
  if (identity.version > SCHEMA_VERSION) {
    throw new StoreError(
      "newer-schema",
      `Cannot open ${path}: its schema is version ${identity.version}, and this program knows versions up to ` +
        `${SCHEMA_VERSION}. Use the newer program that wrote it.`,
    );
  }
}

function quickCheck(path: string, db: Database): void {
  const found = db.pragma("quick_check(1)");
  if (found !== "ok") throw new StoreError("damaged", `${path} is damaged: ${String(found)}`);
}

/** Resolves links, so that a file has one lock; therefore the file must exist first. @throws StoreError */
export function lockPlace(path: string, shared: boolean): FileLock {
  try {
    createPrivate(path);
    return lockFile(realpathSync(path), shared);
  } catch (error) {
    throw openError(path, error);
  }
}

/** @param others true if other processes may have the file open */
function create(path: string, others: boolean, logger: Logger): Omit<Prepared, "path" | "lock"> {
  try {
    return withFile(path, { timeoutMs: WRITE_TIMEOUT_MS }, (db) => prepare(db, path, others, logger));
  } catch (error) {
    throw openError(path, error);
  }
}

function prepare(db: Database, path: string, others: boolean, logger: Logger): Omit<Prepared, "path" | "lock"> {
  // Must be set before anything else is written.
  if (statSync(path).size === 0) db.pragma(`auto_vacuum = ${INCREMENTAL}`);
  const mode = db.pragma("journal_mode = WAL");
  if (mode !== "wal") {
    throw new StoreError("failed", `Cannot open ${path}: its file system does not allow a write-ahead log (${mode}).`);
  }
  db.pragma("synchronous = FULL");
  // Only a write transaction shows if the file is writable.
  db.exec("BEGIN IMMEDIATE; ROLLBACK");
  const before = migrate(db, SCHEMA_VERSION, progressOf(path, logger));
  judge(path, { application: APPLICATION_ID, version: before });
  if (!others && statSync(path).size <= MAX_REWRITTEN_BYTES) letShrink(db);
  if (!others && before > 0) distinguish(db);
  else if (!isMarkedInUse(db)) markInUse(db);
  // The processes that claimed these are gone.
  if (!others) db.exec("UPDATE push_config SET holder = NULL, claim = NULL WHERE holder IS NOT NULL");
  logRestoration(path, db, logger);
  return { before, deadHolders: others ? undefined : holdersIn(db), restorations: readRestorations(db) };
}

/**
 * Marks the file as open. The changed schema also distinguishes it from earlier copies of it, so that the log of one is
 * not applied to the other (see `isForeignLog`).
 */
function distinguish(db: Database): void {
  // Leaves nothing else in the log, so that a crash here loses nothing.
  db.pragma("wal_checkpoint(TRUNCATE)");
  markInUse(db);
}

/** Rewrites an older file so that it can shrink. */
function letShrink(db: Database): void {
  if (db.pragma("auto_vacuum") === INCREMENTAL) return;
  try {
    db.exec(`PRAGMA auto_vacuum = ${INCREMENTAL}; VACUUM`);
  } catch {
    // The file stays as it is, which is harmless: the disk has not enough space for a copy, or another program reads
    // it.
  }
}

/** Logs once that the file was restored: it lacks everything that its original stored after the copy. */
function logRestoration(path: string, db: Database, logger: Logger): void {
  const found = noteRestoration(db);
  if (found === undefined) return;
  const fields = { path, copiedAt: new Date(found.time).toISOString(), webhooks: found.due };
  logger.warn(
    fields,
    "the store was restored from a copy: tasks continue from that time, and undelivered notifications may be " +
      "repeated to their webhooks, under the same webhook-id",
  );
}

/** Logs the progress of a long migration, during which nothing is served. */
function progressOf(path: string, logger: Logger): (bytes: number) => void {
  const fileMiB = mebibytes(statSync(path).size);
  let next = Date.now() + PROGRESS_MS;
  return (bytes) => {
    if (Date.now() < next) return;
    next = Date.now() + PROGRESS_MS;
    logger.info({ path, doneMiB: mebibytes(bytes), fileMiB }, "bringing the store to the current schema");
  };
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}

function openError(path: string, error: unknown): StoreError {
  if (/^(SQLITE_READONLY|SQLITE_CANTOPEN|EACCES|EPERM|EROFS)/.test(codeOf(error))) {
    const message = `Cannot open ${path}: it may not be written, or its directory may not.`;
    return new StoreError("failed", message, { cause: error });
  }
  return toStoreError(error, `Cannot open ${path}`);
}
