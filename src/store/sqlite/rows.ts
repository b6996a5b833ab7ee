import { type StateColumns, toLease } from "../head-rows.js";
import type { IdempotencyKey, IdempotencyRecord, TaskHead } from "../task-store.js";
import type { Database } from "./driver/driver.js";

/** Columns after those of the task's identity. */
const STATE_COLUMNS = "context_id, state, status_time, position, generation, lease_holder, lease_turn, lease_attempt";

/** Columns of a head row in the order of HeadRow. */
export const HEAD_COLUMNS: string = `task_id, tenant, owner, ${STATE_COLUMNS}`;

/**
 * Columns of a row of a list, whose tenant and owner come from its request. Each column costs as much as a field of
 * JSON.
 */
export const LISTED_COLUMNS: string = `task_id, ${STATE_COLUMNS}`;

/** A row of a list as an array. */
export type ListedRow = [taskId: string, ...state: StateColumns];

/** Converts a row of a list. */
export function toListedHead(row: ListedRow, { tenant, owner }: { tenant: string; owner: string }): TaskHead {
  const [taskId, contextId, state, statusTime, position, generation, holder, turn, attempt] = row;
  const lease = toLease(holder, turn, attempt);
  return { taskId, tenant, owner, contextId, state, statusTime, position, generation, lease };
}

/** Returns the record of an idempotency key. */
export function findSend(db: Database, { tenant, owner, key }: IdempotencyKey): IdempotencyRecord | undefined {
  const row = db
    .rows<[string, string, number]>(
      "SELECT fingerprint, task_id, position FROM send WHERE tenant = ? AND owner = ? AND key = ?",
    )
    .get(tenant, owner, key);
  return row && { fingerprint: row[0], taskId: row[1], position: row[2] };
}

/**
 * The largest value stored in its row, in bytes. A row of a table without rowid may take a quarter of a page, about
 * 1,000 bytes, before SQLite moves the rest to overflow pages and has to fetch it for each key comparison.
 */
export const MAX_INLINE_BYTES = 900;

/** Stores a large value. Returns its id. */
export function addBlob(db: Database, bytes: Uint8Array): number | bigint {
  return db.command("INSERT INTO blob (bytes) VALUES (?)").run(bytes).lastInsertRowid;
}
