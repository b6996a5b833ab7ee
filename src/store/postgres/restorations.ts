import type { Restoration } from "../backup-store.js";
import type { Database } from "./database.js";

/** Restorations of the file from which the tasks were copied, oldest first. */
export async function readRestorations(database: Database, schema: string): Promise<Restoration[]> {
  const sql = `SELECT until, id FROM ${schema}.restoration ORDER BY number`;
  return (await database.query<[number, string]>(sql)).map(([until, id]) => ({ until, id }));
}
