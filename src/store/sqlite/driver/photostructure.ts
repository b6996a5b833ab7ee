import { createRequire } from "node:module";
import { type Database, DEFAULT_TIMEOUT_MS, type Driver, type OpenOptions } from "./driver.js";
import { type DatabaseSync, driverLikeNode, NodeDatabase, type NodeSqlite, type StatementSync, urlOf } from "./node.js";

/** Name of the file's schema in a connection. */
const SCHEMA = "file";

/**
 * SQLite from the package @photostructure/sqlite, which has the interface of `node:sqlite` and runs on Node.js versions
 * without it.
 * @throws the error of Node.js if the package is missing, or has no binary for this platform.
 */
export function loadPhotostructure(): Driver {
  // Required lazily: a program that uses SQLite from Node.js does not need the package.
  const sqlite = createRequire(import.meta.url)("@photostructure/sqlite") as NodeSqlite;
  const open = (path: string, options?: OpenOptions): Database => new NodeDatabase(new Attached(sqlite, path, options));
  return driverLikeNode("@photostructure/sqlite", open);
}

/**
 * A connection whose main database is empty and in memory, with the file attached. The package does not end statements
 * when their connection closes: SQLite would keep the file open, with its locks and its log, until the garbage
 * collector finds them. Detaching the file closes it at once, whatever statements exist.
 */
class Attached implements DatabaseSync {
  readonly #db: DatabaseSync;

  constructor(sqlite: NodeSqlite, path: string, options: OpenOptions = {}) {
    const { readonly: readOnly = false, mustExist = false, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    // An attached file is opened as the main database was.
    this.#db = new sqlite.DatabaseSync(":memory:", { readOnly });
    this.#db.exec(`PRAGMA busy_timeout = ${timeoutMs}`);
    const name = mustExist && !readOnly ? urlOf(path).href : path;
    try {
      this.#db.exec(`ATTACH '${name.replaceAll("'", "''")}' AS ${SCHEMA}`);
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  get isTransaction(): boolean {
    return this.#db.isTransaction === true;
  }

  prepare(sql: string): StatementSync {
    return this.#db.prepare(inFile(sql));
  }

  exec(sql: string): void {
    this.#db.exec(inFile(sql));
  }

  close(): void {
    try {
      // SQLite detaches no file that a transaction uses.
      if (this.isTransaction) this.#db.exec("ROLLBACK");
      this.#db.exec(`DETACH ${SCHEMA}`);
    } finally {
      this.#db.close();
    }
  }
}

/** Matches SQL that would refer to the main database. SQLite finds existing tables and indexes by their names alone. */
const UNNAMED = /\b(?:VACUUM\b|(?:PRAGMA|CREATE (?:UNIQUE )?(?:TABLE|INDEX)) (?=\w)|(?=sqlite_schema\b))/g;

/** The SQL with the file's schema named where it is needed. */
function inFile(sql: string): string {
  return sql.replace(UNNAMED, (found) => (found === "VACUUM" ? `VACUUM ${SCHEMA}` : `${found}${SCHEMA}.`));
}
