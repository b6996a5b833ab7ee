import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { Changed, Command, Parameter, Query, SqliteValue } from "./driver.js";
import { type Database, DEFAULT_TIMEOUT_MS, type Driver, driverOf, type OpenOptions } from "./driver.js";

/** The part of `node:sqlite` in use, as of Node.js 22.13; later additions are optional. */
interface NodeSqlite {
  readonly DatabaseSync: {
    new (path: string | URL, options: { readonly readOnly: boolean }): DatabaseSync;
    readonly prototype: DatabaseSync;
  };
  readonly StatementSync: { readonly prototype: StatementSync };
}

interface DatabaseSync {
  readonly isOpen?: boolean;
  readonly isTransaction?: boolean;
  prepare(sql: string): StatementSync;
  exec(sql: string): void;
  close(): void;
}

interface StatementSync {
  setReturnArrays?(on: boolean): void;
  run(...values: readonly Parameter[]): Changed;
  get(...values: readonly Parameter[]): unknown;
  all(...values: readonly Parameter[]): unknown[];
  iterate(...values: readonly Parameter[]): IterableIterator<unknown>;
}

/** True if this Node.js truncates text at its first NUL, as 22.13 and 22.16 do. */
let cutsText = false;

/** SQLite of Node.js 22.13 or later; undefined in earlier versions. */
export function loadNodeSqlite(): Driver | undefined {
  const sqlite = withoutSqliteWarning(() => process.getBuiltinModule?.("node:sqlite")) as NodeSqlite | undefined;
  // Versions before 22.13 have it under a flag, with fewer functions.
  if (sqlite === undefined || !("iterate" in sqlite.StatementSync.prototype)) return undefined;
  const open = (path: string, options?: OpenOptions): NodeDatabase => new NodeDatabase(sqlite, path, options);
  return driverOf("node:sqlite", open, (first) => {
    cutsText = first.values<[], string>("SELECT 'a' || char(0) || 'b'").get() !== "a\0b";
  });
}

/**
 * Suppresses the warning of Node.js 22 that SQLite is experimental, which an operator cannot act on. Other warnings
 * cannot occur during the synchronous call.
 */
function withoutSqliteWarning<T>(load: () => T): T {
  const { emitWarning } = process;
  const filtered = (...said: Parameters<typeof emitWarning>): void => {
    const [warning, type] = said as readonly unknown[];
    if (type === "ExperimentalWarning" && /^SQLite\b/.test(String(warning))) return;
    emitWarning.apply(process, said);
  };
  process.emitWarning = filtered as typeof emitWarning;
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}

class NodeDatabase implements Database {
  readonly #db: DatabaseSync;
  #isOpen = true;

  constructor(sqlite: NodeSqlite, path: string, options: OpenOptions = {}) {
    const { readonly: readOnly = false, mustExist = false, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    this.#db = new sqlite.DatabaseSync(mustExist && !readOnly ? existing(sqlite, path) : path, { readOnly });
    this.#db.exec(`PRAGMA busy_timeout = ${timeoutMs}`);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction ?? this.#refusesToBegin();
  }

  command<P extends readonly Parameter[]>(sql: string): Command<P> {
    const statement = this.#db.prepare(sql);
    return (cutsText ? new WholeText(statement) : statement) as unknown as Command<P>;
  }

  rows<P extends readonly Parameter[], R extends readonly unknown[]>(sql: string): Query<P, R> {
    const statement = this.#db.prepare(sql);
    if (statement.setReturnArrays === undefined) return new Mapped(statement, Object.values) as unknown as Query<P, R>;
    statement.setReturnArrays(true);
    return statement as unknown as Query<P, R>;
  }

  values<P extends readonly Parameter[], V>(sql: string): Query<P, V> {
    return new Mapped(this.rows<Parameter[], unknown[]>(sql), firstOf) as unknown as Query<P, V>;
  }

  exec(sql: string): void {
    this.#db.exec(sql);
  }

  pragma(text: string): SqliteValue | undefined {
    return this.values<[], SqliteValue>(`PRAGMA ${text}`).get();
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#db.close();
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

/** Opens a file without creating it. SQLite's option for that is part of a URL, which Node.js accepts from 22.15. */
function existing(sqlite: NodeSqlite, path: string): string | URL {
  if ("isOpen" in sqlite.DatabaseSync.prototype) {
    const url = pathToFileURL(path);
    url.searchParams.set("mode", "rw");
    return url;
  }
  if (!existsSync(path)) throw Object.assign(new Error("unable to open database file"), { code: "SQLITE_CANTOPEN" });
  return path;
}

function firstOf(row: unknown): unknown {
  return (row as readonly unknown[])[0];
}

/** Rejects text that would be read back truncated, possibly as the name of another owner. */
class WholeText {
  readonly #statement: StatementSync;

  constructor(statement: StatementSync) {
    this.#statement = statement;
  }

  run(...values: Parameter[]): Changed {
    if (values.some((value) => typeof value === "string" && value.includes("\0"))) {
      throw new Error("text with a NUL character cannot be kept by the SQLite of this Node.js: use a newer one");
    }
    return this.#statement.run(...values);
  }
}

/** A query that maps its rows. */
class Mapped {
  readonly #query: StatementSync | Query<Parameter[], unknown[]>;
  readonly #map: (row: never) => unknown;

  constructor(query: StatementSync | Query<Parameter[], unknown[]>, map: (row: never) => unknown) {
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
