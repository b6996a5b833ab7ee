import { type HeadRow, toHead } from "../head-rows.js";
import { headsPage, rangeOf } from "../order.js";
import type { Request } from "../request.js";
import { TERMINAL } from "../states.js";
import type { ContextSummary, ContextsPage, HeadsPage, HeadsRequest, OwnerUsage, TaskHead } from "../task-store.js";
import { smallints, texts } from "./array-writer.js";
import type { Database, Value } from "./database.js";
import { HEAD_COLUMNS, lastSegment } from "./heads.js";

/** Tasks that one page examines at most. */
const EXAMINED = 100_000;

/** Maximum number of tasks that one page of contexts examines. Each is looked up in its context. */
const EXAMINED_FOR_CONTEXTS = 10_000;

/** The order of lists, and a range in it. */
const ORDER = "ORDER BY t.status_time DESC, t.task_id DESC";
const RANGE = "(t.status_time, t.task_id) < ($1, $2) AND (t.status_time, t.task_id) >= ($3, $4)";

/** A row of keys that ends a page which examined as many tasks as it may. */
type KeyRow = [statusTime: number, taskId: string];

/**
 * The tasks of one owner or context are found by their own index. Other filters examine the list of all tasks, as far
 * as one page may go.
 */
export async function listHeads(db: Database, request: HeadsRequest): Promise<HeadsPage> {
  const { limit } = request;
  const { where, values } = filtersOf(request);
  const range = rangeValues(request);
  const s = db.schema;
  const from = isIndexed(request)
    ? `SELECT * FROM ${s}.task t WHERE ${RANGE}${where} ${ORDER} LIMIT $5`
    : `SELECT * FROM (SELECT * FROM ${s}.task t WHERE ${RANGE} ${ORDER} LIMIT ${EXAMINED}) t WHERE true${where} ` +
      `${ORDER} LIMIT $5`;
  const sql = `SELECT ${HEAD_COLUMNS} FROM (${from}) t ${lastSegment(s)} ${ORDER}`;
  return db.snapshot(async (on) => {
    const heads = (await on.query<HeadRow>(sql, [...range, limit, ...values])).map(toHead);
    if (isIndexed(request) || heads.length === limit) return headsPage(heads, limit);
    const end = `SELECT t.status_time, t.task_id FROM ${s}.task t WHERE ${RANGE} ${ORDER} OFFSET ${EXAMINED - 1} LIMIT 1`;
    const [last] = await on.query<KeyRow>(end, range);
    return last === undefined ? { heads } : { heads, next: { statusTime: last[0], taskId: last[1] } };
  });
}

/** A page examines a bounded number of tasks; each context is found with its newest task. */
export async function listContexts(db: Database, request: Request<"listContexts">): Promise<ContextsPage> {
  const { limit } = request;
  const { where, values } = filtersOf(request);
  const s = db.schema;
  const same = "k.context_id = t.context_id AND k.tenant = t.tenant AND k.owner = t.owner";
  const examined =
    `SELECT * FROM ${s}.task t WHERE ${RANGE}${isIndexed(request) ? where : ""} ${ORDER} ` +
    `LIMIT ${EXAMINED_FOR_CONTEXTS}`;
  const newest =
    `NOT EXISTS (SELECT FROM ${s}.task k WHERE ${same} ` +
    "AND (k.status_time, k.task_id) > (t.status_time, t.task_id))";
  const rows = await db.query<ContextRow>(
    `WITH examined AS MATERIALIZED (${examined}), ` +
      `page AS MATERIALIZED (SELECT * FROM examined t WHERE true${where} AND ${newest} ${ORDER} LIMIT $5) ` +
      "SELECT t.status_time, t.task_id, true, t.tenant, t.owner, t.context_id, " +
      `(SELECT count(*) FROM ${s}.task k WHERE ${same}), ` +
      `(SELECT count(*) FROM ${s}.task k WHERE ${same} AND k.state NOT IN (${TERMINAL})), ` +
      `coalesce((SELECT octet_length(k.bytes) FROM ${s}.conversation k WHERE ${same}), 0) FROM page t ` +
      // The place after which the next page begins, if this one ends before its limit.
      "UNION ALL SELECT * FROM (SELECT t.status_time, t.task_id, false, '', '', '', 0, 0, 0 FROM examined t " +
      `ORDER BY t.status_time, t.task_id LIMIT (SELECT CASE WHEN count(*) = ${EXAMINED_FOR_CONTEXTS} THEN 1 ELSE 0 END ` +
      "FROM examined)) e ORDER BY 3 DESC, 1 DESC, 2 DESC",
    [...rangeValues(request), limit, ...values],
  );
  const contexts = rows.flatMap(
    ([statusTime, , isContext, tenant, owner, contextId, tasks, openTasks, stateBytes]): ContextSummary[] =>
      isContext ? [{ tenant, owner, contextId, statusTime, tasks, openTasks, stateBytes }] : [],
  );
  const end = contexts.length === limit ? rows[limit - 1] : rows[contexts.length];
  return end === undefined ? { contexts } : { contexts, next: { statusTime: end[0], taskId: end[1] } };
}

/** Finds the owners one by one along an index. Their tasks are counted already. */
export async function listOwners(db: Database, { tenant, after, limit }: Request<"listOwners">): Promise<OwnerUsage[]> {
  const s = db.schema;
  const next = (place: string): string =>
    `SELECT t.tenant, t.owner FROM ${s}.task t WHERE ${place} ORDER BY t.tenant, t.owner LIMIT 1`;
  const of = tenant === undefined ? "" : "t.tenant = $4 AND ";
  const first = after === undefined ? ">=" : ">";
  const count = (from: string): string => `(SELECT count(*) FROM ${s}.${from})`;
  const its = "t.tenant = o.tenant AND t.owner = o.owner";
  const tasks = (state: string): string =>
    `(SELECT coalesce(sum(t.tasks), 0)::bigint FROM ${s}.counted t WHERE ${its}${state})`;
  const rows = await db.query<[string, string, number, number, number, number]>(
    `WITH RECURSIVE o(tenant, owner, n) AS (SELECT f.*, 1 FROM (${next(`${of}(t.tenant, t.owner) ${first} ($1, $2)`)}) f ` +
      `UNION ALL SELECT f.*, o.n + 1 FROM o CROSS JOIN LATERAL (${next(`${of}(t.tenant, t.owner) > (o.tenant, o.owner)`)}) f ` +
      `WHERE o.n < $3) SELECT o.tenant, o.owner, ${tasks("")}, ${tasks(` AND t.state NOT IN (${TERMINAL})`)}, ` +
      `${count("push_config p WHERE p.tenant = o.tenant AND p.owner = o.owner AND p.counted")}, ` +
      `(SELECT max(t.status_time) FROM ${s}.task t WHERE ${its}) FROM o ORDER BY o.n`,
    [after?.tenant ?? tenant ?? "", after?.owner ?? "", limit, ...(tenant === undefined ? [] : [tenant])],
  );
  return rows.map(([of, owner, tasks, openTasks, pushConfigs, statusTime]) => ({
    ...{ tenant: of, owner, tasks, openTasks, pushConfigs, statusTime },
  }));
}

export async function listLeased(db: Database, { after, limit }: Request<"listLeased">): Promise<TaskHead[]> {
  const place = after === undefined ? ">= ($1, $2)" : "> ($1, $2)";
  const sql =
    `SELECT ${HEAD_COLUMNS} FROM (SELECT * FROM ${db.schema}.task t WHERE t.lease_holder IS NOT NULL ` +
    `AND (t.lease_holder, t.task_id) ${place} ORDER BY t.lease_holder, t.task_id LIMIT $3) t ${lastSegment(db.schema)} ` +
    "ORDER BY t.lease_holder, t.task_id";
  const rows = await db.query<HeadRow>(sql, [after?.holder ?? "", after?.taskId ?? "", limit]);
  return rows.map(toHead);
}

/** A row of a context with its newest task, or (not a context) the last task that was examined. */
type ContextRow = [
  statusTime: number,
  taskId: string,
  isContext: boolean,
  tenant: string,
  owner: string,
  contextId: string,
  tasks: number,
  openTasks: number,
  stateBytes: number,
];

/** True if an index lists only the tasks of the filter. */
function isIndexed({ contextId, owner, tenants }: Filtered): boolean {
  return contextId !== undefined || (owner !== undefined && tenants !== undefined);
}

type Filtered = Pick<HeadsRequest, "tenants" | "owner" | "contextId" | "states">;

/** Conditions, whose values follow those of a range and the limit. */
function filtersOf({ tenants, owner, contextId, states = [] }: Filtered): { where: string; values: Value[] } {
  const values: Value[] = [];
  let where = "";
  const add = (condition: string, value: Value): void => {
    where += ` AND ${condition.replace("?", `$${values.push(value) + 5}`)}`;
  };
  if (tenants !== undefined) add("t.tenant = ANY (?::text[])", texts(tenants));
  if (owner !== undefined) add("t.owner = ?", owner);
  if (contextId !== undefined) add("t.context_id = ?", contextId);
  if (states.length > 0) add("t.state = ANY (?::smallint[])", smallints(states));
  return { where, values };
}

function rangeValues(request: HeadsRequest | Request<"listContexts">): Value[] {
  const { before, from } = rangeOf(request);
  return [before.statusTime, before.taskId, from.statusTime, from.taskId];
}
