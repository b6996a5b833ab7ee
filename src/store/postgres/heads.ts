import type { Lease, TaskHead } from "../task-store.js";
import type { Row } from "./database.js";

/** A row of `HEAD_COLUMNS`. */
export type HeadRow = [
  taskId: string,
  tenant: string,
  owner: string,
  contextId: string,
  state: number,
  statusTime: number,
  position: number,
  generation: number,
  holder: string | null,
  turn: number | null,
  attempt: number | null,
];

/**
 * Columns of a head, of `task t` and the last segment of its log (`LAST_SEGMENT`). An append that changes no status
 * writes no row of `task`, which would leave a dead one each time.
 */
export const HEAD_COLUMNS: string =
  "t.task_id, t.tenant, t.owner, t.context_id, t.state, t.status_time, l.last, l.generation, " +
  "t.lease_holder, t.lease_turn, t.lease_attempt";

/** Joins `l`, the last segment of the log of `task t`. */
export function lastSegment(schema: string): string {
  return (
    `CROSS JOIN LATERAL (SELECT s.last, s.generation FROM ${schema}.segment s WHERE s.log = t.log ` +
    "ORDER BY s.last DESC LIMIT 1) l"
  );
}

/** Converts a row that begins with `HEAD_COLUMNS`. */
export function toHead(row: Row): TaskHead {
  // Only statements with these columns produce the row.
  const [taskId, tenant, owner, contextId, state, statusTime, position, generation, ...lease] = row as HeadRow;
  return { taskId, tenant, owner, contextId, state, statusTime, position, generation, lease: toLease(...lease) };
}

/** Converts the columns of a lease. */
export function toLease(holder: string | null, turn: number | null, attempt: number | null): Lease | null {
  return holder === null ? null : { holder, turn: turn ?? 0, attempt: attempt ?? 0 };
}
