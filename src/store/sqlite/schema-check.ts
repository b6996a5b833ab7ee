import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Logger } from "../../core/log.js";
import { StoreError } from "../task-store.js";
import { identify } from "./backup-check.js";
import { expectFile } from "./backup-file.js";
import { READ_TIMEOUT_MS, withFile } from "./connection.js";
import { toStoreError } from "./errors.js";
import { lockedAlone } from "./lock.js";
import { SCHEMA_VERSION } from "./migrations.js";
import { prepareFile } from "./open.js";

/**
 * Checks that a file has the current schema, so that opening it does not upgrade it.
 * @throws StoreError `failed` for a missing file, an older schema or another application; `newer-schema`, `damaged`
 */
export function checkCurrent(path: string): void {
  const version = existsSync(path) ? schemaOf(path) : undefined;
  if (version === SCHEMA_VERSION) return;
  const what =
    version === undefined
      ? "it does not exist"
      : `its schema is version ${version}, and this program needs ${SCHEMA_VERSION}`;
  throw new StoreError("failed", `Cannot open ${resolve(path)}: ${what}. Run "parley migrate --store ${path}" first.`);
}

/**
 * The schema version of a file, which is not changed.
 * @throws StoreError `failed` for another application or a file without tables; `newer-schema`, `damaged`
 */
function schemaOf(given: string): number {
  const path = resolve(given);
  try {
    expectFile(path);
    return withFile(path, { mustExist: true, timeoutMs: READ_TIMEOUT_MS }, (db) => identify(db, path));
  } catch (error) {
    throw toStoreError(error, `Cannot open ${path}`);
  }
}

/**
 * Brings a file to the current schema, and creates it if missing. Servers may have a file of the current schema open.
 * @returns the version before (0: it had no tables) and after
 * @throws StoreError as `prepareFile`
 */
export function migrateFile(path: string, logger: Logger): { readonly from: number; readonly to: number } {
  const isStored = existsSync(path) && statSync(path).size > 0;
  if (isStored && schemaOf(path) === SCHEMA_VERSION) return { from: SCHEMA_VERSION, to: SCHEMA_VERSION };
  const { before, lock } = lockedAlone(() => prepareFile(path, false, logger));
  lock.release();
  return { from: before, to: SCHEMA_VERSION };
}
