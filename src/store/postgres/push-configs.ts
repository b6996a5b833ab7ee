import {
  advanced,
  attemptOf,
  completed,
  counts,
  type Delivery,
  DUE,
  deliveryFrom,
  redriven,
  STORED_ATTEMPTS,
  type StoredConfig,
  type TaskOfConfigs,
} from "../deliveries.js";
import type { DeliveryProgress, FailedAttempt, PushConfigKey } from "../push-store.js";
import type { Request } from "../request.js";
import { TERMINAL } from "../states.js";
import type { DeliveryOutcome, PutPushOutcome } from "../task-store.js";
import { outcome } from "./append-function.js";
import { type Database, first, GUARDED, type Statements, type Value } from "./database.js";

interface PushRow extends StoredConfig {
  readonly key: PushConfigKey;
}

// Changes of push configurations. Each transaction locks the row of the task first, as an append does, so that no two
// transactions wait for each other.

export function putPushConfig(db: Database, request: Request<"putPushConfig">): Promise<PutPushOutcome> {
  const { taskId, configId, target, now } = request;
  const bytes = new Uint8Array(request.bytes);
  return db.transaction(async (on) => {
    const task = await taskOf(on, taskId);
    if (task === undefined) return "no-task";
    const row = await rowOf(on, task, { taskId, configId });
    const delivery = deliveryFrom(row?.delivery.position ?? task.position, task.position, now);
    if (row === undefined) {
      const excess = await excessOf(on, task, request);
      if (excess !== undefined) return excess;
      await on.query(
        `INSERT INTO ${db.schema}.push_config (task_id, config_id, tenant, owner, target, position, state, at, counted, ` +
          "bytes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        [
          ...[taskId, configId, task.tenant, task.owner, target, delivery.position, delivery.state, now],
          ...[counts(delivery.state, task.finished), bytes],
        ],
      );
    } else {
      const replace = `UPDATE ${db.schema}.push_config SET target = $3, bytes = $4 WHERE task_id = $1 AND config_id = $2`;
      await on.query(replace, [taskId, configId, target, bytes]);
      await forgetAttempts(on, row.key);
      await save(on, row, delivery, undefined);
    }
    await remark(on, taskId);
    return "put";
  });
}

export async function rewritePushConfig(
  db: Database,
  { taskId, configId, from, to }: Request<"rewritePushConfig">,
): Promise<boolean> {
  const sql = `UPDATE ${db.schema}.push_config SET bytes = $4 WHERE task_id = $1 AND config_id = $2 AND bytes = $3 RETURNING 1`;
  return (await db.query(sql, [taskId, configId, from, to])).length > 0;
}

export function deletePushConfig(db: Database, { taskId, configId }: PushConfigKey): Promise<void> {
  return db.transaction(async (on) => {
    if ((await taskOf(on, taskId)) === undefined) return;
    await on.query(`DELETE FROM ${db.schema}.push_config WHERE task_id = $1 AND config_id = $2`, [taskId, configId]);
    await forgetAttempts(on, { taskId, configId });
    await remark(on, taskId);
  });
}

export function savePushPosition(db: Database, request: DeliveryProgress): Promise<"saved" | "lost"> {
  return db.transaction(async (on) => {
    const row = await claimed(on, request);
    if (row === undefined) return "lost";
    const delivery = advanced(row.delivery, request.position);
    if (delivery !== row.delivery) await save(on, row, delivery, request);
    return "saved";
  }, GUARDED);
}

export function completeDelivery(
  db: Database,
  request: DeliveryProgress & { readonly outcome: DeliveryOutcome },
): Promise<"more" | "completed" | "lost"> {
  return db.transaction(async (on) => {
    const row = await claimed(on, request);
    if (row === undefined) return "lost";
    const moved = advanced(row.delivery, request.position);
    const delivery = completed(moved, request.outcome, row.task.position);
    if (delivery === undefined) {
      await save(on, row, moved, request);
      return "more";
    }
    await save(on, row, delivery, undefined);
    const attempt = attemptOf(request.outcome, request.holder);
    if (attempt !== undefined) await addAttempt(on, row.key, attempt);
    if (row.task.finished) await remark(on, row.key.taskId);
    return "completed";
  }, GUARDED);
}

/** Redrives configurations that are dead or wait for their next attempt. Returns their number. */
export async function redriveNamed(db: Database, keys: readonly PushConfigKey[], now: number): Promise<number> {
  let count = 0;
  for (const key of keys) {
    count += await db.transaction(async (on) => {
      const task = await taskOf(on, key.taskId);
      const row = task && (await rowOf(on, task, key));
      const delivery = row && redriven(row.delivery, row.holder !== null, now);
      if (row === undefined || delivery === undefined) return 0;
      await save(on, row, delivery, undefined);
      await remark(on, key.taskId);
      return 1;
    });
  }
  return count;
}

export async function rescheduleDeliveries(
  db: Database,
  { latest, to }: Request<"rescheduleDeliveries">,
): Promise<number> {
  const sql = `UPDATE ${db.schema}.push_config SET at = $1 WHERE state = ${DUE} AND at > $2 RETURNING 1`;
  return (await db.query(sql, [to, latest])).length;
}

/** Finds a task and locks its row. */
async function taskOf(on: Statements, taskId: string): Promise<TaskOfConfigs | undefined> {
  const locked = await first(
    on.query<[string, string, boolean, number]>(
      `SELECT tenant, owner, state IN (${TERMINAL}), log FROM ${on.schema}.task WHERE task_id = $1 FOR NO KEY UPDATE`,
      [taskId],
    ),
  );
  if (locked === undefined) return undefined;
  const [tenant, owner, finished, log] = locked;
  const last = `SELECT last FROM ${on.schema}.segment WHERE log = $1 ORDER BY last DESC LIMIT 1`;
  const position = (await first(on.query<[number]>(last, [log])))?.[0] ?? 0;
  return { taskId, tenant, owner, position, finished };
}

async function rowOf(on: Statements, task: TaskOfConfigs, key: PushConfigKey): Promise<PushRow | undefined> {
  const row = await first(
    on.query<[number, Delivery["state"], number, number, number | null, string | null, string | null, number | null]>(
      "SELECT position, state, at, attempts, failing_since, failure, holder, claim " +
        `FROM ${on.schema}.push_config WHERE task_id = $1 AND config_id = $2 FOR NO KEY UPDATE`,
      [key.taskId, key.configId],
    ),
  );
  if (row === undefined) return undefined;
  const [position, state, at, attempts, failingSince, failure, holder, claim] = row;
  const delivery = {
    position,
    state,
    at,
    attempts,
    failingSince: failingSince ?? undefined,
    failure: failure ?? undefined,
  };
  return { key, task, delivery, holder, claim };
}

async function claimed(on: Statements, { key, holder, claim }: DeliveryProgress): Promise<PushRow | undefined> {
  const task = await taskOf(on, key.taskId);
  const row = task && (await rowOf(on, task, key));
  return row?.holder === holder && row.claim === claim ? row : undefined;
}

/** Stores the progress of a delivery, with the claim that continues, if any. */
async function save(
  on: Statements,
  row: PushRow,
  delivery: Delivery,
  claim: DeliveryProgress | undefined,
): Promise<void> {
  const { position, state, at, attempts, failingSince = null, failure = null } = delivery;
  const values: Value[] = [
    ...[row.key.taskId, row.key.configId, position, state, at, attempts],
    ...[failingSince, failure, claim?.holder ?? null, claim?.claim ?? null, counts(state, row.task.finished)],
  ];
  await on.query(
    `UPDATE ${on.schema}.push_config SET position = $3, state = $4, at = $5, attempts = $6, failing_since = $7, ` +
      "failure = $8, holder = $9, claim = $10, counted = $11 WHERE task_id = $1 AND config_id = $2",
    values,
  );
}

async function excessOf(
  on: Statements,
  task: TaskOfConfigs,
  config: Request<"putPushConfig">,
): Promise<PutPushOutcome | undefined> {
  const { maxPerTask, maxPerOwner, ofAllTenants = false } = config;
  const most = (limit: number): number => Math.min(limit, 2 ** 31 - 1);
  const values = [
    task.taskId,
    task.tenant,
    task.owner,
    task.finished,
    most(maxPerTask),
    most(maxPerOwner),
    ofAllTenants,
  ];
  const row = await first(on.query<[number]>(`SELECT ${on.schema}.push_excess_1($1, $2, $3, $4, $5, $6, $7)`, values));
  if (row?.[0] === outcome.taskConfigs) return "too-many-of-task";
  return row?.[0] === outcome.ownerConfigs ? "too-many-of-owner" : undefined;
}

async function remark(on: Statements, taskId: string): Promise<void> {
  await on.query(`SELECT ${on.schema}.push_remark_1($1)`, [taskId]);
}

async function addAttempt(on: Statements, { taskId, configId }: PushConfigKey, attempt: FailedAttempt): Promise<void> {
  const { time, durationMs, generation, status, answer, failure, holder } = attempt;
  const added = await on.query<[number]>(
    `INSERT INTO ${on.schema}.push_attempt (task_id, config_id, number, time, duration_ms, generation, status, answer, ` +
      "failure, holder) SELECT $1, $2, 1 + coalesce(max(a.number), 0), $3, $4, $5, $6, $7, $8, $9 " +
      `FROM ${on.schema}.push_attempt a WHERE a.task_id = $1 AND a.config_id = $2 RETURNING number`,
    [taskId, configId, time, durationMs, generation, status, answer, failure, holder],
  );
  const trim = `DELETE FROM ${on.schema}.push_attempt WHERE task_id = $1 AND config_id = $2 AND number <= $3`;
  await on.query(trim, [taskId, configId, (added[0]?.[0] ?? 0) - STORED_ATTEMPTS]);
}

async function forgetAttempts(on: Statements, { taskId, configId }: PushConfigKey): Promise<void> {
  await on.query(`DELETE FROM ${on.schema}.push_attempt WHERE task_id = $1 AND config_id = $2`, [taskId, configId]);
}
