import type { Logger } from "../core/log.js";
import { withoutSecrets } from "../core/net.js";
import { isAddress } from "../store/postgres/address.js";
import { defaultCommandOptions } from "./command-options.js";
import type { Io } from "./io.js";
import { createLog } from "./log.js";
import { UsageError } from "./usage-error.js";

/** `parley migrate`: prints the versions before and after. */
export async function migrateCommand(io: Io, given: string | undefined): Promise<void> {
  const store = checkedStore("--store", given ?? io.env.PARLEY_STORE ?? defaultCommandOptions.store);
  const logger = await createLog("info", "auto");
  const { from, to, place } = isAddress(store)
    ? await migratePostgres(store, logger)
    : await migrateSqlite(store, logger);
  const created = from === 0 ? "created" : "migrated";
  const what = from === to ? `is up to date, version ${to}` : `${created}, version ${from} to ${to}`;
  io.stdout.write(`${place}: ${what}\n`);
}

interface Migrated {
  readonly from: number;
  readonly to: number;
  /** Address without its secrets, or path. */
  readonly place: string;
}

async function migratePostgres(url: string, logger: Logger): Promise<Migrated> {
  const { migrateDatabase } = await import("../store/postgres/migrate-database.js");
  const { schema, ...versions } = await migrateDatabase(url, logger);
  return { ...versions, place: `${shown(url)}, schema ${schema}` };
}

async function migrateSqlite(path: string, logger: Logger): Promise<Migrated> {
  const { migrateFile } = await import("../store/sqlite/migrate-file.js");
  return { ...migrateFile(path, logger), place: path };
}

function shown(store: string): string {
  return isAddress(store) ? withoutSecrets(store) : store;
}

/** @throws UsageError for what is neither a file nor the address of a PostgreSQL database */
function checkedStore(name: string, store: string): string {
  if (store === "" || store === "memory" || store === ":memory:") {
    throw new UsageError(`${name}: name a file or a PostgreSQL database: a store in memory ends with its process`);
  }
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(store) && !isAddress(store)) {
    throw new UsageError(
      `${name}: ${withoutSecrets(store)} is not an address that begins with postgres://, and no file`,
    );
  }
  return store;
}
