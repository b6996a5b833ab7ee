import { DEAD, DUE } from "../deliveries.js";
import { type HeadRow, toHead } from "../head-rows.js";
import { CENSUS_LIMIT, type Census } from "../operator-store.js";
import { INTERRUPTED, TERMINAL } from "../states.js";
import type { InterruptedRequest, ListPage, ListRequest, TaskHead } from "../task-store.js";
import { type Database, first, type Value } from "./database.js";
import { HEAD_COLUMNS, lastSegment } from "./heads.js";

/**
 * Lists tasks. One statement reads the page and its total from the same snapshot. The total of an owner, also by state,
 * is a sum of counters. The total of a context, or since a time, is counted along an index.
 */
export async function list(db: Database, request: ListRequest): Promise<ListPage> {
  const { tenant, owner, contextId, state, statusFrom, after, limit } = request;
  const values: Value[] = [tenant, owner];
  let where = "t.tenant = $1 AND t.owner = $2";
  const add = (condition: string, ...more: Value[]): void => {
    let place = values.push(...more) - more.length;
    where += ` AND ${condition.replaceAll("?", () => `$${++place}`)}`;
  };
  if (state !== undefined) add("t.state = ?", state);
  const isCounted = contextId === undefined && statusFrom === undefined;
  if (contextId !== undefined) add("t.context_id = ?", contextId);
  if (statusFrom !== undefined) add("t.status_time >= ?", statusFrom);
  const total = isCounted
    ? `SELECT coalesce(sum(t.tasks), 0)::bigint FROM ${db.schema}.counted t WHERE ${where}`
    : `SELECT count(*) FROM ${db.schema}.task t WHERE ${where}`;
  if (after !== undefined) add("(t.status_time, t.task_id) < (?, ?)", after.statusTime, after.taskId);
  values.push(limit);
  const page =
    `SELECT ${HEAD_COLUMNS} FROM (SELECT * FROM ${db.schema}.task t WHERE ${where} ` +
    `ORDER BY t.status_time DESC, t.task_id DESC LIMIT $${values.length}) t ${lastSegment(db.schema)}`;
  const rows = await db.query<[total: number, ...HeadRow] | [total: number, ...null[]]>(
    `SELECT (${total}), p.* FROM (VALUES (1)) one LEFT JOIN (${page}) p ON true ` +
      "ORDER BY p.status_time DESC, p.task_id DESC",
    values,
  );
  const heads = rows.flatMap(([, ...row]) => (row[0] === null ? [] : toHead(row as HeadRow)));
  return { heads, total: rows[0]?.[0] ?? 0 };
}

/** Counts the open tasks along their index: an owner's limit bounds their number. */
export async function countOpen(
  db: Database,
  { owner, tenant }: { readonly owner: string; readonly tenant?: string | undefined },
): Promise<number> {
  const open = `SELECT count(*) FROM ${db.schema}.task t WHERE t.owner = $1 AND t.state NOT IN (${TERMINAL})`;
  const row =
    tenant === undefined
      ? await first(db.query<[number]>(open, [owner]))
      : await first(db.query<[number]>(`${open} AND t.tenant = $2`, [owner, tenant]));
  return row?.[0] ?? 0;
}

export async function listInterrupted(db: Database, { before, after, limit }: InterruptedRequest): Promise<TaskHead[]> {
  const { statusTime = Number.MIN_SAFE_INTEGER, taskId = "" } = after ?? {};
  const sql =
    `SELECT ${HEAD_COLUMNS} FROM (SELECT * FROM ${db.schema}.task t WHERE t.state IN (${INTERRUPTED}) ` +
    "AND t.status_time < $1 AND (t.status_time, t.task_id) > ($2, $3) ORDER BY t.status_time, t.task_id LIMIT $4) t " +
    `${lastSegment(db.schema)} ORDER BY t.status_time, t.task_id`;
  return (await db.query<HeadRow>(sql, [before, statusTime, taskId, limit])).map(toHead);
}

export async function census(db: Database): Promise<Census> {
  const most = (from: string): string => `(SELECT count(*) FROM (SELECT FROM ${from} LIMIT ${CENSUS_LIMIT}) f)`;
  const size =
    "(SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c " +
    "WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'S'))";
  const sql =
    `SELECT ${size}, (SELECT count(*) FROM ${db.schema}.task t WHERE t.state NOT IN (${TERMINAL})), ` +
    `${most(`${db.schema}.task t WHERE t.state IN (${INTERRUPTED})`)}, ` +
    `${most(`${db.schema}.push_config p WHERE p.state = ${DUE}`)}, ` +
    most(`${db.schema}.push_config p WHERE p.state = ${DEAD}`);
  const [row] = await db.query<number[]>(sql, [db.schema]);
  const [bytes = 0, openTasks = 0, interrupted = 0, due = 0, dead = 0] = row ?? [];
  return { bytes, openTasks, interrupted, due, dead };
}
