/**
 * The part of SQLite that the store uses, provided by Node.js (`node.ts`) or @photostructure/sqlite (`photostructure.ts`). A process
 * uses one of them, see `choose.ts`.
 *
 * Errors are the driver's own; `codeOf` maps them to SQLite's names.
 */

export type DriverName = "node:sqlite" | "@photostructure/sqlite";

/** A stored value. Blobs are read as a `Uint8Array` (possibly a `Buffer`) with its own memory. */
export type SqliteValue = string | number | null | Uint8Array;

/** A parameter of a statement. An integer is stored as an integer if its column has that type. */
export type Parameter = SqliteValue | bigint;

/** Result of a statement that writes. */
export interface Changed {
  readonly changes: number;
  /** A bigint only above 2^53. */
  readonly lastInsertRowid: number | bigint;
}

/** A statement that returns no rows. */
export interface Command {
  run(...values: Parameter[]): Changed;
}

/** A statement that returns rows. */
export interface Query<R> {
  /** The first row. */
  get(...values: Parameter[]): R | undefined;
  all(...values: Parameter[]): R[];
  /** Row by row. The statement must not be used again until the loop ends. */
  iterate(...values: Parameter[]): IterableIterator<R>;
}

/**
 * A connection. Closing it ends its statements. Each text of a statement is prepared once and kept until then, so texts
 * must be few: values are passed as parameters. A question mark in a text is always a parameter.
 */
export interface Database {
  readonly isOpen: boolean;
  /** True inside a transaction. SQLite ends one by itself after some errors. */
  readonly inTransaction: boolean;
  command(sql: string): Command;
  /** Returns rows as arrays, which is faster than objects. Column names have to differ. */
  rows<R extends readonly unknown[]>(sql: string): Query<R>;
  /** Returns the value of the only column of each row. */
  values<V>(sql: string): Query<V>;
  /** Runs statements without parameters and results. */
  exec(sql: string): void;
  /** Reads or writes a pragma; returns the first value, if any. */
  pragma(text: string): SqliteValue | undefined;
  /** Rolls an open transaction back. No loop over rows may be unfinished. Later calls do nothing. */
  close(): void;
}

export interface OpenOptions {
  /** The file must exist, and is opened read-only. */
  readonly readonly?: boolean;
  readonly mustExist?: boolean;
  /** Time that a statement waits for another connection's lock, in milliseconds. Default 5,000. */
  readonly timeoutMs?: number;
}

/** A provider of SQLite. */
export interface Driver {
  readonly name: DriverName;
  /** Version of SQLite, as in `3.51.3`. */
  readonly version: string;
  /** @param path of a file, or `:memory:` */
  open(path: string, options?: OpenOptions): Database;
}

/** Default of `OpenOptions.timeoutMs`. */
export const DEFAULT_TIMEOUT_MS = 5_000;
