import type { Logger } from "../../core/log.js";
import { StoreError } from "../task-store.js";
import { type Database, first } from "./database.js";
import { toStoreError } from "./errors.js";
import { alone, takeStep } from "./migration-steps.js";
import { migrations, type Step } from "./migrations.js";

/**
 * Version of a schema that `parley store copy` is filling. Other releases reject it as a schema of a later release; this
 * one names the reason.
 */
export const COPY_MARK = 2_000_000_000;

/** Result of a migration: the version of the schema before (0: it had no tables) and after. */
export interface Migrated {
  readonly from: number;
  readonly to: number;
}

export interface MigrateOptions {
  readonly database: Database;
  readonly schema: string;
  readonly logger: Logger;
  /** `check` rejects a schema that needs a step. Default `auto`. */
  readonly mode?: "auto" | "check";
  /** True for the target of an unfinished copy, which only another copy may use. Default false. */
  readonly isCopy?: boolean;
  /** The step from version n to n + 1 is element n. Default: those of this release. */
  readonly steps?: readonly Step[];
}

/**
 * Brings a schema to the current version, while servers of the previous release use it. One process at a time takes
 * steps; the others wait for it. A process that was killed leaves the version of its last complete step.
 *
 * If no step is needed, a role that may only read and write rows is enough.
 * @throws StoreError `newer-schema` if a later release has migrated it; `failed` with `check` if it is older, or if the
 * role may not change it; `unavailable` if another transaction locks a table for too long
 */
export async function migrate(options: MigrateOptions): Promise<Migrated> {
  const { database, schema, logger, mode = "auto", isCopy = false, steps = migrations } = options;
  const to = steps.length;
  const from = await versionOf(database, schema);
  if (from.isCopy && !isCopy) throw unfinishedCopy(schema);
  if (from.version > to) throw newer(schema, from.version, to);
  if (from.version === to) return { from: to, to };
  if (mode === "check") throw notMigrated(schema, from.version, to);
  try {
    await alone(database, logger, async (client) => {
      for (let version = from.version; version < to; version++) {
        await takeStep(client, { schema, version, step: steps[version] ?? "", logger });
      }
    });
  } catch (error) {
    throw toStoreError(error, `The schema ${schema} cannot be migrated`);
  }
  const what = from.version === 0 ? "created the schema of the store" : "brought the store to the current schema";
  logger.info({ schema, from: from.version, to }, what);
  return { from: from.version, to };
}

/** Version of a schema, 0 without tables, and whether a copy fills it. */
export async function versionOf(
  database: Database,
  schema: string,
): Promise<{ readonly version: number; readonly isCopy: boolean }> {
  const table = await first(database.query<[string | null]>(`SELECT to_regclass('${schema}.version')::text`));
  if (table?.[0] == null) return { version: 0, isCopy: false };
  const sql =
    `SELECT coalesce(max(version) FILTER (WHERE version < ${COPY_MARK}), 0), ` +
    `coalesce(bool_or(version = ${COPY_MARK}), false) FROM ${schema}.version`;
  const [version = 0, isCopy = false] = (await first(database.query<[number, boolean]>(sql))) ?? [];
  return { version, isCopy };
}

function newer(schema: string, version: number, known: number): StoreError {
  const message = `The schema ${schema} has version ${version}, and this release knows ${known}: use a later one.`;
  return new StoreError("newer-schema", message);
}

function notMigrated(schema: string, version: number, needed: number): StoreError {
  const what = version === 0 ? "has no tables" : `has version ${version}`;
  return new StoreError(
    "failed",
    `The schema ${schema} ${what}, and this release needs version ${needed}: run "parley migrate", or start with ` +
      '"--migrate auto".',
  );
}

function unfinishedCopy(schema: string): StoreError {
  return new StoreError(
    "failed",
    `The schema ${schema} is the target of an unfinished "parley store copy": run that command again to start over.`,
  );
}
