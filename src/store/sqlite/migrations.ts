import { APPLICATION_ID, immediate } from "./connection.js";
import type { Database } from "./driver/driver.js";
import { moveLargeValues, type Part } from "./large-values.js";
import { removeUncreated } from "./uncreated.js";

/**
 * Version 1. Every table is its primary key's index (`WITHOUT ROWID`), ids compare by their bytes.
 *
 * - `head_by_owner`, `head_by_state` and `head_by_context` give a page of a list in its order; the last one has the
 *   state as well, so that counting under both filters reads the index alone.
 * - `finished_at` is the status time of a task that is over, so that the file need not know which states are final.
 * - A segment is found by the position of its last entry: the first one whose `last` is above a position has the
 *   next entry.
 */
const tasks = `
  CREATE TABLE head (
    task_id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    context_id TEXT NOT NULL,
    state INTEGER NOT NULL,
    status_time INTEGER NOT NULL,
    position INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    finished_at INTEGER,
    lease_holder TEXT,
    lease_until INTEGER,
    lease_turn INTEGER,
    lease_attempt INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX head_by_owner ON head (tenant, owner, status_time, task_id);
  CREATE INDEX head_by_state ON head (tenant, owner, state, status_time, task_id);
  CREATE INDEX head_by_context ON head (tenant, owner, context_id, status_time, task_id, state);
  CREATE INDEX head_finished ON head (finished_at) WHERE finished_at IS NOT NULL;
  CREATE INDEX head_leased ON head (lease_until) WHERE lease_until IS NOT NULL;

  CREATE TABLE segment (
    task_id TEXT NOT NULL,
    last INTEGER NOT NULL,
    count INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (task_id, last)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE snapshot (
    task_id TEXT NOT NULL PRIMARY KEY,
    position INTEGER NOT NULL,
    bytes BLOB NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE send (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    task_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX send_by_task ON send (task_id);

  CREATE TABLE push_config (
    task_id TEXT NOT NULL,
    config_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (task_id, config_id)
  ) STRICT, WITHOUT ROWID;
`;

/** Version 2 counts the tasks of every owner by state, so that the total of a list costs no walk over its tasks. */
const counters = `
  CREATE TABLE counter (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    state INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, state)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO counter (tenant, owner, state, tasks)
    SELECT tenant, owner, state, count(*) FROM head GROUP BY tenant, owner, state;
`;

/**
 * Version 3 has a place for what is large. SQLite reads a whole row to compare its key in a table without rowid, so
 * one that has megabytes is expensive for every statement that passes it on the way to another row. A value over `MAX_INLINE_BYTES`
 * lies in `blob` now, where keys are numbers, and the row that belongs to it has its number.
 *
 * - A snapshot has pieces; it is there when `snapshot` says so, which is written with the last of them. Pieces of other
 *   positions are of one that is being written, was never finished, or was replaced.
 * - `garbage` names tasks that are removed and whose log is too large to go in one step.
 */
const largeValues = `
  CREATE TABLE blob (
    id INTEGER PRIMARY KEY,
    bytes BLOB NOT NULL
  ) STRICT;
  ALTER TABLE segment ADD COLUMN blob INTEGER;

  ALTER TABLE snapshot RENAME TO old_snapshot;
  CREATE TABLE snapshot (
    task_id TEXT NOT NULL PRIMARY KEY,
    position INTEGER NOT NULL,
    pieces INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE snapshot_piece (
    task_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    piece INTEGER NOT NULL,
    blob INTEGER NOT NULL,
    PRIMARY KEY (task_id, position, piece)
  ) STRICT, WITHOUT ROWID;

  ALTER TABLE push_config RENAME TO old_push_config;
  CREATE TABLE push_config (
    task_id TEXT NOT NULL,
    config_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    bytes BLOB NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX push_config_by_id ON push_config (task_id, config_id);
  INSERT INTO push_config (task_id, config_id, position, bytes)
    SELECT task_id, config_id, position, bytes FROM old_push_config;
  DROP TABLE old_push_config;

  CREATE TABLE garbage (
    task_id TEXT NOT NULL PRIMARY KEY
  ) STRICT, WITHOUT ROWID;
`;

/** Version 4: what was there has moved to its new place. */
const moved: Step = {
  inParts: (db) => moveLargeValues(db),
  sql: "DROP TABLE old_snapshot;",
};

/** Version 5 has no task whose log does not begin with being created. */
const uncreated: Step = { inParts: (db) => removeUncreated(db), sql: "" };

/**
 * Version 6: the process that executes a task is found by the holder of its lease, and whether it lives by its beat: one row for
 * a process, whatever it executes. Leases that an orderly end left behind, or that ran out, get no holder.
 */
const holders = `
  DROP INDEX head_leased;
  UPDATE head SET lease_holder = '' WHERE lease_until = 0;
  ALTER TABLE head DROP COLUMN lease_until;
  CREATE INDEX head_leased ON head (lease_holder, task_id) WHERE lease_holder IS NOT NULL;
  CREATE TABLE holder (
    id TEXT NOT NULL PRIMARY KEY,
    beat INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

/** Version 7 finds the tasks that wait for their client (states 6 and 8): few, and touched by nothing but their status. */
const interrupted = `
  CREATE INDEX head_interrupted ON head (status_time, task_id) WHERE state IN (6, 8);
`;

/**
 * Version 8 delivers push notifications. What is due is a range of `push_due`, whatever there is besides it; what processes
 * hold is found by their names, as leases are.
 *
 * - `state` is 0 for idle, 1 for due, 2 for given up; `at` is when the next try is due, or when it was given up.
 * - `head.pushed` is 0 for a task without configurations, which no append then has to look for; 1 for one that has some; and 2
 *   when some are due although the task is over, so that the index of what may be removed does not have it.
 * - `push_owner` counts the configurations of an owner but those that are idle and whose task is over.
 *
 * What an earlier version has of configurations is kept; it delivered none.
 */
const pushes = `
  ALTER TABLE head ADD COLUMN pushed INTEGER NOT NULL DEFAULT 0;
  DROP INDEX head_finished;
  CREATE INDEX head_finished ON head (finished_at) WHERE finished_at IS NOT NULL AND pushed < 2;

  DROP INDEX push_config_by_id;
  ALTER TABLE push_config RENAME TO old_push_config;
  CREATE TABLE push_config (
    id INTEGER PRIMARY KEY,
    task_id TEXT NOT NULL,
    config_id TEXT NOT NULL,
    target TEXT NOT NULL,
    position INTEGER NOT NULL,
    state INTEGER NOT NULL,
    at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    failing_since INTEGER,
    failure TEXT,
    holder TEXT,
    claim INTEGER,
    bytes BLOB NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX push_config_by_id ON push_config (task_id, config_id);
  CREATE INDEX push_due ON push_config (at) WHERE state = 1 AND holder IS NULL;
  CREATE INDEX push_held ON push_config (holder) WHERE holder IS NOT NULL;
  CREATE INDEX push_dead ON push_config (task_id, config_id) WHERE state = 2;
  INSERT INTO push_config (task_id, config_id, target, position, state, at, attempts, bytes)
    SELECT task_id, config_id, '', position, 0, 0, 0, bytes FROM old_push_config WHERE task_id IN (SELECT task_id FROM head);
  DROP TABLE old_push_config;
  UPDATE head SET pushed = 1 WHERE task_id IN (SELECT task_id FROM push_config);

  CREATE TABLE push_owner (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    configs INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO push_owner (tenant, owner, configs)
    SELECT h.tenant, h.owner, count(*) FROM push_config p JOIN head h ON h.task_id = p.task_id
    WHERE h.finished_at IS NULL GROUP BY h.tenant, h.owner;
`;

/**
 * Version 9 knows what an owner has under all tenants, for servers where a caller may name any. `owner_total` is the sum over the
 * tenants but the empty one, whose own counts are one row each: a call without a tenant writes nothing here.
 *
 * - `tasks` are those that are not over, by the states of `counter`; `configs` are what `push_owner` counts.
 */
const ownerTotals = `
  CREATE TABLE owner_total (
    owner TEXT NOT NULL PRIMARY KEY,
    tasks INTEGER NOT NULL,
    configs INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO owner_total (owner, tasks, configs)
    SELECT owner, sum(tasks), sum(configs) FROM (
      SELECT owner, tasks, 0 AS configs FROM counter WHERE tenant <> '' AND state NOT IN (3, 4, 5, 7)
      UNION ALL SELECT owner, 0, configs FROM push_owner WHERE tenant <> ''
    ) GROUP BY owner;
`;

/** Version 10 finds what is due of one target, however much is due of others before it. */
const targets = `
  CREATE INDEX push_due_of_target ON push_config (target, at) WHERE state = 1 AND holder IS NULL;
`;

/**
 * Version 11 counts the tasks of large contexts by state: those of more than 64 (`context-counters.ts`). Its index has a range for
 * each state of a context, so that a page of one state passes over no others.
 */
const contexts = `
  DROP INDEX head_by_context;
  CREATE INDEX head_by_context ON head (tenant, owner, context_id, state, status_time, task_id);
  CREATE TABLE context_counter (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    context_id TEXT NOT NULL,
    state INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, context_id, state)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO context_counter (tenant, owner, context_id, state, tasks)
    SELECT tenant, owner, context_id, state, count(*) FROM head INDEXED BY head_by_context
    WHERE (tenant, owner, context_id) IN (
      SELECT tenant, owner, context_id FROM head INDEXED BY head_by_context GROUP BY tenant, owner, context_id HAVING count(*) > 64
    ) GROUP BY tenant, owner, context_id, state;
`;

/** A step in one transaction, or in many small ones and a last one. */
type Step = string | { readonly inParts: (db: Database) => Part; readonly sql: string };

/** The step from version n to n + 1 is element n. A step that was released never changes. */
export const migrations: readonly Step[] = [
  tasks,
  counters,
  largeValues,
  moved,
  uncreated,
  holders,
  interrupted,
  pushes,
  ownerTotals,
  targets,
  contexts,
];

/** The version that this code reads and writes (`PRAGMA user_version`). */
export const SCHEMA_VERSION: number = migrations.length;

/**
 * Brings a file to version `to`, one transaction for each step or part of one, and returns the version it had. Several
 * processes may do it at once: each step looks again under the write lock. A process that is killed goes on at the
 * next start.
 * @param report hears, after each part of a long step, how many bytes the step has dealt with
 */
export function migrate(db: Database, to: number = SCHEMA_VERSION, report: (bytes: number) => void = () => {}): number {
  const before = versionOf(db);
  for (let from = before; from < to; from = versionOf(db)) {
    const step = migrations[from];
    if (step === undefined) break;
    if (typeof step === "string") immediate(db, () => finish(db, from, step));
    else inParts(db, from, step, report);
  }
  return before;
}

function inParts(db: Database, from: number, step: Exclude<Step, string>, report: (bytes: number) => void): void {
  const next = step.inParts(db);
  for (let total = 0; ; ) {
    const bytes = immediate(db, () => (versionOf(db) === from ? next() : undefined));
    if (bytes === undefined) break;
    total += bytes;
    report(total);
  }
  immediate(db, () => finish(db, from, step.sql));
}

function finish(db: Database, from: number, sql: string): void {
  if (versionOf(db) !== from) return;
  db.exec(sql);
  db.pragma(`application_id = ${APPLICATION_ID}`);
  db.pragma(`user_version = ${from + 1}`);
}

function versionOf(db: Database): number {
  return db.pragma("user_version") as number;
}
