import { DEAD, EXAMINED_DELIVERIES } from "../deliveries.js";
import { type AttemptRow, type DeadRow, type DeliveryRow, deliveryPage, toAttempt, toDead } from "../delivery-rows.js";
import type { DeadDelivery, DeadDeliveryRequest, DeliveryPage, ListDeliveries } from "../push-store.js";
import type { FailedAttempt, PushConfigKey, StoredPushConfig } from "../task-store.js";
import { type Database, first, type Row, type Value } from "./database.js";
import { lastSegment } from "./heads.js";

type ConfigRow = [configId: string, bytes: Uint8Array, position: number];

/** Columns of a `DeliveryRow` and of a `DeadRow`. */
const LISTED =
  "p.task_id, p.config_id, p.tenant, p.owner, p.target, p.state, p.position, l.last, p.attempts, p.failure, " +
  "p.failing_since, p.at, p.holder";
const LISTED_DEAD =
  "p.task_id, p.config_id, p.tenant, p.owner, p.target, p.position, l.last, p.failure, p.failing_since, p.at, p.bytes";

export async function getPushConfig(
  db: Database,
  { taskId, configId }: PushConfigKey,
): Promise<StoredPushConfig | undefined> {
  const sql = `SELECT config_id, bytes, position FROM ${db.schema}.push_config WHERE task_id = $1 AND config_id = $2`;
  const row = await first(db.query<ConfigRow>(sql, [taskId, configId]));
  return row && { bytes: row[1], position: row[2] };
}

export async function listPushConfigs(
  db: Database,
  request: { readonly taskId: string; readonly after: string; readonly limit: number },
): Promise<{ configId: string; config: StoredPushConfig }[]> {
  const sql =
    `SELECT config_id, bytes, position FROM ${db.schema}.push_config WHERE task_id = $1 AND config_id > $2 ` +
    "ORDER BY config_id LIMIT $3";
  const rows = await db.query<ConfigRow>(sql, [request.taskId, request.after, request.limit]);
  return rows.map(([configId, bytes, position]) => ({ configId, config: { bytes, position } }));
}

export async function scanPushConfigs(
  db: Database,
  { after, limit }: { readonly after?: PushConfigKey; readonly limit: number },
): Promise<(PushConfigKey & { readonly bytes: Uint8Array })[]> {
  const sql =
    `SELECT task_id, config_id, bytes FROM ${db.schema}.push_config WHERE (task_id, config_id) > ($1, $2) ` +
    "ORDER BY task_id, config_id LIMIT $3";
  const values = [after?.taskId ?? "", after?.configId ?? "", limit];
  const rows = await db.query<[string, string, Uint8Array]>(sql, values);
  return rows.map(([taskId, configId, bytes]) => ({ taskId, configId, bytes }));
}

export async function listAttempts(db: Database, { taskId, configId }: PushConfigKey): Promise<FailedAttempt[]> {
  const rows = await db.query<AttemptRow>(
    `SELECT time, duration_ms, generation, status, answer, failure, holder FROM ${db.schema}.push_attempt ` +
      "WHERE task_id = $1 AND config_id = $2 ORDER BY number DESC",
    [taskId, configId],
  );
  return rows.map(toAttempt);
}

export async function listDeadDeliveries(
  db: Database,
  { tenant, owner, target, after, limit }: DeadDeliveryRequest,
): Promise<DeadDelivery[]> {
  const rows = await rowsOf<DeadRow>(db, LISTED_DEAD, { states: ["dead"], tenant, owner, target, after, limit });
  return rows.map(toDead);
}

export async function listDeliveries(db: Database, request: ListDeliveries): Promise<DeliveryPage> {
  return deliveryPage(await rowsOf<DeliveryRow>(db, LISTED, narrowed(request)), request);
}

/** Rows that match all filters, in the order of their keys. `states` is empty or `dead`. */
async function rowsOf<R extends Row>(db: Database, columns: string, request: ListDeliveries): Promise<R[]> {
  const values: Value[] = [request.after?.taskId ?? "", request.after?.configId ?? "", request.limit];
  let where = "(p.task_id, p.config_id) > ($1, $2)";
  const filters = [
    ["p.task_id", request.taskId],
    ["p.tenant", request.tenant],
    ["p.owner", request.owner],
    ["p.target", request.target],
  ] as const;
  for (const [column, value] of filters) if (value !== undefined) where += ` AND ${column} = $${values.push(value)}`;
  if (request.states !== undefined && request.states.length > 0) where += ` AND p.state = ${DEAD}`;
  return db.query<R>(
    `SELECT ${columns} FROM (SELECT * FROM ${db.schema}.push_config p WHERE ${where} ` +
      `ORDER BY p.task_id, p.config_id LIMIT $3) p JOIN ${db.schema}.task t ON t.task_id = p.task_id ` +
      `${lastSegment(db.schema)} ORDER BY p.task_id, p.config_id`,
    values,
  );
}

/** The filter with the best index; the page applies the others to what it examines. */
function narrowed({ states = [], taskId, target, owner, after }: ListDeliveries): ListDeliveries {
  const page = { after, limit: EXAMINED_DELIVERIES };
  if (taskId !== undefined) return { ...page, taskId };
  if (states.length > 0 && states.every((state) => state === "dead")) return { ...page, states };
  return target !== undefined ? { ...page, target } : { ...page, owner };
}
