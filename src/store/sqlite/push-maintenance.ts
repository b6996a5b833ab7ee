import { existsSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import type { DeadDelivery, DeadDeliveryRequest, PushConfigKey } from "../push-store.js";
import { StoreError } from "../task-store.js";
import { numberIn } from "./column.js";
import { APPLICATION_ID, immediate, WRITE_TIMEOUT_MS } from "./connection.js";
import { sqliteDriver } from "./driver/choose.js";
import type { Database } from "./driver/driver.js";
import { toStoreError } from "./errors.js";
import { SCHEMA_VERSION } from "./migrations.js";
import { PushConfigs } from "./push-configs.js";
import { deadQuery, deadValues, toDead } from "./push-rows.js";
import { redriveInSteps } from "./redrive.js";

/** Dead push notifications, in a file that a server may have open. */
export interface PushMaintenance {
  /** See `PushStore.listDeadDeliveries`. */
  listDead(request: DeadDeliveryRequest): DeadDelivery[];
  /**
   * See `PushStore.redriveDeliveries`. A running server finds them at its next poll: within a second on a shared file,
   * else within 30.
   */
  redrive(request: { readonly now: number; readonly keys?: readonly PushConfigKey[] }): Promise<number>;
  close(): void;
}

/**
 * Opens a file that a server may have open: takes no store lock and writes in short transactions. Neither creates nor
 * migrates the file.
 * @throws StoreError `failed` if the file is missing, of another application, or of an earlier version; `newer-schema`
 */
export function openPushMaintenance(given: string): PushMaintenance {
  const path = resolve(given);
  if (!existsSync(path)) throw new StoreError("failed", `Cannot open ${path}: the file does not exist.`);
  let db: Database | undefined;
  try {
    db = sqliteDriver().open(realpathSync(path), { mustExist: true, timeoutMs: WRITE_TIMEOUT_MS });
    checkVersion(db, path);
    db.pragma("synchronous = FULL");
    return maintenanceOf(db, path);
  } catch (error) {
    db?.close();
    throw toStoreError(error, `Cannot open ${path}`);
  }
}

function maintenanceOf(db: Database, path: string): PushMaintenance {
  const dead = deadQuery(db);
  const configs = new PushConfigs(db);
  const listDead = (request: DeadDeliveryRequest): DeadDelivery[] => dead.all(...deadValues(request)).map(toDead);
  return {
    listDead,
    async redrive({ now, keys }) {
      // Holds the write lock, so that no other program changes the tables meanwhile.
      const redrive = (step: readonly PushConfigKey[]): number =>
        immediate(db, () => {
          checkVersion(db, path);
          return configs.redrive({ now, keys: step });
        });
      const listAfter = (after: PushConfigKey | undefined, limit: number): DeadDelivery[] =>
        listDead({ limit, ...(after && { after }) });
      try {
        return await redriveInSteps({ listDead: listAfter, redrive }, keys);
      } catch (error) {
        throw toStoreError(error, `Cannot write ${path}`);
      }
    },
    close: () => db.close(),
  };
}

function checkVersion(db: Database, path: string): void {
  if (db.pragma("application_id") !== APPLICATION_ID) {
    throw new StoreError("failed", `Cannot open ${path}: it is not a Parley database.`);
  }
  const version = numberIn(db.pragma("user_version"));
  if (version === SCHEMA_VERSION) return;
  const what = `Cannot open ${path}: its schema is version ${version}, and this program knows ${SCHEMA_VERSION}.`;
  if (version > SCHEMA_VERSION) throw new StoreError("newer-schema", `${what} Use the newer program that wrote it.`);
  throw new StoreError("failed", `${what} Start a server of this version with it once.`);
}
