import { resolve } from "node:path";
import { StoreError } from "../task-store.js";
import { identify } from "./backup-check.js";
import { READ_TIMEOUT_MS } from "./connection.js";
import { sqliteDriver } from "./driver/choose.js";
import { toStoreError } from "./errors.js";
import { SCHEMA_VERSION } from "./migrations.js";

/**
 * Checks that a file has the current schema, so that opening it does not upgrade it.
 * @throws StoreError `failed` for an older schema or another application; `newer-schema`, `damaged`
 */
export function checkCurrent(given: string): void {
  const path = resolve(given);
  try {
    const db = sqliteDriver().open(path, { mustExist: true, timeoutMs: READ_TIMEOUT_MS });
    try {
      const version = identify(db, path);
      if (version === SCHEMA_VERSION) return;
      const what = `Cannot open ${path}: its schema is version ${version}, and this program knows ${SCHEMA_VERSION}.`;
      throw new StoreError("failed", `${what} Start a server of this version with it once.`);
    } finally {
      db.close();
    }
  } catch (error) {
    throw toStoreError(error, `Cannot open ${path}`);
  }
}
