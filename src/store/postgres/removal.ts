import { TERMINAL } from "../states.js";
import type { TasksRemoval } from "../task-store.js";
import { bigints, texts } from "./array-writer.js";
import { type Database, first, type Statements } from "./database.js";
import { LOG_BITS } from "./migrations.js";
import { logsOf, type Partitions } from "./partitions.js";

/** Tasks that one transaction removes, so that appends wait only briefly. */
const STEP = 64;

/** Segments that one statement deletes. */
const SEGMENTS_STEP = 10_000;

type Removed = [log: number, tenant: string, owner: string, contextId: string, taskId: string];

/**
 * Removes tasks. The row of a task ends it at once; the segments of its log are garbage, deleted with the partition of
 * their day if no task of that day is left, and one log after the other otherwise.
 */
export class Removal {
  readonly #database: Database;
  readonly #s: string;
  readonly #partitions: Partitions;

  constructor(database: Database, schema: string, partitions: Partitions) {
    this.#database = database;
    this.#s = schema;
    this.#partitions = partitions;
  }

  async removeFinished({ before, limit }: { readonly before: number; readonly limit: number }): Promise<number> {
    const find =
      `SELECT task_id FROM ${this.#s}.task WHERE state IN (${TERMINAL}) AND pushed < 2 AND status_time < $1 ` +
      "ORDER BY status_time LIMIT $2";
    let removed = 0;
    for (;;) {
      const step = Math.min(STEP, limit - removed);
      const ids = await this.#database.query<[string]>(find, [before, step]);
      const taskIds = ids.map(([taskId]) => taskId);
      removed += await this.#remove(taskIds, "t.pushed < 2");
      if (taskIds.length < step || removed >= limit) break;
    }
    if (removed < limit) await this.sweep();
    return removed;
  }

  async removeTasks({ taskIds, unfinished = false }: TasksRemoval): Promise<number> {
    const all = [...new Set(taskIds)];
    let removed = 0;
    for (let start = 0; start < all.length; start += STEP) {
      removed += await this.#remove(all.slice(start, start + STEP), "true", unfinished);
    }
    // An operator removes data now, not with the partition of its day.
    await this.#deleteGarbage(0, Number.MAX_SAFE_INTEGER);
    return removed;
  }

  /** Creates the partitions of the next days, drops those without tasks, and deletes the garbage of the others. */
  async sweep(): Promise<void> {
    await this.#partitions.createAhead();
    const today = await this.#partitions.today();
    for (const day of await this.#partitions.days()) {
      // A transaction that began yesterday may still create a log with that day's number, and the clock of another
      // database server may be slow.
      if (day >= today - 1) continue;
      if (!(await this.#dropped(day))) await this.#deleteGarbage(...logsOf(day));
    }
    await this.#deleteOtherGarbage();
  }

  /** Removes those of the tasks that are still removable. */
  #remove(taskIds: readonly string[], where: string, unfinished = false): Promise<number> {
    if (taskIds.length === 0) return Promise.resolve(0);
    return this.#database.transaction(async (on) => {
      const s = this.#s;
      // Locks the rows in the order that all transactions use.
      const rows = await on.query<Removed>(
        `SELECT t.log, t.tenant, t.owner, t.context_id, t.task_id FROM ${s}.task t WHERE t.task_id = ANY ($1) AND ${where} ` +
          `${unfinished ? "" : `AND t.state IN (${TERMINAL}) `}ORDER BY t.task_id FOR UPDATE`,
        [texts([...taskIds].sort())],
      );
      if (rows.length === 0) return 0;
      const ids = texts(rows.map(([, , , , taskId]) => taskId));
      const logs = bigints(rows.map(([log]) => log));
      for (const table of ["push_config", "push_attempt", "send", "task"]) {
        await on.query(`DELETE FROM ${s}.${table} WHERE task_id = ANY ($1)`, [ids]);
      }
      for (const table of ["snapshot", "snapshot_piece"]) {
        await on.query(`DELETE FROM ${s}.${table} WHERE log = ANY ($1)`, [logs]);
      }
      await on.query(`INSERT INTO ${s}.garbage (log) SELECT unnest($1::bigint[])`, [logs]);
      await this.#removeConversations(on, rows);
      return rows.length;
    });
  }

  async #removeConversations(on: Statements, rows: readonly Removed[]): Promise<void> {
    await on.query(
      `DELETE FROM ${this.#s}.conversation c USING unnest($1::text[], $2::text[], $3::text[]) AS r(tenant, owner, context_id) ` +
        "WHERE c.tenant = r.tenant AND c.owner = r.owner AND c.context_id = r.context_id AND NOT EXISTS (SELECT FROM " +
        `${this.#s}.task t WHERE t.context_id = c.context_id AND t.tenant = c.tenant AND t.owner = c.owner)`,
      [
        texts(rows.map(([, tenant]) => tenant)),
        texts(rows.map(([, , owner]) => owner)),
        texts(rows.map(([, , , contextId]) => contextId)),
      ],
    );
  }

  /** Deletes the segments of removed logs with numbers from `low` up to `high`. */
  async #deleteGarbage(low: number, high: number): Promise<void> {
    for (;;) {
      const rows = await this.#database.query<[number]>(
        `SELECT log FROM ${this.#s}.garbage WHERE log >= $1 AND log < $2 ORDER BY log LIMIT ${STEP}`,
        [low, high],
      );
      if (rows.length === 0) return;
      const logs = bigints(rows.map(([log]) => log));
      for (let deleted = SEGMENTS_STEP; deleted === SEGMENTS_STEP; ) {
        const some = await this.#database.query(
          `DELETE FROM ${this.#s}.segment g USING (SELECT log, last FROM ${this.#s}.segment WHERE log = ANY ($1) ` +
            `LIMIT ${SEGMENTS_STEP}) d WHERE g.log = d.log AND g.last = d.last RETURNING 1`,
          [logs],
        );
        deleted = some.length;
      }
      await this.#database.query(`DELETE FROM ${this.#s}.garbage WHERE log = ANY ($1)`, [logs]);
    }
  }

  /** Deletes the removed logs of days without a partition, such as those of a role that may create none. */
  async #deleteOtherGarbage(): Promise<void> {
    const sql = `SELECT 1 FROM ${this.#s}.segment_other LIMIT 1`;
    if ((await first(this.#database.query(sql))) === undefined) return;
    const partitions = new Set(await this.#partitions.days());
    const days = await this.#database.query<[number]>(
      `SELECT DISTINCT log >> ${LOG_BITS} FROM ${this.#s}.garbage ORDER BY 1`,
    );
    for (const [day] of days) {
      if (!partitions.has(day)) await this.#deleteGarbage(...logsOf(day));
    }
  }

  /** Drops the partition of a day without tasks. */
  async #dropped(day: number): Promise<boolean> {
    const task = `SELECT 1 FROM ${this.#s}.task WHERE log >= $1 AND log < $2 LIMIT 1`;
    if ((await first(this.#database.query(task, logsOf(day)))) !== undefined) return false;
    if (!(await this.#partitions.drop(day))) return false;
    await this.#database.query(`DELETE FROM ${this.#s}.garbage WHERE log >= $1 AND log < $2`, logsOf(day));
    return true;
  }
}
