import type { Database } from "better-sqlite3";

/** Marks a file as ours in the header of SQLite (`PRAGMA application_id`): "PARL". */
export const APPLICATION_ID: number = 0x5041524c;

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

/** The step from version n to n + 1 is element n. A step that was released never changes. */
export const migrations: readonly string[] = [tasks, counters];

/** The version that this code reads and writes (`PRAGMA user_version`). */
export const SCHEMA_VERSION: number = migrations.length;

/**
 * Brings a file to version `to`, one transaction for each step, and returns the version it had. Several processes
 * may do it at once: each step looks again under the write lock.
 */
export function migrate(db: Database, to: number = SCHEMA_VERSION): number {
  const before = versionOf(db);
  while (versionOf(db) < to) db.transaction(() => step(db, to)).immediate();
  return before;
}

function step(db: Database, to: number): void {
  const from = versionOf(db);
  const sql = migrations[from];
  if (from >= to || sql === undefined) return;
  db.exec(sql);
  db.pragma(`application_id = ${APPLICATION_ID}`);
  db.pragma(`user_version = ${from + 1}`);
}

function versionOf(db: Database): number {
  return db.pragma("user_version", { simple: true }) as number;
}
