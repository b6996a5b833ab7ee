/**
 * What the store needs of SQLite, so that it may come with Node.js (`node.ts`) or from better-sqlite3 (`better.ts`).
 * One of them serves a whole process, see `choose.ts`.
 *
 * Errors are the driver's own; `codeOf` gives SQLite's name of any of them.
 */

/** How a driver is called: by what it comes from. */
export type DriverName = "node:sqlite" | "better-sqlite3";

/** A value as SQLite keeps it. Blobs are read as a `Uint8Array` (it may be a `Buffer`) of its own. */
export type SqliteValue = string | number | null | Uint8Array;

/** What a statement may be given. A number is stored as an integer where its column asks for one and it is one. */
export type Parameter = SqliteValue | bigint;

/** What a statement changed. */
export interface Changed {
  readonly changes: number;
  /** A bigint only above 2^53. */
  readonly lastInsertRowid: number | bigint;
}

/** A statement that gives no rows. */
export interface Command<P extends readonly Parameter[] = Parameter[]> {
  run(...values: P): Changed;
}

/** A statement that gives rows. */
export interface Query<P extends readonly Parameter[], R> {
  /** The first one. */
  get(...values: P): R | undefined;
  all(...values: P): R[];
  /** One after the other. The statement must not be used for something else until the loop is over or left. */
  iterate(...values: P): IterableIterator<R>;
}

/** A connection. Its statements end with it. */
export interface Database {
  readonly isOpen: boolean;
  /** Whether a transaction is open; SQLite ends one by itself after some errors. */
  readonly inTransaction: boolean;
  command<P extends readonly Parameter[] = Parameter[]>(sql: string): Command<P>;
  /** Rows come as arrays, which is faster than objects. Two columns never have one name. */
  rows<P extends readonly Parameter[], R extends readonly unknown[]>(sql: string): Query<P, R>;
  /** Rows come as the value of their only column. */
  values<P extends readonly Parameter[], V>(sql: string): Query<P, V>;
  /** Runs statements that take and give nothing. */
  exec(sql: string): void;
  /** Reads or writes a pragma: gives the first value, if there is one. */
  pragma(text: string): SqliteValue | undefined;
  /** Later calls do nothing. */
  close(): void;
}

/** How a file is opened. */
export interface OpenOptions {
  /** The file must be there, and is only read. */
  readonly readonly?: boolean;
  /** The file must be there. */
  readonly mustExist?: boolean;
  /** How long a statement waits for another connection's lock, in milliseconds. Default 5,000. */
  readonly timeoutMs?: number;
}

/** SQLite from one of its sources. */
export interface Driver {
  readonly name: DriverName;
  /** Version of SQLite, as in `3.51.3`. */
  readonly version: string;
  /** @param path of a file, or `:memory:` */
  open(path: string, options?: OpenOptions): Database;
}

/** Unless `OpenOptions` says otherwise. */
export const DEFAULT_TIMEOUT_MS = 5_000;

/** A driver that opens connections so. @param look at its first connection, when the version is read from it */
export function driverOf(name: DriverName, open: Driver["open"], look?: (first: Database) => void): Driver {
  const first = open(":memory:");
  try {
    look?.(first);
    return { name, version: first.values<[], string>("SELECT sqlite_version()").get() ?? "", open };
  } finally {
    first.close();
  }
}
