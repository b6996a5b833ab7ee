import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { Changed, Command, DriverName, Parameter, Query, SqliteValue } from "./driver.js";
import { type Database, DEFAULT_TIMEOUT_MS, type Driver, type OpenOptions } from "./driver.js";

/** The part of `node:sqlite` in use, as of Node.js 22.13; later additions are optional. */
export interface NodeSqlite {
  readonly DatabaseSync: {
    new (path: string | URL, options: { readonly readOnly: boolean }): DatabaseSync;
    readonly prototype: DatabaseSync;
  };
  readonly StatementSync: { readonly prototype: StatementSync };
}

export interface DatabaseSync {
  readonly isOpen?: boolean;
  readonly isTransaction?: boolean;
  prepare(sql: string): StatementSync;
  exec(sql: string): void;
  close(): void;
}

export interface StatementSync {
  setReturnArrays?(on: boolean): void;
  run(...values: readonly Parameter[]): Changed;
  get(...values: readonly Parameter[]): unknown;
  all(...values: readonly Parameter[]): unknown[];
  iterate(...values: readonly Parameter[]): IterableIterator<unknown>;
}

/** True if text is truncated at its first NUL, as Node.js 22.13 and 22.16 and @photostructure/sqlite 1.2 do. */
let cutsText = false;

/** SQLite of Node.js 22.13 or later; undefined in earlier versions. */
export function loadNodeSqlite(): Driver | undefined {
  const sqlite = withoutSqliteWarning(() => process.getBuiltinModule?.("node:sqlite")) as NodeSqlite | undefined;
  // Versions before 22.13 have it under a flag, with fewer functions.
  if (sqlite === undefined || !("iterate" in sqlite.StatementSync.prototype)) return undefined;
  const open = (path: string, options?: OpenOptions): Database => new NodeDatabase(connect(sqlite, path, options));
  return driverLikeNode("node:sqlite", open);
}

/** A driver whose connections are `NodeDatabase`. */
export function driverLikeNode(name: DriverName, open: Driver["open"]): Driver {
  const first = open(":memory:");
  try {
    cutsText = first.values<string>("SELECT 'a' || char(0) || 'b'").get() !== "a\0b";
    return { name, version: first.values<string>("SELECT sqlite_version()").get() ?? "", open };
  } finally {
    first.close();
  }
}

/**
 * Suppresses the warning of Node.js 22 that SQLite is experimental, which an operator cannot act on. Other warnings
 * cannot occur during the synchronous call.
 */
function withoutSqliteWarning<T>(load: () => T): T {
  const { emitWarning } = process;
  const filtered = (...args: Parameters<typeof emitWarning>): void => {
    const [warning, type] = args as readonly unknown[];
    if (type === "ExperimentalWarning" && /^SQLite\b/.test(String(warning))) return;
    emitWarning.apply(process, args);
  };
  process.emitWarning = filtered as typeof emitWarning;
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}

function connect(sqlite: NodeSqlite, path: string, options: OpenOptions = {}): DatabaseSync {
  const { readonly: readOnly = false, mustExist = false, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const db = new sqlite.DatabaseSync(mustExist && !readOnly ? existing(sqlite, path) : path, { readOnly });
  db.exec(`PRAGMA busy_timeout = ${timeoutMs}`);
  return db;
}

/** A connection of `node:sqlite`, or of another module with its interface. */
export class NodeDatabase implements Database {
  readonly #db: DatabaseSync;
  readonly #commands = new Map<string, Command>();
  readonly #rows = new Map<string, Query<unknown>>();
  readonly #values = new Map<string, Query<unknown>>();
  #isOpen = true;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction ?? this.#refusesToBegin();
  }

  command(sql: string): Command {
    return this.#commands.get(sql) ?? keep(this.#commands, sql, this.#prepare(sql));
  }

  rows<R extends readonly unknown[]>(sql: string): Query<R> {
    // The statement determines the types of its rows.
    return (this.#rows.get(sql) ?? keep(this.#rows, sql, this.#prepareRows(sql))) as Query<R>;
  }

  values<V>(sql: string): Query<V> {
    return (this.#values.get(sql) ?? keep(this.#values, sql, new Mapped(this.rows(sql), firstOf))) as Query<V>;
  }

  exec(sql: string): void {
    this.#db.exec(sql);
  }

  pragma(text: string): SqliteValue | undefined {
    return this.values<SqliteValue>(`PRAGMA ${text}`).get();
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#db.close();
  }

  #prepare(sql: string): StatementSync {
    const statement = this.#db.prepare(opaque(sql));
    return cutsText ? new WholeText(statement) : statement;
  }

  #prepareRows(sql: string): Query<unknown> {
    const statement = this.#prepare(sql);
    if (statement.setReturnArrays === undefined) return new Mapped(statement, Object.values);
    statement.setReturnArrays(true);
    return statement;
  }

  /** Detects an open transaction before 22.16, which lacks the property. Called only after an error. */
  #refusesToBegin(): boolean {
    try {
      this.#db.exec("BEGIN");
    } catch {
      return true;
    }
    this.#db.exec("ROLLBACK");
    return false;
  }
}

function keep<T>(known: Map<string, T>, sql: string, statement: T): T {
  known.set(sql, statement);
  return statement;
}

/**
 * Hides the parameters of a statement from the query planner behind a unary plus, which changes no value. SQLite compiles
 * a statement with a join or an ORDER BY again for each execution if it compares a column with a bare parameter, because
 * its plan may depend on the value.
 */
function opaque(sql: string): string {
  return sql.replaceAll("?", "+?");
}

/** The URL that opens a file without creating it. */
export function urlOf(path: string): URL {
  const url = pathToFileURL(path);
  url.searchParams.set("mode", "rw");
  return url;
}

/** Opens a file without creating it. Node.js accepts URLs from 22.15. */
function existing(sqlite: NodeSqlite, path: string): string | URL {
  if ("isOpen" in sqlite.DatabaseSync.prototype) return urlOf(path);
  if (!existsSync(path)) throw Object.assign(new Error("unable to open database file"), { code: "SQLITE_CANTOPEN" });
  return path;
}

function firstOf(row: unknown): unknown {
  return (row as readonly unknown[])[0];
}

/**
 * A statement that neither stores nor finds a text with a NUL. SQLite would take the beginning of such a text for all
 * of it, which may be the name of another owner.
 */
class WholeText implements StatementSync {
  readonly #statement: StatementSync;
  readonly setReturnArrays?: (on: boolean) => void;

  constructor(statement: StatementSync) {
    this.#statement = statement;
    if (statement.setReturnArrays !== undefined) this.setReturnArrays = (on) => statement.setReturnArrays?.(on);
  }

  run(...values: Parameter[]): Changed {
    if (values.some(hasNul)) {
      throw new Error("text with a NUL character cannot be kept by the SQLite of this Node.js: use a newer one");
    }
    return this.#statement.run(...values);
  }

  get(...values: Parameter[]): unknown {
    return this.#statement.get(...unequal(values));
  }

  all(...values: Parameter[]): unknown[] {
    return this.#statement.all(...unequal(values));
  }

  iterate(...values: Parameter[]): IterableIterator<unknown> {
    return this.#statement.iterate(...unequal(values));
  }
}

function hasNul(value: Parameter): boolean {
  return typeof value === "string" && value.includes("\0");
}

/** The values with each text that has a NUL as a blob, which equals no text. */
function unequal(values: readonly Parameter[]): readonly Parameter[] {
  return values.some(hasNul) ? values.map((value) => (hasNul(value) ? Buffer.from(value as string) : value)) : values;
}

/** A query that maps its rows. */
class Mapped implements Query<unknown> {
  readonly #query: Query<unknown>;
  readonly #map: (row: never) => unknown;

  constructor(query: Query<unknown>, map: (row: never) => unknown) {
    this.#query = query;
    this.#map = map;
  }

  get(...values: Parameter[]): unknown {
    const row = this.#query.get(...values);
    return row === undefined ? undefined : this.#map(row as never);
  }

  all(...values: Parameter[]): unknown[] {
    return this.#query.all(...values).map((row) => this.#map(row as never));
  }

  *iterate(...values: Parameter[]): IterableIterator<unknown> {
    for (const row of this.#query.iterate(...values)) yield this.#map(row as never);
  }
}
