import { CENSUS_LIMIT, type Census } from "../census-store.js";
import { DEAD, DUE } from "../deliveries.js";
import { TERMINAL } from "../states.js";
import type { Database, Query } from "./driver/driver.js";

/** Counts of a file, all at one moment. */
export type CensusQuery = Query<[], [openTasks: number, interrupted: number, due: number, held: number, dead: number]>;

/** Prepares a `CensusQuery`. */
export function censusQuery(db: Database): CensusQuery {
  const upTo = (index: string, where: string): string =>
    `(SELECT count(*) FROM (SELECT 1 FROM ${index} WHERE ${where} LIMIT ${CENSUS_LIMIT}))`;
  return db.rows(
    `SELECT (SELECT coalesce(sum(tasks), 0) FROM counter WHERE state NOT IN (${TERMINAL})), ` +
      `${upTo("head INDEXED BY head_interrupted", "state IN (6, 8)")}, ` +
      `${upTo("push_config INDEXED BY push_due", `state = ${DUE} AND holder IS NULL`)}, ` +
      `${upTo("push_config INDEXED BY push_held", "holder IS NOT NULL")}, ` +
      `${upTo("push_config INDEXED BY push_dead", `state = ${DEAD}`)}`,
  );
}

/** Runs the query. */
export function countAll(query: CensusQuery): Omit<Census, "bytes"> {
  const [openTasks, interrupted, due, held, dead] = query.get() ?? [0, 0, 0, 0, 0];
  return { openTasks, interrupted, due: Math.min(due + held, CENSUS_LIMIT), dead };
}
