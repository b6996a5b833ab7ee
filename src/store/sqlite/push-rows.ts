import { DEAD, type DeliveryState, type StoredConfig, type TaskOfConfigs } from "../deliveries.js";
import type { AttemptRow, ClaimedColumns, DeadRow } from "../delivery-rows.js";
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

/** A configuration that is claimed, as an array. */
export type ClaimedRow = [id: number, ...ClaimedColumns, bytes: Uint8Array];

/** Claims on their way to another thread: the bytes of all configurations are in one buffer, which costs less. */
export interface ClaimedBatch {
  readonly rows: readonly (readonly [...ClaimedColumns, claim: number, size: number])[];
  readonly bytes: Uint8Array;
}

/** Rows that were claimed, with the numbers of their claims. */
export function toBatch(claimed: readonly ClaimedRow[], claims: readonly number[]): ClaimedBatch {
  const bytes = new Uint8Array(claimed.reduce((sum, row) => sum + row[10].length, 0));
  let size = 0;
  const rows = claimed.map((row, index) => {
    const [, taskId, configId, tenant, owner, target, position, headPosition, attempts, failingSince, own] = row;
    bytes.set(own, size);
    size += own.length;
    const numbers = [position, headPosition, attempts, failingSince, claims[index] ?? 0, own.length] as const;
    return [taskId, configId, tenant, owner, target, ...numbers] as const;
  });
  return { rows, bytes };
}

/** Reads the claims of a `toBatch` result. */
export function claimedOf({ rows, bytes }: ClaimedBatch): ClaimedDelivery[] {
  let end = 0;
  return rows.map(([taskId, configId, tenant, owner, target, position, headPosition, attempts, since, claim, size]) => {
    end += size;
    const failingSince = since ?? undefined;
    const own = bytes.slice(end - size, end);
    return {
      taskId,
      configId,
      tenant,
      owner,
      target,
      position,
      headPosition,
      attempts,
      failingSince,
      claim,
      bytes: own,
    };
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
