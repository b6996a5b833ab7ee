// Stores tasks in an SQLite file.

import { type Logger, silentLogger } from "../../core/log.js";
import * as check from "../../core/options.js";
import { StoreError } from "../task-store.js";
import { assemble, defaultTimes, type SqliteStore } from "./assemble.js";
import type { Synchronous } from "./connection.js";
import { sqliteDriver } from "./driver/choose.js";
import { closeFiles } from "./file-identity.js";
import { leaveLog } from "./foreign-log.js";
import { unmarkInUse } from "./in-use.js";
import { SCHEMA_VERSION } from "./migrations.js";
import { logPreparation, prepareFile } from "./open.js";
import { startWriter } from "./start-writer.js";

export type { SqliteStore } from "./assemble.js";

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
  logPreparation(file, logger);
  try {
    return assemble({
      file,
      settings,
      shared,
      foreign: shared,
      writer: "thread",
      start: (files) => {
        const schema = shared ? SCHEMA_VERSION : undefined;
        return startWriter({
          path: file.path,
          synchronous,
          files,
          deadHolders: file.deadHolders,
          schema,
          driver: driver.name,
        });
      },
      afterClose: (files, fault) => {
        leaveLog(files, fault, logger);
        closeFiles(files);
        file.lock.release();
        if (fault === undefined) unmarkInUse(file.path);
      },
    });
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
  ...defaultTimes,
  logger: silentLogger,
} as const;

/** Applies the defaults. @throws StoreError `failed` that names every wrong option. */
function checked(options: SqliteStoreOptions): Required<SqliteStoreOptions> {
  const faults = check.optionFaults(options, checks, "", ["path"]);
  if (faults.length > 0) throw new StoreError("failed", `The SQLite store cannot be opened: ${faults.join("; ")}.`);
  return { ...defaults, ...check.given(options) };
}
