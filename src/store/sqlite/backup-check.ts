import { StoreError } from "../task-store.js";
import type { Database } from "./driver/driver.js";
import { judge, readIdentity } from "./open.js";

/**
 * Checks that a file has tables of Parley that this program can read or migrate.
 * @returns its schema version
 * @throws StoreError `failed` for another application, or a file without tables; `newer-schema`
 */
export function identify(db: Database, path: string): number {
  const identity = readIdentity(db);
  if (identity === undefined) throw new StoreError("failed", `${path} is not a store of Parley: it has no tables.`);
  judge(path, identity);
  return identity.version;
}

/** A query that finds a row whose reference leads to nothing, in files since a schema version. */
interface Reference {
  readonly since: number;
  readonly what: string;
  readonly sql: string;
}

/**
 * References between tables that SQLite does not know. Counters are not compared: they can be counted again, and must
 * not make a restore fail.
 */
const references: readonly Reference[] = [
  {
    since: 3,
    what: "entries of a task that does not exist",
    sql: `SELECT 1 FROM segment WHERE task_id NOT IN (SELECT task_id FROM head)
      AND task_id NOT IN (SELECT task_id FROM garbage) LIMIT 1`,
  },
  {
    since: 1,
    what: "a task without all its entries",
    sql: `SELECT 1 FROM head WHERE position IS NOT
      (SELECT sum(count) FROM segment WHERE segment.task_id = head.task_id) LIMIT 1`,
  },
  {
    since: 4,
    what: "an entry without its contents",
    sql: "SELECT 1 FROM segment WHERE blob IS NOT NULL AND blob NOT IN (SELECT id FROM blob) LIMIT 1",
  },
  {
    since: 4,
    what: "a snapshot without its contents",
    sql: "SELECT 1 FROM snapshot_piece WHERE blob NOT IN (SELECT id FROM blob) LIMIT 1",
  },
  {
    since: 8,
    what: "a push configuration of a task that does not exist",
    sql: "SELECT 1 FROM push_config WHERE task_id NOT IN (SELECT task_id FROM head) LIMIT 1",
  },
];

/**
 * Reads the whole file and checks it.
 * @throws StoreError `damaged` with the first fault
 */
export function checkContents(db: Database, path: string): void {
  const version = identify(db, path);
  for (const fault of contentFaults(db, version, 1)) throw new StoreError("damaged", `${path} is damaged: ${fault}`);
}

/** Reads the whole file and yields its faults, of SQLite's own check at most `most`. */
export function* contentFaults(db: Database, version: number, most: number): Generator<string> {
  const found = db.values<string>(`PRAGMA integrity_check(${most})`).all();
  for (const fault of found) if (fault !== "ok") yield fault;
  for (const { since, what, sql } of references) {
    if (version >= since && db.values<number>(sql).get() !== undefined) yield `it has ${what}`;
  }
}
