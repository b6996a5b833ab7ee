import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { silentLogger } from "../../core/log.js";
import { StoreError } from "../task-store.js";
import { checkContents } from "./backup-check.js";
import { checkNew, copyWithoutTrailer, createWhole, expectFile } from "./backup-file.js";
import { WRITE_TIMEOUT_MS, withFile } from "./connection.js";
import type { Database } from "./driver/driver.js";
import { toStoreError } from "./errors.js";
import { setLogAside } from "./foreign-log.js";
import { hasLogFormat, isMarkedInUse } from "./in-use.js";
import { lockFile } from "./lock.js";
import { type CopyMark, markCopied, readCopyMark } from "./restoration.js";

export interface RestoreResult {
  readonly path: string;
  readonly tasks: number;
  /** Time of its contents, in milliseconds since the epoch; undefined if `parley backup` did not make it. */
  readonly time: number | undefined;
}

/**
 * Makes the file of a store from a backup, after checking all of it. The file must not exist, and no process may have
 * had it open. The next server that opens it knows that it was restored.
 *
 * Also restores a file that another program copied, such as that of a stopped server. It has no digest to check. Refuses
 * a copy of an open file, which lacks what its log has.
 * @throws StoreError `failed` if the backup does not exist or is in use, or the target exists or is in use; `damaged`;
 * `newer-schema`; `unavailable` if the disk is full or fails
 */
export async function restoreFile(backup: string, to: string): Promise<RestoreResult> {
  const from = resolve(backup);
  const path = resolve(to);
  try {
    checkBackup(from);
    checkNew(path);
    const real = join(realpathSync(dirname(path)), basename(path));
    const lock = lockFile(real, false);
    try {
      return await createWhole(real, async (partial) => {
        const hasDigest = await copyWithoutTrailer(from, partial);
        const result = finish(partial, from, hasDigest);
        // The file was removed without its log, which SQLite would apply to the restored one.
        if (existsSync(`${real}-wal`)) setLogAside(real, silentLogger);
        return { ...result, path: real };
      });
    } finally {
      lock.release();
    }
  } catch (error) {
    throw toStoreError(error, `Cannot restore ${from} to ${path}`);
  }
}

function checkBackup(from: string): void {
  expectFile(from);
  for (const suffix of ["-wal", "-journal"]) {
    const size = statSync(`${from}${suffix}`, { throwIfNoEntry: false })?.size ?? 0;
    if (size === 0) continue;
    throw new StoreError(
      "failed",
      `${from} is not a whole copy: ${basename(from)}${suffix} has changes that are not in it. Copy it by parley backup.`,
    );
  }
}

/** Checks and marks the copy, which no other process uses. Errors name the backup. */
function finish(partial: string, from: string, hasDigest: boolean): Omit<RestoreResult, "path"> {
  return withFile(partial, { mustExist: true, timeoutMs: WRITE_TIMEOUT_MS }, (db) => {
    checkContents(db, from);
    const mark = readCopyMark(db);
    if (!hasDigest && isMarkedInUse(db) && hasLogFormat(from)) {
      const why = "a store had it open when it was copied, and the latest changes may be missing";
      throw new StoreError("failed", `${from} is not a whole copy: ${why}. Copy it by parley backup.`);
    }
    if (mark !== undefined && !hasDigest) {
      throw new StoreError("damaged", `${from} is damaged: its end is missing, which has the digest.`);
    }
    // Leaves no log beside the file, whichever journal its server used.
    db.pragma("journal_mode = DELETE");
    if (mark === undefined) markCopied(db, lastTimesIn(db));
    const tasks = db.values<number>("SELECT count(*) FROM head").get() ?? 0;
    return { tasks, time: mark?.time };
  });
}

/** Estimates the mark of a copy that has none. */
function lastTimesIn(db: Database): CopyMark {
  const time = db.values<number>("SELECT coalesce(max(status_time), 0) FROM head").get() ?? 0;
  return { time, until: time };
}
