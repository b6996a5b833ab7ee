import { DEAD, DUE, IDLE } from "../deliveries.js";
import { INTERRUPTED, TERMINAL } from "../states.js";
import { appendFunction } from "./append-function.js";
import { counts } from "./counts.js";

/** Bits of a log's number below its day: each day has room for 68 billion logs. */
export const LOG_BITS = 36;

/**
 * Version 1; `{s}` stands for the schema. Texts compare by their bytes (`COLLATE "C"`), as in every store.
 *
 * - The position of a task is that of its last segment, so that an append without a status changes no row of `task`.
 * - A log has a number of its own. It begins with the day of its creation, by which segments are partitioned: the
 *   segments of a day are dropped in one step when no task of that day is left. A task that is created again under the
 *   id of a removed one has another log.
 * - A segment holds the entries of one append, found by the position of its last entry: the first one whose `last` is
 *   above a position has the next entry.
 * - A snapshot has pieces; it is valid once `snapshot` lists it. `garbage` lists the logs of removed tasks.
 * - `task.pushed` is 0 for a task without push configurations, 1 for a task with some, and 2 if some are due although the
 *   task is finished, which excludes it from the index of removable tasks.
 * - `push_config.counted` is false for an idle configuration of a finished task, which counts towards no limit.
 * - `holder` has the heartbeat of each process, a random number that changes. Observers measure by their own clocks how
 *   long it stays the same, so that no time of day decides about a lease.
 */
const tables = `
    CREATE SEQUENCE {s}.log_number MAXVALUE ${2 ** LOG_BITS - 1} CYCLE;
    CREATE TABLE {s}.task (
      task_id text COLLATE "C" PRIMARY KEY,
      log bigint NOT NULL,
      tenant text COLLATE "C" NOT NULL,
      owner text COLLATE "C" NOT NULL,
      context_id text COLLATE "C" NOT NULL,
      state smallint NOT NULL,
      status_time bigint NOT NULL,
      lease_holder text COLLATE "C",
      lease_turn bigint,
      lease_attempt integer,
      pushed smallint NOT NULL DEFAULT 0
    ) WITH (fillfactor = 80);
    CREATE INDEX task_by_owner ON {s}.task (tenant, owner, status_time, task_id);
    CREATE INDEX task_by_state ON {s}.task (tenant, owner, state, status_time, task_id);
    CREATE INDEX task_by_context ON {s}.task (context_id, tenant, owner, status_time, task_id);
    CREATE INDEX task_by_status ON {s}.task (status_time, task_id);
    CREATE INDEX task_by_log ON {s}.task (log);
    CREATE INDEX task_open ON {s}.task (owner, tenant) WHERE state NOT IN (${TERMINAL});
    CREATE INDEX task_interrupted ON {s}.task (status_time, task_id) WHERE state IN (${INTERRUPTED});
    CREATE INDEX task_removable ON {s}.task (status_time) WHERE state IN (${TERMINAL}) AND pushed < 2;
    CREATE INDEX task_leased ON {s}.task (lease_holder, task_id) WHERE lease_holder IS NOT NULL;

    CREATE TABLE {s}.segment (
      log bigint NOT NULL,
      last bigint NOT NULL,
      count integer NOT NULL,
      generation bigint NOT NULL,
      bytes bytea NOT NULL,
      PRIMARY KEY (log, last)
    ) PARTITION BY RANGE (log);
    CREATE TABLE {s}.segment_other PARTITION OF {s}.segment DEFAULT;
    CREATE TABLE {s}.garbage (log bigint PRIMARY KEY);

    CREATE TABLE {s}.snapshot (log bigint PRIMARY KEY, position bigint NOT NULL, pieces integer NOT NULL);
    CREATE TABLE {s}.snapshot_piece (
      log bigint NOT NULL,
      position bigint NOT NULL,
      piece integer NOT NULL,
      bytes bytea NOT NULL,
      PRIMARY KEY (log, position, piece)
    );

    CREATE TABLE {s}.send (
      tenant text COLLATE "C" NOT NULL,
      owner text COLLATE "C" NOT NULL,
      key text COLLATE "C" NOT NULL,
      fingerprint text NOT NULL,
      task_id text COLLATE "C" NOT NULL,
      position bigint NOT NULL,
      PRIMARY KEY (tenant, owner, key)
    );
    CREATE INDEX send_by_task ON {s}.send (task_id);

    CREATE TABLE {s}.conversation (
      tenant text COLLATE "C" NOT NULL,
      owner text COLLATE "C" NOT NULL,
      context_id text COLLATE "C" NOT NULL,
      version bigint NOT NULL,
      bytes bytea NOT NULL,
      PRIMARY KEY (tenant, owner, context_id)
    );

    CREATE UNLOGGED TABLE {s}.holder (id text COLLATE "C" PRIMARY KEY, beat bigint NOT NULL) WITH (fillfactor = 50);
`;

/** Push configurations and their attempts; see above. */
const pushTables = `
    CREATE SEQUENCE {s}.claim_number;
    CREATE TABLE {s}.push_config (
      task_id text COLLATE "C" NOT NULL,
      config_id text COLLATE "C" NOT NULL,
      tenant text COLLATE "C" NOT NULL,
      owner text COLLATE "C" NOT NULL,
      target text COLLATE "C" NOT NULL,
      position bigint NOT NULL,
      state smallint NOT NULL,
      at bigint NOT NULL,
      attempts integer NOT NULL DEFAULT 0,
      failing_since bigint,
      failure text,
      holder text COLLATE "C",
      claim bigint,
      counted boolean NOT NULL,
      bytes bytea NOT NULL,
      PRIMARY KEY (task_id, config_id)
    );
    CREATE INDEX push_due ON {s}.push_config (at, task_id, config_id) WHERE state = ${DUE} AND holder IS NULL;
    CREATE INDEX push_due_of_target ON {s}.push_config (target, at, task_id, config_id) WHERE state = ${DUE} AND holder IS NULL;
    CREATE INDEX push_held ON {s}.push_config (holder) WHERE holder IS NOT NULL;
    CREATE INDEX push_dead ON {s}.push_config (task_id, config_id) WHERE state = ${DEAD};
    CREATE INDEX push_counted ON {s}.push_config (owner, tenant) WHERE counted;
    CREATE INDEX push_of_owner ON {s}.push_config (owner, task_id, config_id);
    CREATE INDEX push_of_target ON {s}.push_config (target, task_id, config_id);
    CREATE INDEX push_late ON {s}.push_config (at) WHERE state = ${DUE};
    CREATE TABLE {s}.push_attempt (
      task_id text COLLATE "C" NOT NULL,
      config_id text COLLATE "C" NOT NULL,
      number bigint NOT NULL,
      time bigint NOT NULL,
      duration_ms double precision NOT NULL,
      generation bigint NOT NULL,
      status integer NOT NULL,
      answer text NOT NULL,
      failure text NOT NULL,
      holder text NOT NULL,
      PRIMARY KEY (task_id, config_id, number)
    );
    COMMENT ON COLUMN {s}.push_config.state IS '${IDLE} idle, ${DUE} due, ${DEAD} dead';
`;

/** The restorations of a file that was copied to this database (`parley store copy`). */
const restorations = `
    CREATE TABLE {s}.restoration (number integer PRIMARY KEY, until bigint NOT NULL, id text NOT NULL);
`;

/**
 * A step: SQL for one transaction, in which `{s}` stands for the schema, or an index that is created while others write.
 * `on` is the table and its columns, such as `task (owner) WHERE state = 1`; the table has no partitions.
 */
export type Step = string | { readonly index: string; readonly on: string };

/**
 * The step from version n to n + 1 is element n. A step that was released never changes. Servers of the previous release
 * use the schema while a step is taken and after it:
 *
 * - A step adds: a table, a column with a constant default, a function under a new name, an index (concurrently).
 * - What a release no longer uses is removed by the release after it.
 * - A step scans no table within a transaction, and holds its locks for milliseconds.
 */
export const migrations: readonly Step[] = [tables + pushTables + counts + appendFunction + restorations];

/** Version of the schema that this code reads and writes. */
export const SCHEMA_VERSION: number = migrations.length;
