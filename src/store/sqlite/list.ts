import type { ListRequest } from "../task-store.js";
import { LISTED_COLUMNS } from "./rows.js";

/** Which filters a list has: each combination has its own two statements. */
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

/** The filters of a request. */
export function shapeOf(request: ListRequest): ListShape {
  return {
    context: request.contextId !== undefined,
    state: request.state !== undefined,
    from: request.statusFrom !== undefined,
    after: request.after !== undefined,
  };
}

/**
 * SQL of a page and of its total. Each page is read off one index in its order, from where the last one ended, so
 * its cost depends on its size alone; `INDEXED BY` makes SQLite refuse any other plan instead of taking it silently.
 * Under context and state together it is the context's index, passing over the other states of one conversation.
 * A total without context and time is the sum of a few counters; otherwise it counts along the index.
 */
export function listSql(shape: ListShape): ListSql {
  const index = shape.context ? "head_by_context" : shape.state ? "head_by_state" : "head_by_owner";
  const filters = ["tenant = ?", "owner = ?"];
  if (shape.context) filters.push("context_id = ?");
  if (shape.state) filters.push("state = ?");
  if (shape.from) filters.push("status_time >= ?");
  const matching = `FROM head INDEXED BY ${index} WHERE ${filters.join(" AND ")}`;
  const counted = shape.context || shape.from;
  return {
    page:
      `SELECT ${LISTED_COLUMNS} ${matching}${shape.after ? " AND (status_time, task_id) < (?, ?)" : ""} ` +
      "ORDER BY status_time DESC, task_id DESC LIMIT ?",
    total: counted
      ? `SELECT count(*) ${matching}`
      : `SELECT coalesce(sum(tasks), 0) FROM counter WHERE ${filters.join(" AND ")}`,
  };
}

/** Values of the page's statement. */
export function pageValues(request: ListRequest): Value[] {
  const values = totalValues(request);
  if (request.after !== undefined) values.push(request.after.statusTime, request.after.taskId);
  values.push(request.limit);
  return values;
}

/** Values of the total's statement. */
export function totalValues(request: ListRequest): Value[] {
  const values: Value[] = [request.tenant, request.owner];
  if (request.contextId !== undefined) values.push(request.contextId);
  if (request.state !== undefined) values.push(request.state);
  if (request.statusFrom !== undefined) values.push(request.statusFrom);
  return values;
}
