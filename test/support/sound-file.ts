import { expect } from "vitest";
import { openDatabase } from "./database.js";

/**
 * Checks that a store's file is intact and its rows agree with each other. No process may be writing it. Returns the
 * number of tasks.
 */
export function expectSoundFile(path: string): number {
  const db = openDatabase(path, { readonly: true });
  const one = (sql: string): unknown => db.values(sql).get();
  expect(db.pragma("integrity_check")).toBe("ok");
  expect(one("SELECT count(*) FROM segment WHERE task_id NOT IN (SELECT task_id FROM head)")).toBe(0);
  const torn = `SELECT count(*) FROM head WHERE position <>
    (SELECT sum(count) FROM segment WHERE segment.task_id = head.task_id)`;
  expect(one(torn)).toBe(0);
  expect(db.rows("SELECT state, tasks FROM counter WHERE tasks <> 0 ORDER BY 1").all()).toEqual(
    db.rows("SELECT state, count(*) AS tasks FROM head GROUP BY 1 ORDER BY 1").all(),
  );
  expectSoundContexts(one);
  const orphans =
    "SELECT tenant, owner, context_id FROM conversation EXCEPT SELECT tenant, owner, context_id FROM head";
  expect(one(`SELECT count(*) FROM (${orphans})`)).toBe(0);
  expectSoundPushes(one);
  const totals = `SELECT owner, sum(tasks) AS tasks, sum(configs) AS configs FROM (
    SELECT owner, count(*) AS tasks, 0 AS configs FROM head WHERE tenant <> '' AND finished_at IS NULL GROUP BY owner
    UNION ALL SELECT owner, 0, configs FROM push_owner WHERE tenant <> '') GROUP BY owner`;
  const kept = "SELECT owner, tasks, configs FROM owner_total WHERE tasks <> 0 OR configs <> 0";
  expect(one(`SELECT count(*) FROM (${totals} EXCEPT ${kept})`)).toBe(0);
  expect(one(`SELECT count(*) FROM (${kept} EXCEPT ${totals})`)).toBe(0);
  const tasks = one("SELECT count(*) FROM head") as number;
  db.close();
  return tasks;
}

/** Each context with counters has the correct ones, and each large context has counters. */
function expectSoundContexts(one: (sql: string) => unknown): void {
  const place = "tenant, owner, context_id";
  const kept = `SELECT ${place}, state, tasks FROM context_counter`;
  const counted = `SELECT ${place}, state, count(*) FROM head
    WHERE (${place}) IN (SELECT ${place} FROM context_counter) GROUP BY ${place}, state`;
  const large = `SELECT ${place} FROM head GROUP BY ${place} HAVING count(*) > 64`;
  expect(one(`SELECT count(*) FROM (${kept} EXCEPT ${counted})`)).toBe(0);
  expect(one(`SELECT count(*) FROM (${counted} EXCEPT ${kept})`)).toBe(0);
  expect(one(`SELECT count(*) FROM (${large} EXCEPT SELECT ${place} FROM context_counter)`)).toBe(0);
}

/** No undelivered event is marked as delivered, and the counts of each task and owner are correct. */
function expectSoundPushes(one: (sql: string) => unknown): void {
  const joined = "FROM push_config p LEFT JOIN head h ON h.task_id = p.task_id";
  expect(one(`SELECT count(*) ${joined} WHERE h.task_id IS NULL OR h.pushed = 0 OR p.position > h.position`)).toBe(0);
  expect(one(`SELECT count(*) ${joined} WHERE p.state = 0 AND p.position < h.position`)).toBe(0);
  expect(one("SELECT count(*) FROM push_config WHERE (holder IS NULL) <> (claim IS NULL)")).toBe(0);
  expect(one("SELECT count(*) FROM push_config WHERE holder IS NOT NULL AND state <> 1")).toBe(0);
  const due = "EXISTS (SELECT 1 FROM push_config p WHERE p.task_id = h.task_id AND p.state = 1)";
  const any = "EXISTS (SELECT 1 FROM push_config p WHERE p.task_id = h.task_id)";
  const pushed = `CASE WHEN h.finished_at IS NOT NULL AND ${due} THEN 2 WHEN ${any} THEN 1 ELSE 0 END`;
  expect(one(`SELECT count(*) FROM head h WHERE h.pushed <> ${pushed}`)).toBe(0);
  const counted = `SELECT h.tenant, h.owner, count(*) ${joined}
    WHERE p.state <> 0 OR h.finished_at IS NULL GROUP BY h.tenant, h.owner`;
  expect(one(`SELECT count(*) FROM (${counted} EXCEPT SELECT tenant, owner, configs FROM push_owner)`)).toBe(0);
  expect(one(`SELECT count(*) FROM (SELECT tenant, owner, configs FROM push_owner EXCEPT ${counted})`)).toBe(0);
}
