import { sqliteDriver, useDriver } from "../../src/store/sqlite/driver/choose.js";
import type { Database, DriverName, OpenOptions } from "../../src/store/sqlite/driver/driver.js";

// A test file runs on one driver; `vitest.config.ts` says on which, and processes that it starts inherit it.
const asked = process.env.PARLEY_SQLITE_DRIVER;
if (asked !== undefined && asked !== "") useDriver(asked as DriverName);

/** A connection as another program would have one, by the SQLite that the store under test uses. */
export function openDatabase(path: string, options?: OpenOptions): Database {
  return sqliteDriver().open(path, options);
}

/**
 * True if connections have the table `dbstat`, which lists the pages of a file. Node.js 22.13 builds SQLite without it.
 */
export function hasDbstat(): boolean {
  const db = openDatabase(":memory:");
  const options = db.values("SELECT compile_options FROM pragma_compile_options").all();
  db.close();
  return options.includes("ENABLE_DBSTAT_VTAB");
}

/** Tables and indexes whose rows are so long that SQLite keeps a part of them elsewhere; it takes `dbstat`. */
export function spilling(path: string): unknown[] {
  const db = openDatabase(path, { readonly: true });
  // The last one is the file's, whatever the driver calls it.
  const schema = db.values<string>("SELECT name FROM pragma_database_list").all().at(-1);
  const names = db.values(`SELECT DISTINCT name FROM dbstat('${schema}') WHERE pagetype = 'overflow' ORDER BY 1`).all();
  db.close();
  return names;
}
