import { DEAD, type Delivery, type DeliveryState, type StoredConfig, type TaskOfConfigs } from "../deliveries.js";
import type { AttemptRow, ClaimedColumns, DeadRow } from "../delivery-rows.js";
import type { ClaimedDelivery, DeadDeliveryRequest } from "../push-store.js";
import { numberIn, textIn } from "./column.js";
import type { Database, Query } from "./driver/driver.js";

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
  state: number,
  at: number,
  attempts: number,
  failingSince: number | null,
  failure: string | null,
  holder: string | null,
  claim: number | null,
  ...task: TaskColumns,
];

/** Finds one configuration by its key. */
export function pushRowQuery(db: Database): (taskId: string, configId: string) => PushRow | undefined {
  const query = db.rows<[string, string], RowColumns>(
    "SELECT p.id, p.position, p.state, p.at, p.attempts, p.failing_since, p.failure, p.holder, p.claim, " +
      "h.task_id, h.tenant, h.owner, h.position AS head_position, h.finished_at, h.pushed FROM push_config p " +
      "CROSS JOIN head h ON h.task_id = p.task_id WHERE p.task_id = ? AND p.config_id = ?",
  );
  return (taskId, configId) => {
    const row = query.get(taskId, configId);
    if (row === undefined) return undefined;
    const [id, position, state, at, attempts, failingSince, failure, holder, claim, ...task] = row;
    const delivery: Delivery = {
      position,
      // Only values of this type are written.
      state: state as DeliveryState,
      at,
      attempts,
      failingSince: failingSince ?? undefined,
      failure: failure ?? undefined,
    };
    return { id, delivery, holder, claim, task: toTask(task) };
  };
}

export function pushedTaskQuery(db: Database): (taskId: string) => PushedTask | undefined {
  const query = db.rows<[string], TaskColumns>(
    "SELECT task_id, tenant, owner, position, finished_at, pushed FROM head WHERE task_id = ?",
  );
  return (taskId) => {
    const row = query.get(taskId);
    return row && toTask(row);
  };
}

function toTask([taskId, tenant, owner, position, finishedAt, pushed]: TaskColumns): PushedTask {
  return { taskId, tenant, owner, position, finished: finishedAt !== null, pushed };
}

/** Columns of a claimed configuration, before any further ones. */
export const CLAIMED_COLUMNS: string =
  "p.id, p.task_id, p.config_id, h.tenant, h.owner, p.target, p.position, h.position AS head_position, p.attempts, " +
  "p.failing_since, p.bytes";

/** A configuration that is claimed, as an array. */
export type ClaimedRow = [id: number, ...ClaimedColumns, bytes: Uint8Array];

/**
 * Claims on their way to another thread: strings and numbers in one array, and all bytes in one buffer, as in a
 * `Message`.
 */
export interface ClaimedBatch {
  readonly count: number;
  readonly fields: readonly (string | number | null)[];
  readonly bytes: Uint8Array;
}

/** Rows that were claimed, with the numbers of their claims. */
export function toBatch(rows: readonly ClaimedRow[], claims: readonly number[]): ClaimedBatch {
  const fields: (string | number | null)[] = [];
  const parts: Uint8Array[] = [];
  for (const [index, row] of rows.entries()) {
    const [, taskId, configId, tenant, owner, target, position, headPosition, attempts, failingSince, bytes] = row;
    const claim = numberIn(claims[index]);
    fields.push(taskId, configId, tenant, owner, target, position, headPosition, attempts, failingSince, claim);
    fields.push(bytes.length);
    parts.push(bytes);
  }
  return { count: rows.length, fields, bytes: concatenated(parts) };
}

/** Copies into a dedicated buffer, because a transfer moves the whole buffer of a view. */
function concatenated(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let size = 0;
  for (const part of parts) {
    bytes.set(part, size);
    size += part.length;
  }
  return bytes;
}

/** Reads the claims of a `toBatch` result. */
export function claimedOf({ count, fields, bytes }: ClaimedBatch): ClaimedDelivery[] {
  const claimed: ClaimedDelivery[] = [];
  let field = 0;
  let size = 0;
  const string = (): string => textIn(fields[field++]);
  const number = (): number => numberIn(fields[field++]);
  const numberOrNothing = (): number | undefined => {
    const value = fields[field++];
    return value === null ? undefined : numberIn(value);
  };
  const part = (length: number): Uint8Array => {
    size += length;
    return bytes.slice(size - length, size);
  };
  for (let index = 0; index < count; index++) {
    claimed.push({
      taskId: string(),
      configId: string(),
      tenant: string(),
      owner: string(),
      target: string(),
      position: number(),
      headPosition: number(),
      attempts: number(),
      failingSince: numberOrNothing(),
      claim: number(),
      bytes: part(number()),
    });
  }
  return claimed;
}

/** Dead configurations after a key. */
export type DeadQuery = Query<[string, string, string | null, string | null, string | null, number], DeadRow>;

export function deadValues(request: DeadDeliveryRequest): Parameters<DeadQuery["all"]> {
  const { tenant = null, owner = null, target = null, after, limit } = request;
  return [after?.taskId ?? "", after?.configId ?? "", tenant, owner, target, limit];
}

export function deadQuery(db: Database): DeadQuery {
  return db.rows(
    "SELECT p.task_id, p.config_id, h.tenant, h.owner, p.target, p.position, h.position AS head_position, p.failure, p.failing_since, p.at, " +
      `p.bytes FROM push_config p INDEXED BY push_dead CROSS JOIN head h ON h.task_id = p.task_id WHERE p.state = ${DEAD} ` +
      "AND (p.task_id, p.config_id) > (?, ?) AND h.tenant = coalesce(?, h.tenant) AND h.owner = coalesce(?, h.owner) " +
      "AND p.target = coalesce(?, p.target) ORDER BY p.task_id, p.config_id LIMIT ?",
  );
}

/** Stored failed attempts of a configuration, newest first. */
export type AttemptsQuery = Query<[string, string], AttemptRow>;

export function attemptsQuery(db: Database): AttemptsQuery {
  return db.rows(
    "SELECT time, duration_ms, generation, status, answer, failure, holder FROM push_attempt " +
      "WHERE task_id = ? AND config_id = ? ORDER BY number DESC",
  );
}
