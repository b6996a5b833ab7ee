import { existsSync, statSync } from "node:fs";
import type { Logger } from "../../core/log.js";
import { schemaOf } from "./current.js";
import { lockedAlone } from "./lock.js";
import { SCHEMA_VERSION } from "./migrations.js";
import { prepareFile } from "./open.js";

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
