import type { Lease, TaskHead } from "./task-store.js";

/** Columns after those of the task's identity. */
export type StateColumns = [
  contextId: string,
  state: number,
  statusTime: number,
  position: number,
  generation: number,
  holder: string | null,
  turn: number | null,
  attempt: number | null,
];

/** A head row of a database as an array, which is read faster than an object. */
export type HeadRow = [taskId: string, tenant: string, owner: string, ...state: StateColumns];

export function toHead(row: HeadRow): TaskHead {
  const [taskId, tenant, owner, contextId, state, statusTime, position, generation, holder, turn, attempt] = row;
  const lease = toLease(holder, turn, attempt);
  return { taskId, tenant, owner, contextId, state, statusTime, position, generation, lease };
}

/** Converts the columns of a lease. */
export function toLease(holder: string | null, turn: number | null, attempt: number | null): Lease | null {
  return holder === null ? null : { holder, turn: turn ?? 0, attempt: attempt ?? 0 };
}
