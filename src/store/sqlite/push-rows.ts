import { DEAD, type DeliveryState, type StoredConfig, type TaskOfConfigs } from "../deliveries.js";
import { type AttemptRow, type ClaimedRow, type DeadRow, toClaimed } from "../delivery-rows.js";
import type { ClaimedDelivery, DeadDeliveryRequest, PushConfigKey } from "../push-store.js";
import type { Database } from "./driver/driver.js";

export interface PushRow extends StoredConfig {
  readonly id: number;
  readonly task: PushedTask;
}

export interface PushedTask extends TaskOfConfigs {
  /** See `head.pushed` in the migrations. */
  readonly pushed: number;
}

type TaskColumns = [
  taskId: string,
  tenant: string,
  owner: string,
  position: number,
  finishedAt: number | null,
  pushed: number,
];

type RowColumns = [
  id: number,
  position: number,
  state: DeliveryState,
  at: number,
  attempts: number,
  failingSince: number | null,
  failure: string | null,
  holder: string | null,
  claim: number | null,
  ...task: TaskColumns,
];

const ROW =
  "SELECT p.id, p.position, p.state, p.at, p.attempts, p.failing_since, p.failure, p.holder, p.claim, " +
  "h.task_id, h.tenant, h.owner, h.position AS head_position, h.finished_at, h.pushed FROM push_config p " +
  "CROSS JOIN head h ON h.task_id = p.task_id WHERE p.task_id = ? AND p.config_id = ?";

/** Finds one configuration by its key. */
export function pushRow(db: Database, taskId: string, configId: string): PushRow | undefined {
  const row = db.rows<RowColumns>(ROW).get(taskId, configId);
  if (row === undefined) return undefined;
  const [id, position, state, at, attempts, failingSince, failure, holder, claim, ...task] = row;
  const failing = { failingSince: failingSince ?? undefined, failure: failure ?? undefined };
  return { id, delivery: { position, state, at, attempts, ...failing }, holder, claim, task: toTask(task) };
}

export function pushedTask(db: Database, taskId: string): PushedTask | undefined {
  const sql = "SELECT task_id, tenant, owner, position, finished_at, pushed FROM head WHERE task_id = ?";
  const row = db.rows<TaskColumns>(sql).get(taskId);
  return row && toTask(row);
}

function toTask([taskId, tenant, owner, position, finishedAt, pushed]: TaskColumns): PushedTask {
  return { taskId, tenant, owner, position, finished: finishedAt !== null, pushed };
}

/** Claims on their way to another thread: the bytes of all configurations are in one buffer, which costs less. */
export interface ClaimedBatch {
  readonly rows: readonly Readonly<ClaimedRow<number>>[];
  readonly bytes: Uint8Array;
}

export function toBatch(claimed: readonly ClaimedRow<Uint8Array>[]): ClaimedBatch {
  const bytes = new Uint8Array(claimed.reduce((sum, [, own]) => sum + own.length, 0));
  let size = 0;
  const rows = claimed.map(([claim, own, ...columns]): ClaimedRow<number> => {
    bytes.set(own, size);
    size += own.length;
    return [claim, own.length, ...columns];
  });
  return { rows, bytes };
}

/** Reads the claims of a `toBatch` result. */
export function claimedOf({ rows, bytes }: ClaimedBatch): ClaimedDelivery[] {
  let end = 0;
  return rows.map((row) => {
    end += row[1];
    return toClaimed(row, bytes.slice(end - row[1], end));
  });
}

/** Returns dead configurations after a key. */
export function deadRows(db: Database, request: DeadDeliveryRequest): DeadRow[] {
  const { tenant = null, owner = null, target = null, after, limit } = request;
  return db.rows<DeadRow>(DEAD_ROWS).all(after?.taskId ?? "", after?.configId ?? "", tenant, owner, target, limit);
}

const DEAD_ROWS =
  "SELECT p.task_id, p.config_id, h.tenant, h.owner, p.target, p.position, h.position AS head_position, p.failure, " +
  "p.failing_since, p.at, p.bytes FROM push_config p INDEXED BY push_dead CROSS JOIN head h ON h.task_id = p.task_id " +
  `WHERE p.state = ${DEAD} AND (p.task_id, p.config_id) > (?, ?) AND h.tenant = coalesce(?, h.tenant) ` +
  "AND h.owner = coalesce(?, h.owner) AND p.target = coalesce(?, p.target) ORDER BY p.task_id, p.config_id LIMIT ?";

/** Returns the stored failed attempts of a configuration, newest first. */
export function attemptRows(db: Database, { taskId, configId }: PushConfigKey): AttemptRow[] {
  const sql =
    "SELECT time, duration_ms, generation, status, answer, failure, holder FROM push_attempt " +
    "WHERE task_id = ? AND config_id = ? ORDER BY number DESC";
  return db.rows<AttemptRow>(sql).all(taskId, configId);
}
