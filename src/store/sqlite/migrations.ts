import { numberIn } from "./column.js";
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
 * Version 3 stores large values in separate tables. SQLite reads a whole row to compare its key in a table without
 * rowid, so a row of megabytes slows every statement that passes it. A value over `MAX_INLINE_BYTES` now lies in
 * `blob`, which has numeric keys, and its row has the number.
 *
 * - A snapshot has pieces; it is valid once `snapshot` lists it, which is written with the last of them. Pieces of
 *   other positions belong to a snapshot that is being written, was never finished, or was replaced.
 * - `garbage` lists removed tasks whose logs are too large to delete in one step.
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

/** Version 4: all values have been moved to the new tables. */
const moved: Step = {
  inParts: (db) => moveLargeValues(db),
  sql: "DROP TABLE old_snapshot;",
};

/** Version 5 removes every task whose log does not begin with its creation. */
const uncreated: Step = { inParts: (db) => removeUncreated(db), sql: "" };

/**
 * Version 6: the holder of a task's lease identifies the process that executes it, and one heartbeat row per process
 * tells if it is live. Leases that expired or survived an orderly shutdown get no holder.
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

/** Version 7 indexes the tasks that wait for their client (states 6 and 8): few, and only a status changes them. */
const interrupted = `
  CREATE INDEX head_interrupted ON head (status_time, task_id) WHERE state IN (6, 8);
`;

/**
 * Version 8 delivers push notifications. Due configurations are a range of `push_due`, independent of the others;
 * claims are found by holder, as leases are.
 *
 * - `state` is 0 for idle, 1 for due, 2 for dead; `at` is the time of the next attempt, or of giving up.
 * - `head.pushed` is 0 for a task without configurations, which an append then need not search; 1 for a task with some;
 *   and 2 if some are due although the task is finished, which excludes it from the index of removable tasks.
 * - `push_owner` counts the configurations of an owner, except the idle ones of finished tasks.
 *
 * Configurations of an earlier version are kept; it delivered none.
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
 * Version 9 counts each owner's usage across tenants, for servers where a caller can name any tenant. `owner_total` is
 * the sum over all named tenants. The empty tenant is one row already, so a call without a tenant writes nothing here.
 *
 * - `tasks` counts unfinished tasks, by the states of `counter`; `configs` counts as `push_owner` does.
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

/** Version 10 finds the due deliveries of one target, independent of the backlog of others. */
const targets = `
  CREATE INDEX push_due_of_target ON push_config (target, at) WHERE state = 1 AND holder IS NULL;
`;

/**
 * Version 11 counts the tasks of contexts with more than 64 tasks by state (`context-counters.ts`). Its index has one
 * range per state of a context, so that a page of one state skips all others.
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

/**
 * Version 12 stores the states of conversations. They may be large, so the keys to search are in an index, as those of
 * `push_config` are.
 */
const conversations = `
  CREATE TABLE conversation (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    context_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    bytes BLOB NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX conversation_by_context ON conversation (tenant, owner, context_id);
`;

/**
 * Version 13 lets operators list deliveries, with their failed attempts. The order of both indexes is that of all lists
 * of configurations. `owner` is a copy of that of the task, which never changes; a delivery writes neither index.
 */
const deliveries = `
  ALTER TABLE push_config ADD COLUMN owner TEXT NOT NULL DEFAULT '';
  UPDATE push_config SET owner = coalesce((SELECT h.owner FROM head h WHERE h.task_id = push_config.task_id), '');
  CREATE INDEX push_of_owner ON push_config (owner, task_id, config_id);
  CREATE INDEX push_of_target ON push_config (target, task_id, config_id);
  CREATE TABLE push_attempt (
    task_id TEXT NOT NULL,
    config_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    time INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    status INTEGER NOT NULL,
    answer TEXT NOT NULL,
    failure TEXT NOT NULL,
    holder TEXT NOT NULL,
    PRIMARY KEY (task_id, config_id, number)
  ) STRICT, WITHOUT ROWID;
`;

/**
 * Version 14 lists tasks for operators, over all owners. The index has one range per state; tenant and owner are in it
 * so that a filter reads the index alone. `head_by_context` begins with the context, so that an operator finds one
 * without knowing its owner. `head_by_owner` is gone: the lists that read it merge the ranges of `head_by_state`, so that
 * a write still changes four indexes. Owners without tasks have no counters any more.
 */
const operators = `
  CREATE INDEX head_by_status ON head (state, status_time, task_id, tenant, owner);
  DROP INDEX head_by_owner;
  DROP INDEX head_by_context;
  CREATE INDEX head_by_context ON head (context_id, tenant, owner, state, status_time, task_id);
  DELETE FROM counter WHERE tasks = 0;
  DELETE FROM owner_total WHERE tasks = 0 AND configs = 0;
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
  conversations,
  deliveries,
  operators,
];

/** The version that this code reads and writes (`PRAGMA user_version`). */
export const SCHEMA_VERSION: number = migrations.length;

/**
 * Migrates a file to version `to`, one transaction for each step or part of one, and returns the previous version. A new
 * file takes all steps in one transaction, which the disk syncs once. Several processes may run it at once: each step
 * checks the version again under the write lock. If the process is killed, the next start continues.
 * @param report called after each part of a long step with the bytes that the step has processed
 */
export function migrate(db: Database, to: number = SCHEMA_VERSION, report: (bytes: number) => void = () => {}): number {
  const before = versionOf(db);
  if (before === 0) immediate(db, () => createTables(db, to));
  for (let from = versionOf(db); from < to; from = versionOf(db)) {
    const step = migrations[from];
    if (step === undefined) break;
    if (typeof step === "string") immediate(db, () => finish(db, from, step));
    else inParts(db, from, step, report);
  }
  return before;
}

/** Takes all steps of a file without tables, which have nothing to move, in the open transaction. */
export function createTables(db: Database, to: number): void {
  migrations.slice(0, to).forEach((step, from) => {
    finish(db, from, typeof step === "string" ? step : step.sql);
  });
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
  return numberIn(db.pragma("user_version"));
}
