import { expect } from "vitest";
import { openDatabase } from "./database.js";

/** Checks a file of the store that nobody writes: it is whole, and its rows agree with each other. Gives its tasks. */
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
  const tasks = one("SELECT count(*) FROM head") as number;
  db.close();
  return tasks;
}
