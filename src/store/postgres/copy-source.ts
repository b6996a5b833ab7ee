import { setTimeout as sleep } from "node:timers/promises";
import { silentLogger } from "../../core/log.js";
import {
  BATCH_BYTES,
  BATCH_ROWS,
  type Batch,
  type CopySource,
  columns,
  type Kind,
  type OnWatch,
  PAGE_TASKS,
  type Row,
  type Value,
} from "../copy/records.js";
import { StoreError } from "../task-store.js";
import { shownAddress } from "./address.js";
import { bigints, texts } from "./arrays.js";
import { type Database, first, type Statements } from "./database.js";
import { toOpeningError } from "./errors.js";
import { lastSegment } from "./heads.js";
import { migrate } from "./migrate.js";
import { openDatabase } from "./migrate-database.js";

/**
 * Time for which the heartbeats of a store are watched before it counts as unused, in milliseconds. A live server sends
 * one every third of `leaseMs`, 5 seconds by default.
 */
const WATCH_MS = 16_000;

/** Interval between two reads of the heartbeats, in milliseconds. */
const LOOK_MS = 500;

/** Maximum number of entries in the tasks whose segments one statement reads. */
const GROUP_ENTRIES = 5_000;

/**
 * Opens a database of the current schema for a copy.
 * @throws StoreError `failed` if a server uses it, or if it has an older schema; `newer-schema`, `unavailable`
 */
export async function postgresSource(url: string, onWatch: OnWatch = () => {}): Promise<CopySource> {
  const { database, schema } = await openDatabase(url, silentLogger);
  const name = shownAddress(url, schema);
  try {
    await migrate({ database, schema, logger: silentLogger, mode: "check" });
    const beats = await checkIdle({ database, schema, name, onWatch });
    return {
      name,
      ...readsOf(database, schema),
      checkUnused: async () => {
        if (!isSame(beats, await beatsOf(database, schema))) throw inUse(name);
      },
      close: () => database.close(),
    };
  } catch (error) {
    await database.close();
    throw toOpeningError(error, `Cannot copy from ${name}`);
  }
}

/** The parts of a source that read the tables. */
export function readsOf(database: Database, schema: string): Pick<CopySource, "countTasks" | "read"> {
  return {
    async countTasks() {
      return (await first(database.query<[number]>(`SELECT count(*) FROM ${schema}.task`)))?.[0] ?? 0;
    },
    read: () => readAll(database, schema),
  };
}

/** A database that servers may use. */
export interface Watched {
  readonly database: Database;
  readonly schema: string;
  readonly name: string;
  readonly onWatch: OnWatch;
}

type Beats = ReadonlyMap<string, number>;

/**
 * Watches the heartbeats, if any process ever sent one, and returns them.
 * @throws StoreError `failed` when one changes
 */
export async function checkIdle({ database, schema, name, onWatch }: Watched): Promise<Beats> {
  const beats = await beatsOf(database, schema);
  if (beats.size === 0) return beats;
  onWatch(name, WATCH_MS);
  for (let waited = 0; waited < WATCH_MS; waited += LOOK_MS) {
    await sleep(LOOK_MS);
    if (!isSame(beats, await beatsOf(database, schema))) throw inUse(name);
  }
  return beats;
}

/** The last heartbeat of each process. */
async function beatsOf(database: Database, schema: string): Promise<Beats> {
  return new Map(await database.query<[string, number]>(`SELECT id, beat FROM ${schema}.holder`));
}

function isSame(one: Beats, other: Beats): boolean {
  return one.size === other.size && [...other].every(([id, beat]) => one.get(id) === beat);
}

/** The error of a store whose heartbeats change. */
export function inUse(name: string): StoreError {
  return new StoreError("failed", `A server uses ${name}: its heartbeats change. End all servers of it first.`);
}

/** Reads all records at one moment, on a connection of its own. */
async function* readAll(database: Database, schema: string): AsyncGenerator<Batch> {
  const read = await database.reader();
  try {
    yield* batchesOf(read, schema);
  } finally {
    await read.end();
  }
}

async function* batchesOf(on: Pick<Statements, "query">, s: string): AsyncGenerator<Batch> {
  const sql =
    "SELECT t.log, t.task_id, t.tenant, t.owner, t.context_id, t.state, t.status_time, l.last, l.generation, t.lease_turn, " +
    `t.lease_attempt FROM ${s}.task t ${lastSegment(s)} WHERE t.task_id > $1 ORDER BY t.task_id LIMIT ${PAGE_TASKS}`;
  for (let last = ""; ; ) {
    const page = await on.query<[number, string, ...Value[]]>(sql, [last]);
    if (page.length === 0) break;
    yield { kind: "task", rows: page.map(([, ...row]) => row) };
    const idOf = new Map(page.map(([log, taskId]) => [log, taskId]));
    const named = (rows: readonly Row[]): Row[] => rows.map(([log, ...row]) => [idOf.get(Number(log)) ?? "", ...row]);
    for (const logs of groupsOf(page)) {
      for await (const rows of paged(on, segments(s, logs))) yield { kind: "segment", rows: named(rows) };
    }
    const logs = bigints([...idOf.keys()]);
    for (const kind of ["snapshot", "piece"] as const) {
      for await (const rows of paged(on, byLog(s, kind, logs))) yield { kind, rows: named(rows) };
    }
    const ids = texts([...idOf.values()]);
    for (const kind of ["send", "config", "attempt"] as const) {
      for await (const rows of paged(on, byTask(s, kind, ids))) yield { kind, rows };
    }
    last = page.at(-1)?.[1] ?? "";
  }
  for (const table of rest(s)) for await (const rows of paged(on, table)) yield { kind: table.kind, rows };
}

/** Logs whose segments are read together; a long one alone, along its index. */
function groupsOf(page: readonly (readonly [number, string, ...Value[]])[]): number[][] {
  const groups: number[][] = [];
  let group: number[] = [];
  let entries = 0;
  for (const [log, , , , , , , position] of page) {
    if (group.length > 0 && entries + Number(position) > GROUP_ENTRIES) {
      groups.push(group);
      group = [];
      entries = 0;
    }
    group.push(log);
    entries += Number(position);
  }
  return group.length > 0 ? [...groups, group] : groups;
}

/** Rows to read, in the order of a key whose first values are texts or numbers. */
interface Table {
  readonly kind: Kind;
  readonly from: string;
  /** Condition on `$1`; none for the whole table. */
  readonly where?: { readonly sql: string; readonly value: Buffer | number };
  readonly columns: readonly string[];
  /** Columns of the key, and their types. */
  readonly key: Readonly<Record<string, "text" | "bigint">>;
  /** False without a column `bytes`. */
  readonly hasBytes: boolean;
}

function segments(s: string, logs: readonly number[]): Table {
  const [log = 0] = logs;
  const columns = ["log", "last", "count", "bytes"];
  const from = `${s}.segment`;
  if (logs.length > 1) {
    const where = { sql: "log = ANY ($1)", value: bigints(logs) };
    return { kind: "segment", from, where, columns, key: { log: "bigint", last: "bigint" }, hasBytes: true };
  }
  const where = { sql: "log = $1", value: log };
  return { kind: "segment", from, where, columns, key: { last: "bigint" }, hasBytes: true };
}

function byLog(s: string, kind: "snapshot" | "piece", logs: Buffer): Table {
  const where = { sql: "log = ANY ($1)", value: logs };
  if (kind === "snapshot") {
    const columns = ["log", "position", "pieces"];
    return { kind, from: `${s}.snapshot`, where, columns, key: { log: "bigint" }, hasBytes: false };
  }
  return {
    ...{ kind, where, columns: ["log", "position", "piece", "bytes"], key: { log: "bigint", piece: "bigint" } },
    // The pieces of the valid snapshot.
    from: `(SELECT p.* FROM ${s}.snapshot_piece p JOIN ${s}.snapshot n ON n.log = p.log AND n.position = p.position) v`,
    hasBytes: true,
  };
}

function byTask(s: string, kind: "send" | "config" | "attempt", ids: Buffer): Table {
  const where = { sql: "task_id = ANY ($1)", value: ids };
  if (kind === "send") {
    const key = { task_id: "text", tenant: "text", owner: "text", key: "text" } as const;
    return { kind, from: `${s}.send`, where, columns: columns.send, key, hasBytes: false };
  }
  const key = { task_id: "text", config_id: "text" } as const;
  if (kind === "config") {
    return { kind, from: `${s}.push_config`, where, columns: columns.config, key, hasBytes: true };
  }
  const numbered = { ...key, number: "bigint" } as const;
  return { kind, from: `${s}.push_attempt`, where, columns: columns.attempt, key: numbered, hasBytes: false };
}

function rest(s: string): Table[] {
  const conversations: Table = {
    ...{ kind: "conversation", from: `${s}.conversation`, hasBytes: true },
    columns: columns.conversation,
    key: { tenant: "text", owner: "text", context_id: "text" },
  };
  const restorations: Table = {
    ...{ kind: "restoration", from: `${s}.restoration`, hasBytes: false },
    ...{ columns: columns.restoration, key: { number: "bigint" } },
  };
  return [conversations, restorations];
}

/** Reads rows page by page, each bounded in rows and bytes: the size of a value is read without the value. */
async function* paged(on: Pick<Statements, "query">, table: Table): AsyncGenerator<Row[]> {
  const { columns, key, where, hasBytes } = table;
  const at = Object.keys(key).map((name) => columns.indexOf(name));
  let after: Value[] | undefined;
  for (;;) {
    const values = [...(where === undefined ? [] : [where.value]), ...(after ?? [])];
    const rows = await on.query<Row>(sqlOf(table, after !== undefined), values);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    if (!hasBytes && rows.length < BATCH_ROWS) return;
    after = at.map((index) => last[index] ?? null);
  }
}

function sqlOf({ from, where, columns, key, hasBytes }: Table, isNext: boolean): string {
  const names = Object.keys(key).join(", ");
  const start = where === undefined ? 1 : 2;
  const place = Object.values(key).map((type, index) => `$${start + index}::${type}`);
  const conditions = [
    ...(where === undefined ? [] : [where.sql]),
    ...(isNext ? [`(${names}) > (${place.join(", ")})`] : []),
  ];
  const condition = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")} `;
  const all = columns.join(", ");
  const rows = `SELECT ${all} FROM ${from} ${condition}ORDER BY ${names} LIMIT ${BATCH_ROWS}`;
  if (!hasBytes) return rows;
  const before = `sum(octet_length(bytes)) OVER (ORDER BY ${names}) - octet_length(bytes)`;
  return `SELECT ${all} FROM (SELECT g.*, ${before} AS before FROM (${rows}) g) w WHERE before < ${BATCH_BYTES} ORDER BY ${names}`;
}
