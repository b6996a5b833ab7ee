import type { Client } from "pg";
import { backoffMs, pause } from "../../core/async.js";
import type { Logger } from "../../core/log.js";
import { StoreError } from "../task-store.js";
import type { Database } from "./database.js";
import { codeOf } from "./errors.js";
import type { Step } from "./migrations.js";

/** Key of the advisory lock under which one process at a time migrates: the bytes of "parley". */
const LOCK = 0x7061726c6579;

/** Interval between two attempts to get that lock, in milliseconds. */
const POLL_MS = 250;

/** Interval between log lines while a migration waits or works, in milliseconds. */
const PROGRESS_MS = 10_000;

/** Time that a step waits for a table lock, in milliseconds. Statements of servers queue behind it meanwhile. */
const LOCK_TIMEOUT_MS = 500;

/** Pauses after a step that did not get its locks. Half of each is fixed, so that other programs have time to finish. */
const pauses = { firstMs: 250, maxMs: 5_000, jitter: 0.5 } as const;

/** Time after which a step without its locks fails, in milliseconds. */
const MOST_WAIT_MS = 300_000;

/** Codes of a lock timeout, a deadlock, and a serialization failure. */
const AGAIN: ReadonlySet<string> = new Set(["55P03", "40P01", "40001"]);

/** Codes of an unknown function and of an unsupported feature. */
const NO_FUNCTION: ReadonlySet<string> = new Set(["42883", "0A000"]);

/**
 * Runs `work` on a connection of its own while no other process migrates, if the database has advisory locks.
 *
 * The lock belongs to an open transaction on another connection. It ends with that connection and works through
 * poolers. The transaction must hold no snapshot between its statements: `CREATE INDEX CONCURRENTLY` would wait for it
 * forever.
 */
export async function alone(
  database: Database,
  logger: Logger,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  const guard = await database.connection({ unlimited: true });
  try {
    await lock(guard, logger);
    const client = await database.connection({ unlimited: true });
    try {
      await client.query("SET statement_timeout = 0; SET lock_timeout = 0");
      await work(client);
    } finally {
      await client.end().catch(() => {});
    }
  } finally {
    await guard.end().catch(() => {});
  }
}

async function lock(guard: Client, logger: Logger): Promise<void> {
  await guard.query("BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = 0");
  for (let since = 0; ; since = (since + POLL_MS) % PROGRESS_MS) {
    if (await tryLock(guard)) return;
    if (since === 0) logger.info({}, "another process migrates the database; waiting for it");
    await pause(POLL_MS, undefined);
  }
}

async function tryLock(guard: Client): Promise<boolean> {
  try {
    // A statement with parameters would leave a portal, and with it a snapshot.
    const { rows } = await guard.query(`SELECT pg_try_advisory_xact_lock(${LOCK}) AS locked`);
    return rows[0]?.locked === true;
  } catch (error) {
    // Each step checks the version again.
    if (NO_FUNCTION.has(codeOf(error))) return true;
    throw error;
  }
}

interface StepToTake {
  readonly schema: string;
  /** The version before it. */
  readonly version: number;
  readonly step: Step;
  readonly logger: Logger;
}

/** Takes a step unless another process has taken it, again if others hold its locks. */
export async function takeStep(client: Client, request: StepToTake): Promise<void> {
  const { schema, version, step, logger } = request;
  const fields = { schema, version: version + 1 };
  const progress = setInterval(() => logger.info(fields, "the migration is still at work"), PROGRESS_MS);
  const start = performance.now();
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        return await (typeof step === "string" ? change(client, request, step) : index(client, request, step));
      } catch (error) {
        if (!AGAIN.has(codeOf(error))) throw error;
        if (performance.now() - start > MOST_WAIT_MS) throw locked(schema, version + 1, error);
        if (attempt === 1) logger.info(fields, "a transaction of another program delays the migration; retrying");
        await pause(backoffMs(attempt, pauses), undefined);
      }
    }
  } finally {
    clearInterval(progress);
  }
}

async function change(client: Client, { schema, version }: StepToTake, sql: string): Promise<void> {
  await client.query(
    `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}; ` +
      "SET LOCAL idle_in_transaction_session_timeout = 5000",
  );
  try {
    if (version === 0) await createVersions(client, schema);
    // Two processes get here only on a database without advisory locks.
    await client.query(`LOCK TABLE ${schema}.version IN SHARE ROW EXCLUSIVE MODE`);
    if (!(await isTaken(client, schema, version))) {
      await client.query(sql.replaceAll("{s}", schema));
      await client.query(`INSERT INTO ${schema}.version VALUES ($1)`, [version + 1]);
    }
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

async function createVersions(client: Client, schema: string): Promise<void> {
  const { rows } = await client.query("SELECT to_regnamespace($1) IS NOT NULL AS known", [schema]);
  // This statement needs a right on the database even if the schema exists.
  if (rows[0]?.known !== true) await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
  await client.query(`CREATE TABLE IF NOT EXISTS ${schema}.version (version integer NOT NULL)`);
}

async function isTaken(client: Client, schema: string, version: number): Promise<boolean> {
  const { rows } = await client.query(`SELECT 1 FROM ${schema}.version WHERE version = $1`, [version + 1]);
  return rows.length > 0;
}

/** A step that creates an index while others write. It waits for older transactions, and blocks none. */
async function index(client: Client, request: StepToTake, step: Exclude<Step, string>): Promise<void> {
  const { schema, version, logger } = request;
  if (await isTaken(client, schema, version)) return;
  const found = await client.query(
    "SELECT i.indisvalid AS valid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid " +
      "WHERE c.relname = $1 AND c.relnamespace = to_regnamespace($2)",
    [step.index, schema],
  );
  const isValid: unknown = found.rows[0]?.valid;
  if (isValid === false) {
    logger.info({ schema, index: step.index }, "an index of an interrupted migration is created again");
    await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${schema}.${step.index}`);
  }
  if (isValid !== true) await client.query(`CREATE INDEX CONCURRENTLY ${step.index} ON ${schema}.${step.on}`);
  await client.query(`INSERT INTO ${schema}.version VALUES ($1)`, [version + 1]);
}

function locked(schema: string, version: number, cause: unknown): StoreError {
  const message =
    `The schema ${schema} cannot be migrated to version ${version}: for ${MOST_WAIT_MS / 60_000} minutes a transaction ` +
    'of another program locked a table. End it (pg_stat_activity lists it), and run "parley migrate" again.';
  return new StoreError("unavailable", message, { cause });
}
