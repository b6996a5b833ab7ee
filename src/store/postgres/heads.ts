/**
 * Columns of a `HeadRow`, of `task t` and the last segment of its log (`lastSegment`). An append that changes no status
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
