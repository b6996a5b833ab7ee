import { membersOf } from "../../core/members.js";
import { TERMINAL } from "../states.js";
import type { TasksRemoval } from "../task-store.js";
import { bigints, texts } from "./arrays.js";
import { type Database, first, type Statements } from "./database.js";
import { codeOf } from "./errors.js";
import { LOG_BITS } from "./migrations.js";

/** Tasks that one transaction removes, so that appends wait only briefly. */
const STEP = 64;

/** Segments that one statement deletes. */
const SEGMENTS_STEP = 10_000;

/** Days whose partitions exist before they begin. */
const DAYS_AHEAD = 2;

/** The number of the day, as `append` computes it. */
const TODAY = "SELECT extract(epoch FROM now())::bigint / 86400";

/** Error code of PostgreSQL for insufficient privileges. */
const NOT_ALLOWED = "42501";

type Removed = [log: number, tenant: string, owner: string, contextId: string, taskId: string];

/**
 * Removes tasks. The row of a task ends it at once; the segments of its log are garbage, deleted with the partition of
 * their day if no task of that day is left, and one log after the other otherwise.
 */
export class Removal {
  readonly #database: Database;
  readonly #s: string;

  constructor(database: Database, schema: string) {
    this.#database = database;
    this.#s = schema;
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
    // The database's clock numbers the logs. The clock of this process may be days off.
    const [today = 0] = (await first(this.#database.query<[number]>(TODAY))) ?? [];
    await this.#createPartitions(today);
    for (const day of await this.#days()) {
      // A transaction that began yesterday may still create a log with that day's number, and the clock of another
      // database server may be slow.
      if (day >= today - 1) continue;
      if (!(await this.#dropped(day))) await this.#deleteGarbage(day * 2 ** LOG_BITS, (day + 1) * 2 ** LOG_BITS);
    }
    await this.#deleteOtherGarbage();
  }

  /** Removes those of the tasks that are still removable. */
  #remove(taskIds: readonly string[], where: string, unfinished = false): Promise<number> {
    if (taskIds.length === 0) return Promise.resolve(0);
    return this.#database.transaction(async (on) => {
      const s = this.#s;
      // Locked in the order of all transactions.
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
    const partitions = new Set(await this.#days());
    const days = await this.#database.query<[number]>(
      `SELECT DISTINCT log >> ${LOG_BITS} FROM ${this.#s}.garbage ORDER BY 1`,
    );
    for (const [day] of days) {
      if (!partitions.has(day)) await this.#deleteGarbage(day * 2 ** LOG_BITS, (day + 1) * 2 ** LOG_BITS);
    }
  }

  /** Numbers of the days that have a partition. */
  async #days(): Promise<number[]> {
    const rows = await this.#database.query<[string]>(
      "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid " +
        `WHERE i.inhparent = '${this.#s}.segment'::regclass`,
    );
    return rows.flatMap(([name]) => /^segment_(\d+)$/.exec(name)?.[1] ?? []).map(Number);
  }

  async #createPartitions(today: number): Promise<void> {
    const known = new Set(await this.#days());
    for (let day = today; day <= today + DAYS_AHEAD; day++) {
      if (known.has(day)) continue;
      const range = `FROM (${day * 2 ** LOG_BITS}) TO (${(day + 1) * 2 ** LOG_BITS})`;
      const create = `CREATE TABLE IF NOT EXISTS ${this.#s}.segment_${day} PARTITION OF ${this.#s}.segment FOR VALUES ${range}`;
      // Fails if another process is faster, or if logs of that day are in the default partition, where they stay.
      await this.#quickly(create).catch(() => {});
    }
  }

  /** Drops the partition of a day without tasks. */
  async #dropped(day: number): Promise<boolean> {
    const [low, high] = [day * 2 ** LOG_BITS, (day + 1) * 2 ** LOG_BITS];
    const task = `SELECT 1 FROM ${this.#s}.task WHERE log >= $1 AND log < $2 LIMIT 1`;
    if ((await first(this.#database.query(task, [low, high]))) !== undefined) return false;
    try {
      await this.#quickly(`DROP TABLE IF EXISTS ${this.#s}.segment_${day}`);
    } catch (error) {
      // A table that others use is dropped the next time. A role that may not drop it deletes its rows.
      if (codeOf(membersOf(error).cause) === NOT_ALLOWED) return false;
    }
    await this.#database.query(`DELETE FROM ${this.#s}.garbage WHERE log >= $1 AND log < $2`, [low, high]);
    return true;
  }

  /** Changes a table, unless that takes a lock for which others would have to wait. */
  #quickly(sql: string): Promise<void> {
    return this.#database.transaction(async (on) => {
      await on.run(`SET LOCAL lock_timeout = '500ms'; ${sql}`);
    });
  }
}
