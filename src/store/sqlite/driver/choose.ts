import { StoreError } from "../../task-store.js";
import type { Driver, DriverName } from "./driver.js";
import { loadNodeSqlite } from "./node.js";
import { loadPhotostructure } from "./photostructure.js";

let asked: DriverName | undefined;
let loaded: Driver | undefined;

/**
 * Chooses the driver of this thread, before its first use. Default: Node's own SQLite, else @photostructure/sqlite. The
 * choice is per process and not per store: two copies of SQLite in one process with the same file open would drop each
 * other's locks (https://www.sqlite.org/howtocorrupt.html, section 2.2.1).
 * @throws StoreError `failed` if another driver is in use.
 */
export function useDriver(name: DriverName): void {
  if (loaded !== undefined && loaded.name !== name) {
    throw new StoreError(
      "failed",
      `SQLite comes from ${loaded.name} in this process, and cannot come from ${name} too.`,
    );
  }
  asked = name;
}

/** @throws StoreError `failed` with the remedy if SQLite is not available. */
export function sqliteDriver(): Driver {
  loaded ??= load();
  return loaded;
}

function load(): Driver {
  const own = asked === "@photostructure/sqlite" ? undefined : loadNodeSqlite();
  if (own !== undefined) return own;
  if (asked === "node:sqlite") {
    throw new StoreError("failed", `Node.js ${process.versions.node} has no node:sqlite: use 22.13 or later.`);
  }
  try {
    return loadPhotostructure();
  } catch (error) {
    throw noSqlite(error);
  }
}

/** An error with the command that fixes it. */
export function noSqlite(cause: unknown, node: string = process.versions.node): StoreError {
  const isThere = !(cause instanceof Error && "code" in cause && cause.code === "MODULE_NOT_FOUND");
  const message = isThere
    ? "@photostructure/sqlite has no binary that this system can load: "
    : `The SQLite store needs a SQLite, which Node.js ${node} does not have: run ` +
      "`npm install @photostructure/sqlite@1`, or ";
  return new StoreError("failed", `${message}use Node.js 22.13 or later, which has its own.`, { cause });
}
