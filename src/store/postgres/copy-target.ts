import type { Client } from "pg";
import { silentLogger } from "../../core/log.js";
import type { Batch, CopyTarget, Kind, OnWatch, Row, Value } from "../copy/records.js";
import { DUE, IDLE } from "../deliveries.js";
import { TERMINAL } from "../states.js";
import { NO_HOLDER, StoreError } from "../task-store.js";
import { shownAddress } from "./address.js";
import { ArrayWriter, texts } from "./array-writer.js";
import { checkIdle, columnsOf, inUse, readsOf, type Watched } from "./copy-source.js";
import { type Database, first, type Statements } from "./database.js";
import { toOpeningError } from "./errors.js";
import { COPY_MARK, migrate, versionOf } from "./migrate.js";
import { openDatabase } from "./migrate-database.js";
import { LOG_BITS } from "./migrations.js";
import { Partitions } from "./partitions.js";

/** Tables that a copy fills, and those whose rows mean nothing without them. */
const TABLES = [
  ...["task", "segment", "snapshot", "snapshot_piece", "send", "push_config", "push_attempt", "conversation"],
  ...["restoration", "garbage", "holder", "counter", "tally"],
];

/**
 * Opens a database for a copy, creates or migrates its schema, and marks it: no store opens it before the copy is
 * complete. The remains of an unfinished copy are removed.
 * @throws StoreError `failed` if it has tasks, or if a server or another copy uses it; `newer-schema`, `unavailable`
 */
export async function postgresTarget(url: string, onWatch: OnWatch = () => {}): Promise<CopyTarget> {
  const { database, schema } = await openDatabase(url, silentLogger);
  const name = shownAddress(url, schema);
  let guard: Client | undefined;
  try {
    guard = await lock(database, schema, name);
    await begin({ database, schema, name, onWatch });
  } catch (error) {
    await guard?.end().catch(() => {});
    await database.close();
    throw toOpeningError(error, `Cannot copy to ${name}`);
  }
  const writer = new Writer(database, schema);
  const ended = guard;
  return {
    name,
    ...readsOf(database, schema),
    write: (batch) => writer.write(batch),
    finish: () =>
      database.run(
        `INSERT INTO ${schema}.counter (tenant, owner, state, tasks) ` +
          `SELECT tenant, owner, state, count(*) FROM ${schema}.task GROUP BY tenant, owner, state`,
      ),
    checkUnused: async () => {
      const row = await first(database.query(`SELECT 1 FROM ${schema}.holder LIMIT 1`));
      if (row !== undefined) throw inUse(name);
    },
    complete: async () => void (await database.query(`DELETE FROM ${schema}.version WHERE version = ${COPY_MARK}`)),
    close: async () => {
      await ended.end().catch(() => {});
      await database.close();
    },
  };
}

/** Keeps other copies away while the connection is open. */
async function lock(database: Database, schema: string, name: string): Promise<Client> {
  const guard = await database.connection({ unlimited: true });
  await guard.query("BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = 0");
  const { rows } = await guard.query(
    `SELECT pg_try_advisory_xact_lock(hashtextextended('${schema}.copy', 0)) AS locked`,
  );
  if (rows[0]?.locked === true) return guard;
  await guard.end();
  throw new StoreError("failed", `Another "parley store copy" fills ${name}.`);
}

async function begin(target: Watched): Promise<void> {
  const { database, schema } = target;
  const { isCopy } = await versionOf(database, schema);
  await migrate({ database, schema, logger: silentLogger, isCopy: true });
  if (!isCopy) await mark(target);
  await database.run(`TRUNCATE ${TABLES.map((table) => `${schema}.${table}`).join(", ")}`);
  await new Partitions(database, schema, silentLogger).createAhead();
}

/** Marks a schema that has no tasks and no servers. */
async function mark(target: Watched): Promise<void> {
  const { database, schema, name } = target;
  await checkEmpty(database, schema, name);
  await checkIdle(target);
  await database.transaction(async (on) => {
    await on.query(`INSERT INTO ${schema}.version VALUES (${COPY_MARK})`);
    await checkEmpty(on, schema, name);
  });
}

async function checkEmpty(on: Pick<Statements, "query">, schema: string, name: string): Promise<void> {
  for (const table of ["task", "send", "conversation"]) {
    if ((await first(on.query(`SELECT 1 FROM ${schema}.${table} LIMIT 1`))) === undefined) continue;
    throw new StoreError("failed", `Cannot copy to ${name}: it has tasks. Name another schema (?schema=).`);
  }
}

/** Facts of a task of the current page, for the rows that belong to it. */
interface CopiedTask {
  readonly log: number;
  readonly position: number;
  readonly generation: number;
}

/** Inserts batches, each by one statement. */
class Writer {
  readonly #database: Database;
  readonly #s: string;
  #page = new Map<string, CopiedTask>();

  constructor(database: Database, schema: string) {
    this.#database = database;
    this.#s = schema;
  }

  async write({ kind, rows }: Batch): Promise<void> {
    if (kind === "task") return this.#tasks(rows);
    if (kind === "segment" || kind === "snapshot" || kind === "piece") return this.#ofLog(kind, rows);
    await this.#database.query(insertOf(this.#s, kind), encoded(rows, types[kind]));
    if (kind === "config") await this.#mark(rows);
  }

  async #tasks(rows: readonly Row[]): Promise<void> {
    const sql =
      `INSERT INTO ${this.#s}.task (task_id, log, tenant, owner, context_id, state, status_time, lease_holder, lease_turn, ` +
      `lease_attempt) SELECT u.a, ((extract(epoch FROM now())::bigint / 86400) << ${LOG_BITS}) | ` +
      `nextval('${this.#s}.log_number'), u.b, u.c, u.d, u.e, u.f, CASE WHEN u.g IS NOT NULL THEN '${NO_HOLDER}' END, ` +
      "u.g, u.h FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], " +
      "$8::bigint[]) AS u(a, b, c, d, e, f, g, h) RETURNING task_id, log";
    // Leaves out position and generation, which are those of the last segment.
    const stored = rows.map((row) => [...row.slice(0, 6), ...row.slice(8)]);
    const logs = new Map(await this.#database.query<[string, number]>(sql, encoded(stored, types.task)));
    this.#page = new Map(
      rows.map(([taskId, , , , , , position, generation]) => {
        const log = logs.get(String(taskId)) ?? 0;
        return [String(taskId), { log, position: Number(position), generation: Number(generation) }];
      }),
    );
  }

  async #ofLog(kind: "segment" | "snapshot" | "piece", rows: readonly Row[]): Promise<void> {
    const stored = rows.map(([taskId, second = 0, ...rest]) => {
      const task = this.#page.get(String(taskId));
      // The generation of an earlier segment is never read.
      const generation = second === task?.position ? task.generation : 0;
      return [task?.log ?? 0, second, ...rest, ...(kind === "segment" ? [generation] : [])];
    });
    await this.#database.query(insertOf(this.#s, kind), encoded(stored, types[kind]));
  }

  async #mark(rows: readonly Row[]): Promise<void> {
    const taskIds = [...new Set(rows.map(([taskId]) => String(taskId)))];
    await this.#database.query(
      `UPDATE ${this.#s}.task t SET pushed = CASE WHEN t.state IN (${TERMINAL}) AND EXISTS (SELECT FROM ` +
        `${this.#s}.push_config p WHERE p.task_id = t.task_id AND p.state = ${DUE}) THEN 2 ELSE 1 END ` +
        "WHERE t.task_id = ANY ($1)",
      [texts(taskIds)],
    );
  }
}

/** Types of the columns that a statement receives: text, number or bytes. */
const types: Readonly<Record<Kind, string>> = {
  task: "ttttnnnn",
  segment: "nnnbn",
  snapshot: "nnn",
  piece: "nnnb",
  send: "tttttn",
  config: "tttttnnnnntb",
  attempt: "ttnnnnnttt",
  conversation: "tttnb",
  restoration: "nnt",
};

const sqlTypes: Readonly<Record<string, string>> = { t: "text", n: "bigint", b: "bytea" };

/** Columns as arrays. */
function encoded(rows: readonly Row[], kinds: string): (Buffer | null)[] {
  const writer = new ArrayWriter(4_096);
  return [...kinds].map((kind, column) => {
    const at = (index: number): Value | undefined => rows[index]?.[column] ?? undefined;
    if (kind === "t") return writer.texts(rows.length, (index) => at(index) as string | undefined);
    if (kind === "b") return writer.byteArrays(rows.length, (index) => at(index) as Uint8Array | undefined);
    return writer.bigints(rows.length, (index) => {
      const value = at(index);
      return value === undefined ? value : Math.round(Number(value));
    });
  });
}

/** Tables that have another name than the kind of their rows. */
const names: Readonly<Partial<Record<Kind, string>>> = {
  piece: "snapshot_piece",
  config: "push_config",
  attempt: "push_attempt",
};

/** The statement that inserts rows of a kind, given as arrays of their columns. */
function insertOf(s: string, kind: Exclude<Kind, "task">): string {
  const columns = [...columnsOf(kind), ...(kind === "segment" ? ["generation"] : [])].join(", ");
  const arrays = [...types[kind]].map((type, index) => `$${index + 1}::${sqlTypes[type]}[]`).join(", ");
  const table = `${s}.${names[kind] ?? kind}`;
  if (kind !== "config") return `INSERT INTO ${table} (${columns}) SELECT * FROM unnest(${arrays})`;
  return (
    `INSERT INTO ${table} (${columns}, counted) SELECT u.*, NOT (u.state = ${IDLE} AND t.state IN (${TERMINAL})) ` +
    `FROM unnest(${arrays}) AS u(${columns}) JOIN ${s}.task t ON t.task_id = u.task_id`
  );
}
