import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { StoreError } from "../task-store.js";
import { identify } from "./backup-check.js";
import { READ_TIMEOUT_MS } from "./connection.js";
import { sqliteDriver } from "./driver/choose.js";
import { toStoreError } from "./errors.js";
import { SCHEMA_VERSION } from "./migrations.js";

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
export function schemaOf(given: string): number {
  const path = resolve(given);
  try {
    const db = sqliteDriver().open(path, { mustExist: true, timeoutMs: READ_TIMEOUT_MS });
    try {
      return identify(db, path);
    } finally {
      db.close();
    }
  } catch (error) {
    throw toStoreError(error, `Cannot open ${path}`);
  }
}
