import { sqliteDriver, useDriver } from "../../src/store/sqlite/driver/choose.js";
import type { Database, DriverName, OpenOptions } from "../../src/store/sqlite/driver/driver.js";

// A test file runs on one driver; `vitest.config.ts` says on which, and processes that it starts inherit it.
const asked = process.env.PARLEY_SQLITE_DRIVER;
if (asked !== undefined && asked !== "") useDriver(asked as DriverName);

/** A connection as another program would have one, by the SQLite that the store under test uses. */
export function openDatabase(path: string, options?: OpenOptions): Database {
  return sqliteDriver().open(path, options);
}
