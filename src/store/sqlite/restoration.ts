import { randomBytes } from "node:crypto";
import { DUE } from "../deliveries.js";
import type { Restoration } from "../task-store.js";
import { immediate } from "./connection.js";
import type { Database } from "./driver/driver.js";

/**
 * A copy of a store has the table `copied` until a server opens it. That server then knows that the original may have
 * assigned generations and delivered events after the copy. The first opening turns the table into a row of
 * `restoration`. Neither table exists in a file that was never copied, and programs of other versions ignore them, so
 * the schema keeps its version.
 */
const COPIED = "CREATE TABLE copied (time INTEGER NOT NULL, until INTEGER NOT NULL) STRICT";
const RESTORATION = "CREATE TABLE restoration (until INTEGER NOT NULL, id TEXT NOT NULL) STRICT";

/** Length of a restoration's id in bytes, before base64url. */
const ID_BYTES = 9;

/** The mark of a copy. Times are milliseconds since the epoch. */
export interface CopyMark {
  /** Time of the copy's contents. */
  readonly time: number;
  /** No entry in the copy is later. */
  readonly until: number;
}

export function markCopied(db: Database, { time, until }: CopyMark): void {
  immediate(db, () => {
    db.exec(COPIED);
    db.command("INSERT INTO copied (time, until) VALUES (?, ?)").run(time, until);
  });
}

/** The mark of a copy that no server has opened; undefined in any other file. */
export function readCopyMark(db: Database): CopyMark | undefined {
  if (!hasTable(db, "copied")) return undefined;
  const [time, until] = db.rows<[number, number]>("SELECT time, until FROM copied").get() ?? [];
  return time === undefined || until === undefined ? undefined : { time, until };
}

/**
 * Turns the mark of a copy into a restoration, in the process that opens it first. Releases the claims and leases in the
 * copy: their holders never had this file.
 * @returns the mark, if this call found it, and the number of configurations whose notifications may be repeated
 */
export function noteRestoration(db: Database): (CopyMark & { readonly due: number }) | undefined {
  if (!hasTable(db, "copied")) return undefined;
  return immediate(db, () => {
    const mark = readCopyMark(db);
    if (mark === undefined) return undefined;
    createRestorations(db);
    const id = randomBytes(ID_BYTES).toString("base64url");
    db.command("INSERT INTO restoration (until, id) VALUES (?, ?)").run(mark.until, id);
    db.exec("UPDATE push_config SET holder = NULL, claim = NULL WHERE holder IS NOT NULL");
    db.exec("UPDATE head SET lease_holder = '' WHERE lease_holder IS NOT NULL; DELETE FROM holder");
    db.exec("DROP TABLE copied");
    const due = db.values<number>(`SELECT count(*) FROM push_config WHERE state = ${DUE}`).get() ?? 0;
    return { ...mark, due };
  });
}

/** Creates the table of restorations if it does not exist. */
export function createRestorations(db: Database): void {
  if (!hasTable(db, "restoration")) db.exec(RESTORATION);
}

/** All restorations of a file, oldest first. */
export function readRestorations(db: Database): readonly Restoration[] {
  if (!hasTable(db, "restoration")) return [];
  const rows = db.rows<[number, string]>("SELECT until, id FROM restoration ORDER BY rowid").all();
  return rows.map(([until, id]) => ({ until, id }));
}

/** Tells whether a file has a table. */
export function hasTable(db: Database, name: string): boolean {
  const sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?";
  return db.values<number>(sql).get(name) !== undefined;
}
