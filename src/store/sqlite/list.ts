import { STATES } from "../states.js";
import type { ListRequest } from "../task-store.js";
import { LISTED_COLUMNS } from "./rows.js";

/** The filters of a list: each combination has its own two statements. */
export interface ListShape {
  readonly context: boolean;
  readonly state: boolean;
  readonly from: boolean;
  readonly after: boolean;
}

/** The statements of a shape. Parameters are positional, see `pageValues` and `totalValues`. */
export interface ListSql {
  readonly page: string;
  readonly total: string;
}

type Value = string | number;

export function shapeOf(request: ListRequest): ListShape {
  return {
    context: request.contextId !== undefined,
    state: request.state !== undefined,
    from: request.statusFrom !== undefined,
    after: request.after !== undefined,
  };
}

/**
 * SQL of a page and of its total. Each page reads one index in order from its cursor, so its cost depends on its size
 * alone; `INDEXED BY` makes SQLite reject any other plan. A list without a state filter merges the ranges of all states:
 * a second index without the state would cost every write more than that. A total without a time filter is the sum of a
 * few counters. A total with one, and that of a small context, which has no counters, is counted along the index.
 */
export function listSql(shape: ListShape): ListSql {
  const order = " ORDER BY status_time DESC, task_id DESC LIMIT ?";
  const arm = (filter: string): string =>
    `SELECT ${LISTED_COLUMNS} ${matching(shape, filter)}${shape.after ? AFTER : ""}`;
  return {
    page: merges(shape)
      ? STATES.map((state) => arm(` AND state = ${state}`)).join(" UNION ALL ") + order
      : arm("") + order,
    total: totalSql(shape),
  };
}

const AFTER = " AND (status_time, task_id) < (?, ?)";

/** Tells if a page is merged from the ranges of all states. */
function merges({ state }: ListShape): boolean {
  return !state;
}

/** @param state a filter by state that the request does not have */
function matching(shape: ListShape, state = ""): string {
  const index = shape.context ? "head_by_context" : "head_by_state";
  return `FROM head INDEXED BY ${index} WHERE ${filtersOf(shape)}${state}${shape.from ? " AND status_time >= ?" : ""}`;
}

function filtersOf({ context, state }: Pick<ListShape, "context" | "state">): string {
  return `tenant = ? AND owner = ?${context ? " AND context_id = ?" : ""}${state ? " AND state = ?" : ""}`;
}

function totalSql(shape: ListShape): string {
  if (shape.from)
    return `SELECT count(*) ${matching(shape, merges(shape) ? ` AND state IN (${STATES.join(", ")})` : "")}`;
  if (!shape.context) return `SELECT coalesce(sum(tasks), 0) FROM counter WHERE ${filtersOf(shape)}`;
  const tasks = shape.state ? "iif(state = ?, tasks, 0)" : "tasks";
  const counted = `SELECT sum(${tasks}) FROM context_counter WHERE ${filtersOf({ context: true, state: false })}`;
  return `SELECT coalesce((${counted}), (SELECT count(*) ${matching(shape)}))`;
}

/** Values of the page's statement. */
export function pageValues(request: ListRequest): Value[] {
  const values = filterValues(request);
  if (request.after !== undefined) values.push(request.after.statusTime, request.after.taskId);
  return [...(merges(shapeOf(request)) ? STATES.flatMap(() => values) : values), request.limit];
}

/** Values of the total's statement. */
export function totalValues(request: ListRequest): Value[] {
  const { tenant, owner, contextId, state, statusFrom } = request;
  if (contextId === undefined || statusFrom !== undefined) return filterValues(request);
  return [...(state === undefined ? [] : [state]), tenant, owner, contextId, ...filterValues(request)];
}

function filterValues({ tenant, owner, contextId, state, statusFrom }: ListRequest): Value[] {
  return [tenant, owner, contextId, state, statusFrom].filter((value) => value !== undefined);
}
