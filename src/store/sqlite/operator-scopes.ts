import type { HeadsRequest, TaskScope } from "../task-store.js";
import type { Database } from "./driver/driver.js";
import type { Pair } from "./operator-list.js";

/** Owners of a filter whose lists are merged. With more of them, the list of all owners is examined. */
const MAX_MERGED = 16;

/** Tenants or owners that are looked at to find those of a filter. */
const MAX_LOOKUPS = 256;

/** True if a filter matches the tasks of every owner. */
export function isOfAll({ tenants, owner, contextId }: HeadsRequest): boolean {
  return tenants === undefined && owner === undefined && contextId === undefined;
}

/** The owners whose tasks a filter restricts a list to; undefined if there are too many to merge their lists. */
export function pairsOf(db: Database, request: HeadsRequest): Pair[] | undefined {
  if (isOfAll(request)) return undefined;
  const { tenants, owner, contextId } = request;
  const pairs: Pair[] = [];
  let lookups = 0;
  for (const scope of scopesOf(db, request)) {
    if (++lookups > MAX_LOOKUPS) return undefined;
    if (scope === undefined || tenants?.includes(scope.tenant) === false) continue;
    if (owner !== undefined && owner !== scope.owner) continue;
    if (pairs.length === MAX_MERGED) return undefined;
    pairs.push({ ...scope, contextId });
  }
  return pairs;
}

/** Candidates for the owners of a filter, found one by one along an index; undefined for a lookup without result. */
function scopesOf(db: Database, { tenants, owner, contextId }: HeadsRequest): Iterable<TaskScope | undefined> {
  if (tenants !== undefined && owner !== undefined) return [...new Set(tenants)].map((tenant) => ({ tenant, owner }));
  if (contextId !== undefined) return ofContext(db, contextId);
  if (tenants !== undefined) return ofTenants(db, [...new Set(tenants)]);
  return ofOwner(db, owner ?? "");
}

function* ofContext(db: Database, contextId: string): Iterable<TaskScope> {
  const sql = (comparison: string): string =>
    "SELECT tenant, owner FROM head INDEXED BY head_by_context WHERE context_id = ? " +
    `AND (tenant, owner) ${comparison} (?, ?) ORDER BY tenant, owner LIMIT 1`;
  let row = db.rows<[string, string]>(sql(">=")).get(contextId, "", "");
  for (; row !== undefined; row = db.rows<[string, string]>(sql(">")).get(contextId, ...row)) {
    yield { tenant: row[0], owner: row[1] };
  }
}

function* ofTenants(db: Database, tenants: readonly string[]): Iterable<TaskScope | undefined> {
  const sql = (comparison: string): string =>
    `SELECT owner FROM counter WHERE tenant = ? AND owner ${comparison} ? ORDER BY owner LIMIT 1`;
  for (const tenant of tenants) {
    let row = db.rows<[string]>(sql(">=")).get(tenant, "");
    if (row === undefined) yield undefined;
    for (; row !== undefined; row = db.rows<[string]>(sql(">")).get(tenant, row[0])) yield { tenant, owner: row[0] };
  }
}

function* ofOwner(db: Database, owner: string): Iterable<TaskScope | undefined> {
  const sql = (comparison: string): string =>
    `SELECT tenant FROM counter WHERE tenant ${comparison} ? ORDER BY tenant LIMIT 1`;
  const counter = db.rows<[number]>("SELECT 1 FROM counter WHERE tenant = ? AND owner = ? LIMIT 1");
  let row = db.rows<[string]>(sql(">=")).get("");
  for (; row !== undefined; row = db.rows<[string]>(sql(">")).get(row[0])) {
    const [tenant] = row;
    yield counter.get(tenant, owner) === undefined ? undefined : { tenant, owner };
  }
}
