import { tooManyPushConfigs } from "../check.js";
import {
  advanced,
  attemptOf,
  completed,
  counts,
  type Delivery,
  DUE,
  deliveryFrom,
  IDLE,
  redriven,
  STORED_ATTEMPTS,
} from "../deliveries.js";
import type { DeliveryProgress, FailedAttempt, NewPushConfig, PushConfigKey } from "../push-store.js";
import { addToTotal } from "./counters.js";
import type { Database } from "./driver/driver.js";
import { type PushedTask, type PushRow, pushedTask, pushRow } from "./push-rows.js";
import type { AppendWrite, WriteRequest, WriteResult } from "./write.js";

/** Values of `head.pushed`: no configurations, some, and some due although the task is finished. */
const NONE = 0;
const SOME = 1;
const UNDELIVERED = 2;

/** Configurations that one transaction reschedules, so that other writes wait only briefly. */
export const RESCHEDULE_STEP = 1_000;

/** Statements of every append to a task with configurations. */
const ADVANCE = `UPDATE push_config SET state = ${DUE}, at = ? WHERE task_id = ? AND state = ${IDLE}`;
const ANY = "SELECT 1 FROM push_config WHERE task_id = ? LIMIT 1";
const ANY_DUE = `SELECT 1 FROM push_config WHERE task_id = ? AND state = ${DUE} LIMIT 1`;

// Push configurations, inside a transaction that holds the write lock, so that two processes never claim the same one.
// Only of existing tasks: a configuration added after the removal of its task would never be removed.

/** Checks an append's configuration before anything is changed. @throws StoreError `too-many-push-configs` */
export function checkPushConfig(db: Database, { head, pushConfig }: AppendWrite, isThere: boolean): void {
  if (pushConfig === undefined) return;
  const known = isThere ? pushRow(db, head.taskId, pushConfig.configId) : undefined;
  const tooManyOf = known === undefined ? excess(db, { ...head, finished: false }, pushConfig) : undefined;
  if (tooManyOf !== undefined) throw tooManyPushConfigs(head.taskId, tooManyOf);
}

/**
 * Makes the task's idle configurations due, and puts the append's configuration.
 * @param pushed the previous `head.pushed`
 */
export function pushAppended(
  db: Database,
  { head, expected, finishes, pushConfig, time }: AppendWrite,
  pushed: number,
): void {
  if (pushed !== NONE) db.command(ADVANCE).run(time, head.taskId);
  const task = { ...head, finished: finishes, pushed };
  if (pushConfig !== undefined) put(db, task, pushConfig, { position: expected, now: time });
  else if (finishes) remark(db, task);
}

export function putPushConfig(db: Database, request: WriteRequest<"putPushConfig">): WriteResult<"putPushConfig"> {
  const task = pushedTask(db, request.taskId);
  if (task === undefined) return "no-task";
  const isNew = pushRow(db, task.taskId, request.configId) === undefined;
  const tooManyOf = isNew ? excess(db, task, request) : undefined;
  if (tooManyOf !== undefined) return `too-many-of-${tooManyOf}`;
  put(db, task, request, { position: task.position, now: request.now });
  return "put";
}

export function rewritePushConfig(
  db: Database,
  { taskId, configId, from, to }: WriteRequest<"rewritePushConfig">,
): boolean {
  const rewrite = db.command("UPDATE push_config SET bytes = ? WHERE task_id = ? AND config_id = ? AND bytes = ?");
  return rewrite.run(to, taskId, configId, from).changes > 0;
}

export function deletePushConfig(db: Database, { taskId, configId }: WriteRequest<"deletePushConfig">): void {
  const row = pushRow(db, taskId, configId);
  if (row === undefined) return;
  db.command("DELETE FROM push_config WHERE id = ?").run(row.id);
  forgetAttempts(db, { taskId, configId });
  if (counts(row.delivery.state, row.task.finished)) countMore(db, row.task, -1);
  remark(db, row.task);
}

export function savePushPosition(
  db: Database,
  request: WriteRequest<"savePushPosition">,
): WriteResult<"savePushPosition"> {
  const row = claimed(db, request);
  if (row === undefined) return "lost";
  const delivery = advanced(row.delivery, request.position);
  if (delivery !== row.delivery) saveRow(db, row, delivery, request);
  return "saved";
}

export function completeDelivery(
  db: Database,
  request: WriteRequest<"completeDelivery">,
): WriteResult<"completeDelivery"> {
  const row = claimed(db, request);
  if (row === undefined) return "lost";
  const moved = advanced(row.delivery, request.position);
  const delivery = completed(moved, request.outcome, row.task.position);
  if (delivery === undefined) {
    saveRow(db, row, moved, request);
    return "more";
  }
  change(db, row, delivery);
  const attempt = attemptOf(request.outcome, request.holder);
  if (attempt !== undefined) addAttempt(db, request.key, attempt);
  return undefined;
}

/** Reschedules at most `RESCHEDULE_STEP` of the unheld ones. */
export function rescheduleDeliveries(db: Database, { latest, to }: WriteRequest<"rescheduleDeliveries">): number {
  const unheld = db.command(
    "UPDATE push_config SET at = ? WHERE id IN (SELECT id FROM push_config INDEXED BY push_due " +
      `WHERE state = ${DUE} AND holder IS NULL AND at > ? LIMIT ?)`,
  );
  const held = db.command("UPDATE push_config INDEXED BY push_held SET at = ? WHERE holder IS NOT NULL AND at > ?");
  return unheld.run(to, latest, RESCHEDULE_STEP).changes + held.run(to, latest).changes;
}

/** Redrives the named ones that are dead or wait for their next attempt. */
export function redriveDeliveries(db: Database, { now, keys = [] }: WriteRequest<"redriveDeliveries">): number {
  let count = 0;
  for (const { taskId, configId } of keys) {
    const row = pushRow(db, taskId, configId);
    const delivery = row && redriven(row.delivery, row.holder !== null, now);
    if (row === undefined || delivery === undefined) continue;
    change(db, row, delivery);
    count++;
  }
  return count;
}

/** Subtracts the configurations of a removed task that count towards its owner's limit. */
export function pushesRemoved(db: Database, task: CountedTask): void {
  const all = "SELECT count(*) FROM push_config WHERE task_id = ?";
  const counted = db.values<number>(task.finished ? `${all} AND state <> ${IDLE}` : all);
  countMore(db, task, -(counted.get(task.taskId) ?? 0));
}

type CountedTask = Pick<PushedTask, "taskId" | "tenant" | "owner" | "finished">;

/** Puts a configuration within the limits; a new one begins at `position`. */
function put(
  db: Database,
  task: PushedTask,
  { configId, target, bytes }: NewPushConfig,
  { position, now }: { readonly position: number; readonly now: number },
): void {
  const row = pushRow(db, task.taskId, configId);
  const delivery = deliveryFrom(row?.delivery.position ?? position, task.position, now);
  if (row === undefined) {
    const insert = db.command(
      "INSERT INTO push_config (task_id, config_id, owner, target, position, state, at, attempts, bytes) " +
        "VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)",
    );
    insert.run(task.taskId, configId, task.owner, target, position, delivery.state, now, bytes);
    if (counts(delivery.state, task.finished)) countMore(db, task, 1);
    remark(db, task);
    return;
  }
  db.command("UPDATE push_config SET target = ?, bytes = ? WHERE id = ?").run(target, bytes, row.id);
  forgetAttempts(db, { taskId: task.taskId, configId });
  change(db, { ...row, task }, delivery);
}

/** Ends the claim, if any, and stores the new delivery progress. */
function change(db: Database, row: PushRow, delivery: Delivery): void {
  const { task } = row;
  saveRow(db, row, delivery, undefined);
  const more = Number(counts(delivery.state, task.finished)) - Number(counts(row.delivery.state, task.finished));
  countMore(db, task, more);
  // An unfinished task has at least this configuration.
  if (task.finished || task.pushed !== SOME) remark(db, task);
}

/** Stores the progress of a delivery, with the claim that continues, if any. */
function saveRow(db: Database, { id }: PushRow, delivery: Delivery, claim: DeliveryProgress | undefined): void {
  const { position, state, at, attempts, failingSince = null, failure = null } = delivery;
  const save = db.command(
    "UPDATE push_config SET position = ?, state = ?, at = ?, attempts = ?, failing_since = ?, failure = ?, " +
      "holder = ?, claim = ? WHERE id = ?",
  );
  const held = [claim?.holder ?? null, claim?.claim ?? null];
  save.run(position, state, at, attempts, failingSince, failure, ...held, id);
}

function claimed(db: Database, { key, holder, claim }: DeliveryProgress): PushRow | undefined {
  const row = pushRow(db, key.taskId, key.configId);
  return row?.holder === holder && row.claim === claim ? row : undefined;
}

/** Updates `head.pushed` of a task. */
function remark(db: Database, { taskId, finished, pushed }: Pick<PushedTask, "taskId" | "finished" | "pushed">): void {
  const has = (sql: string): boolean => db.values(sql).get(taskId) !== undefined;
  const next = finished && has(ANY_DUE) ? UNDELIVERED : has(ANY) ? SOME : NONE;
  if (next !== pushed) db.command("UPDATE head SET pushed = ? WHERE task_id = ?").run(next, taskId);
}

function excess(
  db: Database,
  { taskId, tenant, owner, finished }: CountedTask,
  { maxPerTask, maxPerOwner, ofAllTenants = false }: NewPushConfig,
): "task" | "owner" | undefined {
  const last = db.values("SELECT 1 FROM push_config WHERE task_id = ? LIMIT 1 OFFSET ?");
  if (maxPerTask < 1 || last.get(taskId, maxPerTask - 1) !== undefined) return "task";
  if (finished) return undefined;
  const elsewhere = ofAllTenants
    ? (db.values<number>("SELECT configs FROM owner_total WHERE owner = ?").get(owner) ?? 0)
    : 0;
  const own = db.values<number>("SELECT configs FROM push_owner WHERE tenant = ? AND owner = ?");
  return (own.get(ofAllTenants ? "" : tenant, owner) ?? 0) + elsewhere >= maxPerOwner ? "owner" : undefined;
}

function countMore(db: Database, { tenant, owner }: Pick<PushedTask, "tenant" | "owner">, more: number): void {
  if (more === 0) return;
  const count = db.command(
    "INSERT INTO push_owner (tenant, owner, configs) VALUES (?, ?, ?) " +
      "ON CONFLICT DO UPDATE SET configs = configs + excluded.configs",
  );
  count.run(tenant, owner, more);
  if (more < 0) db.command("DELETE FROM push_owner WHERE tenant = ? AND owner = ? AND configs <= 0").run(tenant, owner);
  if (tenant !== "") addToTotal(db, owner, 0, more);
}

/** Adds a failed attempt and removes those beyond the limit. */
function addAttempt(db: Database, { taskId, configId }: PushConfigKey, attempt: FailedAttempt): void {
  const { time, durationMs, generation, status, answer, failure, holder } = attempt;
  const last = "SELECT number FROM push_attempt WHERE task_id = ? AND config_id = ? ORDER BY number DESC LIMIT 1";
  const number = (db.values<number>(last).get(taskId, configId) ?? 0) + 1;
  const insert = db.command("INSERT INTO push_attempt VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.run(taskId, configId, number, time, durationMs, generation, status, answer, failure, holder);
  if (number <= STORED_ATTEMPTS) return;
  const trim = db.command("DELETE FROM push_attempt WHERE task_id = ? AND config_id = ? AND number <= ?");
  trim.run(taskId, configId, number - STORED_ATTEMPTS);
}

/** Removes the attempts of a configuration that is replaced or deleted. */
function forgetAttempts(db: Database, { taskId, configId }: PushConfigKey): void {
  db.command("DELETE FROM push_attempt WHERE task_id = ? AND config_id = ?").run(taskId, configId);
}
