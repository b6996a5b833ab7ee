import type { Database } from "./database.js";

/** Delay from a commit to the next fold, in milliseconds. */
const FOLD_MS = 1_000;

/**
 * Numbers of tasks by owner and state, the totals of lists. If every commit updated rows of `counter`, the commits of
 * one owner would wait for each other. So a commit adds rows to `tally`, which are folded into `counter` once a second.
 * The view `counted` has the sum of both at one moment.
 *
 * - A tally has the number of its transaction. Tallies below `folded.upto` are folded. A read skips those that a long
 *   transaction elsewhere keeps from being cleaned up. A database that was restored from a dump begins with lower
 *   numbers, so a store folds when it opens.
 * - Without `enable_seqscan`, the estimated cost of reading `folded` is so high that PostgreSQL would compile the statement
 *   in each fold, which takes up to 0.1 s.
 * - Removed tasks are counted by a trigger.
 */
export const counts: string = `
    CREATE TABLE {s}.counter (
      tenant text COLLATE "C" NOT NULL,
      owner text COLLATE "C" NOT NULL,
      state smallint NOT NULL,
      tasks bigint NOT NULL,
      PRIMARY KEY (tenant, owner, state)
    ) WITH (fillfactor = 80);
    CREATE TABLE {s}.tally (
      xid xid8 NOT NULL,
      tenant text COLLATE "C" NOT NULL,
      owner text COLLATE "C" NOT NULL,
      state smallint NOT NULL,
      tasks bigint NOT NULL
    );
    CREATE INDEX tally_by_owner ON {s}.tally (tenant, owner, xid);
    CREATE INDEX tally_by_xid ON {s}.tally (xid);
    CREATE TABLE {s}.folded (upto xid8 NOT NULL);
    INSERT INTO {s}.folded VALUES ('0');
    CREATE VIEW {s}.counted AS
      SELECT tenant, owner, state, tasks FROM {s}.counter
      UNION ALL
      SELECT tenant, owner, state, tasks FROM {s}.tally WHERE xid >= (SELECT upto FROM {s}.folded);

    CREATE FUNCTION {s}.fold_1() RETURNS void LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $fold$
    DECLARE
      -- No transaction below is open, so none can add a tally below.
      next_upto xid8 := pg_snapshot_xmin(pg_current_snapshot());
      last_upto xid8;
    BEGIN
      IF NOT pg_try_advisory_xact_lock(hashtextextended('{s}.tally', 0)) THEN RETURN; END IF;
      SELECT f.upto INTO last_upto FROM {s}.folded f;
      IF last_upto > next_upto THEN last_upto := '0'; END IF;
      IF NOT EXISTS (SELECT FROM {s}.tally t WHERE t.xid >= last_upto) AND last_upto > '0' THEN RETURN; END IF;
      WITH taken AS (DELETE FROM {s}.tally t WHERE t.xid >= last_upto RETURNING t.tenant, t.owner, t.state, t.tasks)
      INSERT INTO {s}.counter AS c (tenant, owner, state, tasks)
      SELECT tenant, owner, state, sum(tasks) FROM taken GROUP BY tenant, owner, state HAVING sum(tasks) <> 0
      ON CONFLICT (tenant, owner, state) DO UPDATE SET tasks = c.tasks + excluded.tasks;
      UPDATE {s}.folded SET upto = next_upto;
    END
    $fold$;

    CREATE FUNCTION {s}.tally_removed_1() RETURNS trigger LANGUAGE plpgsql AS $removed$
    BEGIN
      INSERT INTO {s}.tally (xid, tenant, owner, state, tasks)
      SELECT pg_current_xact_id(), g.tenant, g.owner, g.state, -count(*) FROM gone g GROUP BY g.tenant, g.owner, g.state;
      RETURN NULL;
    END
    $removed$;
    CREATE TRIGGER tally_removed AFTER DELETE ON {s}.task REFERENCING OLD TABLE AS gone
      FOR EACH STATEMENT EXECUTE FUNCTION {s}.tally_removed_1();
`;

/** Folds tallies after commits. */
export class Counts {
  readonly #database: Database;
  readonly #fold: string;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(database: Database, schema: string) {
    this.#database = database;
    this.#fold = `SELECT ${schema}.fold_1()`;
  }

  /** Folds the tallies committed so far. */
  async fold(): Promise<void> {
    await this.#database.query(this.#fold);
  }

  /** Notes a commit that may have changed numbers of tasks. */
  note(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      // The next fold includes the tallies that this one leaves.
      this.fold().catch(() => {});
    }, FOLD_MS).unref();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
