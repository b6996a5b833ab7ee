import type { KeyRange } from "../order.js";
import { STATES, TERMINAL } from "../states.js";
import type { HeadsRequest, LeasedRequest, OwnersRequest, TaskHead, TaskScope } from "../task-store.js";
import { HEAD_COLUMNS } from "./rows.js";

type Value = string | number;

/** SQL with its positional values. */
export interface Statement {
  readonly sql: string;
  readonly values: Value[];
}

/** The tasks of one owner under one tenant. */
export interface Pair extends TaskScope {
  readonly contextId?: string | undefined;
}

const ORDER = "ORDER BY status_time DESC, task_id DESC LIMIT ?";
const RANGE = "(status_time, task_id) < (?, ?) AND (status_time, task_id) >= (?, ?)";

function valuesOf({ before, from }: KeyRange): Value[] {
  return [before.statusTime, before.taskId, from.statusTime, from.taskId];
}

/** Heads of one owner, merged from the ranges of the states in an index of this owner. */
export function pairPage(pair: Pair, states: readonly number[], range: KeyRange, limit: number): Statement {
  const { tenant, owner, contextId } = pair;
  const place: Value[] = contextId === undefined ? [tenant, owner] : [contextId, tenant, owner];
  const index = contextId === undefined ? "head_by_state" : "head_by_context";
  const filter = `${contextId === undefined ? "" : "context_id = ? AND "}tenant = ? AND owner = ?`;
  const arm = `SELECT ${HEAD_COLUMNS} FROM head INDEXED BY ${index} WHERE ${filter} AND state = ? AND ${RANGE}`;
  const values = states.flatMap((state) => [...place, state, ...valuesOf(range)]);
  return { sql: `${states.map(() => arm).join(" UNION ALL ")} ${ORDER}`, values: [...values, limit] };
}

/** Heads of all owners, merged from the ranges of the states. Filters are examined row by row. */
export function globalPage(
  request: Pick<HeadsRequest, "tenants" | "owner" | "contextId">,
  states: readonly number[],
  range: KeyRange,
  limit: number,
): Statement {
  const { tenants, owner, contextId } = request;
  const filters: Value[] = [];
  let where = "";
  if (tenants !== undefined) {
    // One parameter for any number of tenants, so that there are few statements.
    where += " AND tenant IN (SELECT value FROM json_each(?))";
    filters.push(JSON.stringify(tenants));
  }
  if (owner !== undefined) {
    where += " AND owner = ?";
    filters.push(owner);
  }
  if (contextId !== undefined) {
    where += " AND context_id = ?";
    filters.push(contextId);
  }
  const arm = `SELECT ${HEAD_COLUMNS} FROM head INDEXED BY head_by_status WHERE state = ? AND ${RANGE}${where}`;
  const values = states.flatMap((state) => [state, ...valuesOf(range), ...filters]);
  return { sql: `${states.map(() => arm).join(" UNION ALL ")} ${ORDER}`, values: [...values, limit] };
}

/** The key that is `count` tasks further in the list of all owners; no row if fewer follow. */
export function keyAt(states: readonly number[], range: KeyRange, count: number): Statement {
  const arm = `SELECT status_time, task_id FROM head INDEXED BY head_by_status WHERE state = ? AND ${RANGE}`;
  const values = states.flatMap((state) => [state, ...valuesOf(range)]);
  return { sql: `${states.map(() => arm).join(" UNION ALL ")} ${ORDER} OFFSET ?`, values: [...values, 1, count - 1] };
}

/** Selects one row if the context of a task has another one that comes before it in the list. */
export function newerInContext({ contextId, tenant, owner, statusTime, taskId }: TaskHead): Statement {
  const arm =
    "SELECT 1 FROM head INDEXED BY head_by_context WHERE context_id = ? AND tenant = ? AND owner = ? AND state = ? " +
    "AND (status_time, task_id) > (?, ?)";
  const values = STATES.flatMap((state) => [contextId, tenant, owner, state, statusTime, taskId]);
  return { sql: `${STATES.map(() => arm).join(" UNION ALL ")} LIMIT 1`, values };
}

/** Owners with the numbers of their tasks, in the order of the counters. */
export function ownersPage({ tenant, after, limit }: OwnersRequest): Statement {
  const open = `sum(iif(state IN (${TERMINAL}), 0, tasks))`;
  const comparison = after === undefined ? ">=" : ">";
  const place = tenant === undefined ? `(tenant, owner) ${comparison} (?, ?)` : `tenant = ? AND owner ${comparison} ?`;
  const sql = `SELECT tenant, owner, sum(tasks), ${open} FROM counter WHERE ${place} GROUP BY tenant, owner LIMIT ?`;
  return { sql, values: [tenant ?? after?.tenant ?? "", after?.owner ?? "", limit] };
}

/** Leased tasks in the order of their index. */
export function leasedPage({ after, limit }: LeasedRequest): Statement {
  const comparison = after === undefined ? ">=" : ">";
  const sql =
    `SELECT ${HEAD_COLUMNS} FROM head INDEXED BY head_leased WHERE lease_holder IS NOT NULL ` +
    `AND (lease_holder, task_id) ${comparison} (?, ?) ORDER BY lease_holder, task_id LIMIT ?`;
  return { sql, values: [after?.holder ?? "", after?.taskId ?? "", limit] };
}
