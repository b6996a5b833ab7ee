import { StoreError } from "../../task-store.js";
import { loadBetterSqlite } from "./better.js";
import type { Driver, DriverName } from "./driver.js";
import { loadNodeSqlite } from "./node.js";

let asked: DriverName | undefined;
let loaded: Driver | undefined;

/**
 * Says which driver this thread uses, before its first use: without it, what Node.js has itself, else better-sqlite3.
 * One for the whole process, and so no option of a store: two copies of SQLite in one process that have one file open
 * would drop each other's locks (https://www.sqlite.org/howtocorrupt.html, section 2.2.1).
 * @throws StoreError `failed` when another one is in use.
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

/** @throws StoreError `failed` that says what to do where there is no SQLite. */
export function sqliteDriver(): Driver {
  loaded ??= load();
  return loaded;
}

function load(): Driver {
  const own = asked === "better-sqlite3" ? undefined : loadNodeSqlite();
  if (own !== undefined) return own;
  if (asked === "node:sqlite") {
    throw new StoreError("failed", `Node.js ${process.versions.node} has no node:sqlite: use 22.13 or later.`);
  }
  try {
    return loadBetterSqlite();
  } catch (error) {
    throw noSqlite(error);
  }
}

/** One line with the command that helps. */
export function noSqlite(cause: unknown, node: string = process.versions.node): StoreError {
  const isThere = !(cause instanceof Error && "code" in cause && cause.code === "MODULE_NOT_FOUND");
  const message = isThere
    ? `better-sqlite3 is not built for Node.js ${node}: run \`npm rebuild better-sqlite3\` (before it, with npm 12, ` +
      "`npm install-scripts approve better-sqlite3`)"
    : `The SQLite store needs a SQLite, which Node.js ${node} does not have: run \`npm install better-sqlite3\``;
  return new StoreError("failed", `${message}, or use Node.js 22.13 or later, which has its own.`, { cause });
}
