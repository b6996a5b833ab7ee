import type { Logger } from "../../core/log.js";
import { StoreError } from "../task-store.js";
import { type Database, first } from "./database.js";
import { migrations, SCHEMA_VERSION } from "./migrations.js";

/** Key of the advisory lock under which one process at a time migrates: the bytes of "parley". */
const LOCK = 0x7061726c6579;

/**
 * Brings a schema to the current version, each step in a transaction. Other processes wait, and find nothing to do.
 * @throws StoreError `newer-schema` if a later release has migrated it
 */
export async function migrate(database: Database, schema: string, logger: Logger): Promise<void> {
  const before = await versionOf(database, schema);
  if (before > SCHEMA_VERSION) throw newer(schema, before);
  for (let version = before; version < SCHEMA_VERSION; version++) {
    await database.transaction(async (on) => {
      await on.query("SELECT pg_advisory_xact_lock($1)", [LOCK]);
      await on.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
      await on.query(`CREATE TABLE IF NOT EXISTS ${schema}.version (version integer NOT NULL)`);
      const stored = (await first(on.query<[number]>(`SELECT max(version) FROM ${schema}.version`)))?.[0] ?? 0;
      // Another process was faster.
      if (stored > version) return;
      await on.run((migrations[version] ?? "").replaceAll("{s}", schema));
      await on.query(`INSERT INTO ${schema}.version VALUES ($1)`, [version + 1]);
    });
  }
  if (before < SCHEMA_VERSION) {
    const what = before === 0 ? "created the schema of the store" : "brought the store to the current schema";
    logger.info({ schema, from: before, to: SCHEMA_VERSION }, what);
  }
}

async function versionOf(database: Database, schema: string): Promise<number> {
  const table = await first(database.query<[string | null]>(`SELECT to_regclass('${schema}.version')::text`));
  if (table?.[0] == null) return 0;
  return (await first(database.query<[number]>(`SELECT max(version) FROM ${schema}.version`)))?.[0] ?? 0;
}

function newer(schema: string, version: number): StoreError {
  const message = `The schema ${schema} has version ${version}, and this release knows ${SCHEMA_VERSION}: use a later one.`;
  return new StoreError("newer-schema", message);
}
