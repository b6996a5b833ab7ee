import { existsSync } from "node:fs";
import type { Logger } from "../core/log.js";
import type { CopyCounts, CopyProgress } from "../store/copy/copy.js";
import type { CopySource, CopyTarget, OnWatch } from "../store/copy/records.js";
import { isAddress, shownAddress } from "../store/postgres/address.js";
import { UsageError } from "./command-error.js";
import { defaultCommandOptions } from "./command-options.js";
import type { Io } from "./io.js";
import { createLog } from "./log.js";
import { checkAddress } from "./store-address.js";

/** `parley migrate`: prints the versions before and after. */
export async function migrateCommand(io: Io, given: string | undefined): Promise<void> {
  const named = given ?? io.env.PARLEY_STORE;
  const store = checkedStore("--store", named ?? defaultCommandOptions.store);
  if (named === undefined && !existsSync(store)) {
    throw new UsageError(`${store} does not exist: name the store to migrate, or to create, by --store (PARLEY_STORE)`);
  }
  const logger = await createLog("info", "auto");
  const { from, to, place } = isAddress(store)
    ? await migratePostgres(store, logger)
    : { ...(await import("../store/sqlite/schema-check.js")).migrateFile(store, logger), place: store };
  const created = from === 0 ? "created" : "migrated";
  const what = from === to ? `is up to date, version ${to}` : `${created}, version ${from} to ${to}`;
  io.stdout.write(`${place}: ${what}\n`);
}

/** Interval between two lines of progress, in milliseconds. */
const PROGRESS_MS = 2_000;

/** `parley store copy`: prints the numbers of copied records, and progress on stderr. */
export async function copyCommand(io: Io, from: string, to: string): Promise<void> {
  const [first, second] = [checkedStore("<from>", from), checkedStore("<to>", to)];
  const { copyStore } = await import("../store/copy/copy.js");
  io.stderr.write(`copying ${shown(first)} to ${shown(second)}\n`);
  const onWatch = (name: string, ms: number): void =>
    void io.stderr.write(`watching ${name} for ${ms / 1_000} seconds, to see whether a server uses it\n`);
  const source = await openSource(first, onWatch);
  try {
    const target = await openTarget(second, onWatch);
    try {
      const counts = await copyStore(source, target, progressTo(io));
      io.stdout.write(`${target.name}: copied and verified ${summary(counts)}\n`);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

async function openSource(store: string, onWatch: OnWatch): Promise<CopySource> {
  if (isAddress(store)) return (await import("../store/postgres/copy-source.js")).postgresSource(store, onWatch);
  if (!existsSync(store)) throw new UsageError(`<from>: the file ${store} does not exist`);
  return (await import("../store/sqlite/copy-source.js")).sqliteSource(store);
}

async function openTarget(store: string, onWatch: OnWatch): Promise<CopyTarget> {
  if (isAddress(store)) return (await import("../store/postgres/copy-target.js")).postgresTarget(store, onWatch);
  return (await import("../store/sqlite/copy-target.js")).sqliteTarget(store);
}

/** Prints a line of progress at each interval. */
function progressTo(io: Io): (progress: CopyProgress) => void {
  let next = performance.now() + PROGRESS_MS;
  return ({ doing, tasks, of }) => {
    if (performance.now() < next) return;
    next = performance.now() + PROGRESS_MS;
    io.stderr.write(`${doing}: ${tasks} of ${of} tasks\n`);
  };
}

function summary(counts: CopyCounts): string {
  const { task, entry, send, config, attempt, conversation } = counts;
  return (
    `${task} tasks with ${entry} entries, ${send} idempotency keys, ${config} push configurations with ${attempt} ` +
    `failed attempts, and ${conversation} conversation states`
  );
}

/** Migrates a database. Its place is its address without secrets. */
async function migratePostgres(url: string, logger: Logger) {
  const { migrateDatabase } = await import("../store/postgres/migrate-database.js");
  const { schema, ...versions } = await migrateDatabase(url, logger);
  return { ...versions, place: shownAddress(url, schema) };
}

function shown(store: string): string {
  return isAddress(store) ? shownAddress(store) : store;
}

/** @throws UsageError for a text that is neither a file nor the address of a PostgreSQL database */
function checkedStore(name: string, store: string): string {
  if (store === "" || store === "memory" || store === ":memory:") {
    throw new UsageError(`${name}: name a file or a PostgreSQL database: a store in memory ends with its process`);
  }
  checkAddress(name, store);
  return store;
}
