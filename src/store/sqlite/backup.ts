import { existsSync, realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { silentLogger } from "../../core/log.js";
import type { BackupResult } from "../task-store.js";
import { checkContents, identify } from "./backup-check.js";
import { addTrailer, createWhole, expectFile } from "./backup-file.js";
import { READ_TIMEOUT_MS, WRITE_TIMEOUT_MS, withFile } from "./connection.js";
import { toStoreError } from "./errors.js";
import { moveLog, setForeignLogAside } from "./foreign-log.js";
import { markCopied } from "./restoration.js";

/**
 * Copies the file of a store into a new file. The copy is consistent: it contains everything that was acknowledged
 * before the call, and whole transactions only. Any process may have the store open, shared or not, and continue to
 * write to its log, which grows until the copy is complete. The copy is checked before it gets its name.
 *
 * Blocks this thread, so servers run it in a process of its own.
 * @param partial the temporary name; default: a new one
 * @throws StoreError `failed` if the file does not exist, belongs to another application or the target exists;
 * `damaged`, `newer-schema`; `unavailable` if the disk is full or fails
 */
export async function backUpFile(given: string, to: string, partial?: string): Promise<BackupResult> {
  const path = resolve(given);
  const target = resolve(to);
  try {
    expectFile(path);
    const source = realpathSync(path);
    setForeignLogAside(source, silentLogger);
    const copy = async (name: string): Promise<BackupResult> => {
      const time = Date.now();
      copyContents(source, name);
      finish(name, time);
      await addTrailer(name);
      return { path: target, bytes: statSync(name).size, time };
    };
    return await createWhole(target, copy, partial);
  } catch (error) {
    throw toStoreError(error, `Cannot back up ${path} to ${target}`);
  }
}

function copyContents(source: string, partial: string): void {
  const isInUse = existsSync(`${source}-wal`);
  try {
    withFile(source, { readonly: true, timeoutMs: READ_TIMEOUT_MS }, (db) => {
      identify(db, source);
      // A page-by-page copy would need to start again with each commit of another process, and would have the schema
      // change count of its original, by which logs of other files are recognized.
      db.exec(`VACUUM INTO '${partial.replaceAll("'", "''")}'`);
    });
  } finally {
    // A connection that only reads leaves an empty log.
    if (!isInUse) moveLog(source);
  }
}

/** Checks and marks the copy, which no other process uses. */
function finish(partial: string, time: number): void {
  withFile(partial, { mustExist: true, timeoutMs: WRITE_TIMEOUT_MS }, (db) => {
    db.pragma("journal_mode = MEMORY");
    checkContents(db, partial);
    markCopied(db, { time, until: Math.max(time, Date.now()) });
  });
}
