// Stores tasks in an SQLite file.

import { stat } from "node:fs/promises";
import type { Worker } from "node:worker_threads";
import { type Logger, silentLogger } from "../../core/log.js";
import * as check from "../../core/options.js";
import { checkRequest } from "../check.js";
import type { StoreHealth } from "../health.js";
import { type CensusStore, NO_HOLDER, StoreError, type TaskStore } from "../task-store.js";
import type { Backups } from "./backups.js";
import { openReader, type Synchronous } from "./connection.js";
import { sqliteDriver } from "./driver/choose.js";
import { FileGuard } from "./file-guard.js";
import { closeFiles, openFiles } from "./file-identity.js";
import { leaveLog } from "./foreign-log.js";
import { SCHEMA_VERSION } from "./migrations.js";
import { type Prepared, prepareFile } from "./open.js";
import { operatorStoreOf } from "./operator-store.js";
import { pushStoreOf } from "./push-store.js";
import { Reader } from "./reader.js";
import { removeFinished } from "./removal.js";
import { StoreFaults } from "./store-faults.js";
import { startWriter } from "./thread.js";
import { watchFiles, watchSchema } from "./watch.js";
import { WriterClient, type WriterStatistics } from "./writer-client.js";

/** Options of `sqliteStore`. */
export interface SqliteStoreOptions {
  /** The file. It is created if missing; its directory is not. */
  readonly path: string;
  /**
   * `FULL` (the default): an acknowledged append survives a crash of the machine. `NORMAL`: it survives a crash of the
   * process, but a power failure may lose the most recent ones.
   */
  readonly synchronous?: Synchronous;
  /**
   * False (the default): the store rejects a file that another process has open, and takes over interrupted tasks at
   * once. True: several processes may open it, if all of them set this; they take over tasks of a process that sent no
   * heartbeat for `leaseMs`.
   */
  readonly shared?: boolean;
  /**
   * A pending write older than this makes the store unhealthy, in milliseconds, with a resolution of half a second.
   * Default 1,250, so that it is detected within two seconds.
   */
  readonly stallMs?: number;
  /**
   * A pending write older than this fails with `unavailable`, its outcome unknown, as do all later writes until the
   * disk recovers; in milliseconds, with a resolution of half a second. Default 5,000.
   */
  readonly writeTimeoutMs?: number;
  readonly logger?: Logger;
}

/** An SQLite store, with operations for its operator. */
export interface SqliteStore extends TaskStore {
  /** Numbers of writes and of commits. */
  readonly statistics: WriterStatistics;
}

/**
 * Keeps tasks in an SQLite file. A writer thread commits all writes that arrive together in one transaction; this
 * thread reads, on a separate connection.
 *
 * @throws StoreError at once: `damaged` and `newer-schema` leave the file as it is, `failed` if it cannot be used;
 * after two seconds `failed` if another store has it open.
 */
export function sqliteStore(options: string | SqliteStoreOptions): SqliteStore {
  const settings = checked(typeof options === "string" ? { path: options } : options);
  const { path, synchronous, shared, logger } = settings;
  const driver = sqliteDriver();
  const file = prepareFile(path, shared, logger);
  if (file.before !== SCHEMA_VERSION) {
    const what = file.before === 0 ? "created the file of the store" : "brought the store to the current schema";
    logger.info({ path: file.path, from: file.before, to: SCHEMA_VERSION }, what);
  }
  try {
    const reader = new Reader(openReader(file.path));
    // The reader has created SQLite's log, which exists as long as any connection has the file open.
    const files = openFiles(file.path);
    const guard = new FileGuard(files);
    const troubles = new StoreFaults();
    const schema = shared ? SCHEMA_VERSION : undefined;
    const start = (): Worker =>
      startWriter({ path: file.path, synchronous, files, gone: file.gone, schema, driver: driver.name });
    const writer = new WriterClient({ ...settings, start, troubles });
    const unwatchFiles = watchFiles(files, guard, troubles);
    const unwatchSchema = shared ? watchSchema(reader, file.path, troubles) : () => {};
    const unwatch = (): void => {
      unwatchFiles();
      unwatchSchema();
    };
    logger.info({ path: file.path, driver: driver.name, sqlite: driver.version }, "the SQLite store is open");
    const leave = (): void => {
      leaveLog(files, troubles.fileFault ?? guard.checkNow(), logger);
      guard.close();
      closeFiles(files);
      file.lock.release();
    };
    const backups = async (): Promise<Backups> => new (await import("./backups.js")).Backups(file.path, driver.name);
    return compose({ reader, writer, backups, file, health: troubles.health, shared, unwatch, leave });
  } catch (error) {
    file.lock.release();
    throw error;
  }
}

const timeMs = check.aWholeNumber(1, Number.MAX_SAFE_INTEGER);

const checks: check.OptionChecks<SqliteStoreOptions> = {
  path: check.aText(),
  synchronous: check.oneOf(["FULL", "NORMAL"]),
  shared: check.aBoolean(),
  stallMs: timeMs,
  writeTimeoutMs: timeMs,
  logger: check.aLogger(),
};

const defaults = {
  synchronous: "FULL",
  shared: false,
  stallMs: 1_250,
  writeTimeoutMs: 5_000,
  logger: silentLogger,
} as const;

/** Applies the defaults. @throws StoreError `failed` that names every wrong option. */
function checked(options: SqliteStoreOptions): Required<SqliteStoreOptions> {
  const faults = check.optionFaults(options, checks, "", ["path"]);
  if (faults.length > 0) throw new StoreError("failed", `The SQLite store cannot be opened: ${faults.join("; ")}.`);
  return { ...defaults, ...check.given(options) };
}

interface Parts {
  readonly reader: Reader;
  readonly writer: WriterClient;
  /** Loads the code of backups, which few servers use. */
  readonly backups: () => Promise<Backups>;
  readonly file: Prepared;
  readonly health: StoreHealth;
  readonly shared: boolean;
  readonly unwatch: () => void;
  /** Cleans up the files after the last connection has closed, and releases the lock. */
  readonly leave: () => void;
}

function compose({ reader, writer, backups: loadBackups, file, health, shared, unwatch, leave }: Parts): SqliteStore {
  // Holders whose leases can be claimed if no other process can have the file: then a read tells whether any exist.
  const claimable = file.gone && [NO_HOLDER, ...file.gone];
  let closed: Promise<void> | undefined;
  let backups: Promise<Backups> | undefined;
  const close = async (): Promise<void> => {
    unwatch();
    (await backups)?.close();
    reader.retire();
    try {
      // While the reader is open, SQLite does not checkpoint by itself: the name may lead to another file by now.
      await writer.close();
    } finally {
      reader.close();
    }
    // A hanging thread may still write, so the file stays locked.
    leave();
  };
  return {
    shared,
    health,
    restorations: file.restorations,
    ...censusStoreOf(reader, writer, file.path),
    get statistics() {
      return writer.statistics;
    },
    async append(request) {
      checkRequest(request);
      return writer.append(request);
    },
    ...readsOf(reader),
    saveSnapshot: async (request) => writer.saveSnapshot(request),
    async claimLeases(request) {
      if (claimable?.every((holder) => reader.leasesOf({ holder, after: "", limit: 1 }).length === 0)) return [];
      return writer.call("claimLeases", request);
    },
    // No other process can have the file, so heartbeats are not needed.
    heartbeat: async (request) => !shared || writer.call("heartbeat", request),
    leasesOf: async (request) => reader.leasesOf(request),
    setLease: async (request) => writer.call("setLease", request),
    removeFinished: async (request) => removeFinished(writer, request),
    ...operatorStoreOf(reader, writer),
    ...pushStoreOf(reader, writer),
    async backup(request) {
      if (closed !== undefined) throw new StoreError("closed", "The store is closed.");
      backups ??= loadBackups();
      return (await backups).make(request);
    },
    close: () => (closed ??= close()),
  };
}

function readsOf(
  reader: Reader,
): Pick<
  TaskStore,
  | "head"
  | "heads"
  | "load"
  | "loadMany"
  | "readSnapshot"
  | "read"
  | "list"
  | "countOpen"
  | "listInterrupted"
  | "conversation"
  | "findSend"
> {
  return {
    head: async ({ taskId }) => reader.head(taskId),
    heads: async ({ taskIds }) => reader.heads(taskIds),
    load: async (request) => reader.load(request),
    loadMany: async ({ taskIds }) => reader.loadMany(taskIds),
    readSnapshot: async ({ taskId, position, piece }) => reader.readSnapshot(taskId, position, piece),
    read: async (request) => reader.read(request),
    list: async (request) => reader.list(request),
    countOpen: async (request) => reader.countOpen(request),
    listInterrupted: async (request) => reader.listInterrupted(request),
    conversation: async (request) => reader.conversation(request),
    findSend: async (key) => reader.findSend(key),
  };
}

function censusStoreOf(reader: Reader, writer: WriterClient, path: string): CensusStore {
  return {
    kind: "sqlite",
    census: async () => ({ ...reader.census(), bytes: await bytesOf(path) }),
    onCommit: (observer) => writer.onCommit(observer),
  };
}

/** Size of the database, its log and its index, in bytes. */
async function bytesOf(path: string): Promise<number> {
  const sizes = ["", "-wal", "-shm"].map((end) =>
    stat(path + end)
      .then(({ size }) => size)
      .catch(() => 0),
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
