import { pause } from "../../core/async.js";
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
import { bigints, texts } from "./array-writer.js";
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
const POLL_MS = 500;

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
  for (let waited = 0; waited < WATCH_MS; waited += POLL_MS) {
    await pause(POLL_MS, undefined);
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
    const named = ({ kind, rows }: Batch): Batch => {
      return { kind, rows: rows.map(([log, ...row]) => [idOf.get(Number(log)) ?? "", ...row]) };
    };
    for (const logs of groupsOf(page)) {
      // A long log is read alone, along its index.
      const of = logs.length === 1 ? logs[0] : bigints(logs);
      for await (const batch of paged(on, s, "segment", of)) yield named(batch);
    }
    const logs = bigints([...idOf.keys()]);
    for (const kind of ["snapshot", "piece"] as const) {
      for await (const batch of paged(on, s, kind, logs)) yield named(batch);
    }
    const ids = texts([...idOf.values()]);
    for (const kind of ["send", "config", "attempt"] as const) yield* paged(on, s, kind, ids);
    last = page.at(-1)?.[1] ?? "";
  }
  for (const kind of ["conversation", "restoration"] as const) yield* paged(on, s, kind);
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

/** Rows of one kind: those of some logs or tasks, or all, in the order of a key. */
interface Table {
  readonly from: string;
  readonly of?: "log" | "task_id";
  readonly key: Readonly<Record<string, "text" | "bigint">>;
}

const tables: Readonly<Record<Exclude<Kind, "task">, Table>> = {
  segment: { from: "{s}.segment", of: "log", key: { log: "bigint", last: "bigint" } },
  snapshot: { from: "{s}.snapshot", of: "log", key: { log: "bigint" } },
  piece: {
    // The pieces of the valid snapshot.
    from: "(SELECT p.* FROM {s}.snapshot_piece p JOIN {s}.snapshot n ON n.log = p.log AND n.position = p.position) v",
    of: "log",
    key: { log: "bigint", piece: "bigint" },
  },
  send: { from: "{s}.send", of: "task_id", key: { task_id: "text", tenant: "text", owner: "text", key: "text" } },
  config: { from: "{s}.push_config", of: "task_id", key: { task_id: "text", config_id: "text" } },
  attempt: { from: "{s}.push_attempt", of: "task_id", key: { task_id: "text", config_id: "text", number: "bigint" } },
  conversation: { from: "{s}.conversation", key: { tenant: "text", owner: "text", context_id: "text" } },
  restoration: { from: "{s}.restoration", key: { number: "bigint" } },
};

/** Returns the columns of a kind in these tables. Some have the log of a task instead of its id. */
export function columnsOf(kind: Exclude<Kind, "task">): string[] {
  return columns[kind].split(", ").map((name) => (name === "task_id" ? (tables[kind].of ?? name) : name));
}

/**
 * Reads rows page by page, each bounded in rows and bytes: the size of a value is read without the value.
 * @param of the logs or tasks, as an array or one of them
 */
async function* paged(
  on: Pick<Statements, "query">,
  s: string,
  kind: Exclude<Kind, "task">,
  of?: Buffer | number,
): AsyncGenerator<Batch> {
  const names = columnsOf(kind);
  const hasBytes = names.includes("bytes");
  const { key, of: column } = tables[kind];
  const order = Object.keys(key).filter((name) => typeof of !== "number" || name !== column);
  const given = of === undefined ? [] : [of];
  const owned = typeof of === "number" ? `${column} = $1` : `${column} = ANY ($1)`;
  const place = order.map((name, index) => `$${given.length + index + 1}::${key[name]}`);
  const next = `(${order.join(", ")}) > (${place.join(", ")})`;
  let after: Value[] | undefined;
  for (;;) {
    const conditions = [...(of === undefined ? [] : [owned]), ...(after === undefined ? [] : [next])];
    const sql = sqlOf(s, kind, conditions, order.join(", "));
    const rows = await on.query<Row>(sql, [...given, ...(after ?? [])]);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield { kind, rows };
    if (!hasBytes && rows.length < BATCH_ROWS) return;
    after = order.map((name) => last[names.indexOf(name)] ?? null);
  }
}

function sqlOf(s: string, kind: Exclude<Kind, "task">, conditions: readonly string[], order: string): string {
  const names = columnsOf(kind);
  const all = names.join(", ");
  const condition = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")} `;
  const from = tables[kind].from.replaceAll("{s}", s);
  const rows = `SELECT ${all} FROM ${from} ${condition}ORDER BY ${order} LIMIT ${BATCH_ROWS}`;
  if (!names.includes("bytes")) return rows;
  const before = `sum(octet_length(bytes)) OVER (ORDER BY ${order}) - octet_length(bytes)`;
  return `SELECT ${all} FROM (SELECT g.*, ${before} AS before FROM (${rows}) g) w WHERE before < ${BATCH_BYTES} ORDER BY ${order}`;
}
