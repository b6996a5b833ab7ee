import type { Logger } from "../../core/log.js";
import { schemaOf } from "./address.js";
import { Database } from "./database.js";
import { toOpeningError } from "./errors.js";
import { type Migrated, migrate } from "./migrate.js";
import { Partitions } from "./partitions.js";
import { Removal } from "./removal.js";

/** A database for one command, and the name of its schema. */
export interface OpenDatabase {
  readonly database: Database;
  readonly schema: string;
}

/** Time that a statement of a command may take, in milliseconds. */
const TIMEOUT_MS = 60_000;

/**
 * Brings the schema of an address to the current version, and creates the partitions of the next days.
 * @throws StoreError as `migrate`, or if the database cannot be reached
 */
export async function migrateDatabase(url: string, logger: Logger): Promise<Migrated & { readonly schema: string }> {
  const { database, schema } = await openDatabase(url, logger);
  try {
    const migrated = await migrate({ database, schema, logger });
    await new Removal(database, schema, new Partitions(database, schema, logger)).sweep();
    return { ...migrated, schema };
  } catch (error) {
    throw toOpeningError(error, "Cannot migrate the database");
  } finally {
    await database.close();
  }
}

/** Opens the database of an address. The caller closes it. @throws StoreError */
export async function openDatabase(address: string, logger: Logger): Promise<OpenDatabase> {
  const { url, schema } = schemaOf(address);
  const database = await Database.open({ url, schema, connections: 4, timeoutMs: TIMEOUT_MS, prepared: false, logger });
  return { database, schema };
}
