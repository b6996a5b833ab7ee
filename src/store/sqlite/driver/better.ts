import { createRequire } from "node:module";
import type BetterSqlite from "better-sqlite3";
import type { Command, Parameter, Query, SqliteValue } from "./driver.js";
import { type Database, DEFAULT_TIMEOUT_MS, type Driver, driverOf, type OpenOptions } from "./driver.js";

/**
 * SQLite from the package better-sqlite3, which runs on every Node.js version but has to be compiled for it.
 * @throws the error of Node.js if the package is missing, or not built for this version.
 */
export function loadBetterSqlite(): Driver {
  // Required lazily: a program that uses SQLite from Node.js does not need the package.
  const Database = createRequire(import.meta.url)("better-sqlite3") as typeof BetterSqlite;
  const open = (path: string, { readonly = false, mustExist = false, timeoutMs }: OpenOptions = {}): BetterDatabase => {
    const fileMustExist = mustExist || readonly;
    return new BetterDatabase(
      new Database(path, { readonly, fileMustExist, timeout: timeoutMs ?? DEFAULT_TIMEOUT_MS }),
    );
  };
  // The first connection loads the native addon.
  return driverOf("better-sqlite3", open);
}

/** Its statements match our interface, so calls go to them directly. */
class BetterDatabase implements Database {
  readonly #db: BetterSqlite.Database;

  constructor(db: BetterSqlite.Database) {
    this.#db = db;
  }

  get isOpen(): boolean {
    return this.#db.open;
  }

  get inTransaction(): boolean {
    return this.#db.inTransaction;
  }

  command<P extends readonly Parameter[]>(sql: string): Command<P> {
    return this.#db.prepare(sql) as unknown as Command<P>;
  }

  rows<P extends readonly Parameter[], R extends readonly unknown[]>(sql: string): Query<P, R> {
    return this.#db.prepare(sql).raw() as unknown as Query<P, R>;
  }

  values<P extends readonly Parameter[], V>(sql: string): Query<P, V> {
    return this.#db.prepare(sql).pluck() as unknown as Query<P, V>;
  }

  exec(sql: string): void {
    this.#db.exec(sql);
  }

  pragma(text: string): SqliteValue | undefined {
    return this.#db.pragma(text, { simple: true }) as SqliteValue | undefined;
  }

  close(): void {
    this.#db.close();
  }
}
