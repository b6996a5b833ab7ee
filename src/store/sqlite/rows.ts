import type { Lease, TaskHead } from "../task-store.js";

/** Columns after those of the task's identity. */
const STATE_COLUMNS = "context_id, state, status_time, position, generation, lease_holder, lease_turn, lease_attempt";

/** Columns of a head row in the order of HeadRow. */
export const HEAD_COLUMNS: string = `task_id, tenant, owner, ${STATE_COLUMNS}`;

/**
 * Columns of a row of a list, whose tenant and owner come from its request. Each column costs as much as a field of
 * JSON.
 */
export const LISTED_COLUMNS: string = `task_id, ${STATE_COLUMNS}`;

type StateColumns = [
  contextId: string,
  state: number,
  statusTime: number,
  position: number,
  generation: number,
  holder: string | null,
  turn: number | null,
  attempt: number | null,
];

/** A head row as an array, which is read faster than an object. */
export type HeadRow = [taskId: string, tenant: string, owner: string, ...state: StateColumns];

/** A row of a list as an array. */
export type ListedRow = [taskId: string, ...state: StateColumns];

/** Converts a head row. */
export function toHead(row: HeadRow): TaskHead {
  const [taskId, tenant, owner, contextId, state, statusTime, position, generation, holder, turn, attempt] = row;
  const lease = toLease(holder, turn, attempt);
  return { taskId, tenant, owner, contextId, state, statusTime, position, generation, lease };
}

/** Converts a row of a list. */
export function toListedHead(row: ListedRow, { tenant, owner }: { tenant: string; owner: string }): TaskHead {
  const [taskId, contextId, state, statusTime, position, generation, holder, turn, attempt] = row;
  const lease = toLease(holder, turn, attempt);
  return { taskId, tenant, owner, contextId, state, statusTime, position, generation, lease };
}

/** Converts the columns of a lease. */
export function toLease(holder: string | null, turn: number | null, attempt: number | null): Lease | null {
  return holder === null ? null : { holder, turn: turn ?? 0, attempt: attempt ?? 0 };
}
