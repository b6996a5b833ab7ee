// Stores tasks in PostgreSQL, for any number of processes.

import type { Worker } from "node:worker_threads";
import { type Logger, silentLogger } from "../../core/log.js";
import * as check from "../../core/options.js";
import { SignalHub } from "../../signals/hub.js";
import { redriveInSteps } from "../redrive.js";
import { type PushStore, type Restoration, StoreError, type TaskStore } from "../task-store.js";
import { startThread } from "../thread-beside.js";
import { DEFAULT_SCHEMA, type Durability, isAddress, LEVELS, namedChecks, readAddress } from "./address.js";
import { Appends } from "./appends.js";
import { Counts } from "./counts.js";
import { Database, first, GUARDED } from "./database.js";
import { readDurability, type StoreDurability } from "./durability.js";
import { toOpeningError } from "./errors.js";
import type { HeartbeatData } from "./heartbeats.js";
import { Leases } from "./leases.js";
import { census, countOpen, list, listInterrupted } from "./lists.js";
import { migrate } from "./migrate.js";
import { Notifications } from "./notifications.js";
import { listContexts, listHeads, listLeased, listOwners } from "./operators.js";
import { Partitions } from "./partitions.js";
import { Probe } from "./probe.js";
import { PushClaims } from "./push-claims.js";
import * as configs from "./push-configs.js";
import * as pushLists from "./push-lists.js";
import { readsOn } from "./reads.js";
import { Removal } from "./removal.js";

export type { Durability } from "./address.js";
export type { StoreDurability } from "./durability.js";

/** Options of `postgresStore`. */
export interface PostgresStoreOptions {
  /**
   * Address of the database: `postgres://user:password@host:5432/database?sslmode=verify-full`. Its query may name the
   * options `schema`, `connections`, `prepared` and `require`; those given here win.
   */
  readonly url: string;
  /** Schema of the tables, created if missing: lower-case letters, digits and `_`. Default `parley`. */
  readonly schema?: string;
  /** Maximum number of connections of this process, at least 3. Default 10. */
  readonly connections?: number;
  /**
   * A statement without an answer fails after this time with `unavailable`, its outcome unknown, in milliseconds.
   * Default 5,000.
   */
  readonly timeoutMs?: number;
  /** False for poolers that know no prepared statements, such as pgbouncer before 1.21. Default true. */
  readonly prepared?: boolean;
  /**
   * The durability to insist on. The store does not open if the database promises less: `none` < `local` <
   * `replicated`. Default `local`.
   */
  readonly require?: Durability;
  /**
   * `auto` (the default) migrates an older schema when the store is opened; servers of the previous release may run
   * meanwhile. `check` rejects an older schema and leaves its migration to `parley migrate`.
   */
  readonly migrate?: "auto" | "check";
  readonly logger?: Logger;
}

/** A store in PostgreSQL. */
export interface PostgresStore extends TaskStore {
  /** The durability that the database promised when the store was opened. */
  readonly durability: StoreDurability;
  /** Numbers of appends, and of the statements that stored them. */
  readonly statistics: { readonly commits: number; readonly writes: number };
}

/**
 * Keeps tasks in PostgreSQL 15 or later, for any number of processes on any number of machines. Needs the package `pg`.
 *
 * @throws StoreError `failed` for wrong options, without the package, if the database promises too little, or if the
 * schema is older and not to be migrated; `unavailable` if the database does not answer; `newer-schema` if a later release has migrated it
 */
export async function postgresStore(options: string | PostgresStoreOptions): Promise<PostgresStore> {
  const settings = checked(typeof options === "string" ? { url: options } : options);
  const { url, schema, connections, timeoutMs, prepared, require, migrate: mode, logger } = settings;
  const database = await Database.open({ url, schema, connections, timeoutMs, prepared, logger });
  try {
    await migrate({ database, schema, logger, mode });
    const durability = await readDurability(database);
    if (LEVELS.indexOf(durability.level) < LEVELS.indexOf(require)) {
      throw new StoreError("failed", `The store requires durability "${require}". ${durability.text}`);
    }
    logger.info({ schema, durability: durability.level }, `the PostgreSQL store is open. ${durability.text}`);
    const partitions = new Partitions(database, schema, logger);
    const removal = new Removal(database, schema, partitions);
    await removal.sweep();
    const counts = new Counts(database, schema);
    await counts.fold();
    const restored = `SELECT until, id FROM ${schema}.restoration ORDER BY number`;
    const restorations = (await database.query<[number, string]>(restored)).map(([until, id]) => ({ until, id }));
    return compose({ ...settings, database, partitions, removal, counts, durability, restorations });
  } catch (error) {
    await database.close();
    throw toOpeningError(error, "Cannot open the PostgreSQL store");
  }
}

const checks: check.OptionChecks<PostgresStoreOptions> = {
  url: check.aText("an address that begins with postgres://", isAddress),
  ...namedChecks,
  timeoutMs: check.aWholeNumber(100, 3_600_000),
  migrate: check.oneOf(["auto", "check"]),
  logger: check.aLogger(),
};

const defaults = {
  schema: DEFAULT_SCHEMA,
  connections: 10,
  timeoutMs: 5_000,
  prepared: true,
  require: "local",
  migrate: "auto",
  logger: silentLogger,
} as const;

/** Applies the defaults. @throws StoreError `failed` that names every wrong option. */
function checked(options: PostgresStoreOptions): Required<PostgresStoreOptions> {
  const all = withNamed(options);
  const faults = check.optionFaults(all, checks, "", ["url"]);
  if (faults.length > 0) throw new StoreError("failed", `The PostgreSQL store cannot be opened: ${faults.join("; ")}.`);
  return { ...defaults, ...check.given(all) };
}

/** Adds the options that the address names, unchecked. Given ones win. */
function withNamed(options: PostgresStoreOptions): PostgresStoreOptions {
  if (typeof options.url !== "string") return options;
  const { url, named } = readAddress(options.url);
  return { ...(named as Partial<PostgresStoreOptions>), ...check.given(options), url };
}

interface Parts extends Required<PostgresStoreOptions> {
  readonly database: Database;
  readonly partitions: Partitions;
  readonly removal: Removal;
  readonly counts: Counts;
  readonly durability: StoreDurability;
  readonly restorations: readonly Restoration[];
}

function compose(parts: Parts): PostgresStore {
  const { database, schema, timeoutMs, partitions, removal, counts, durability, restorations, logger } = parts;
  const probe = new Probe(database, schema);
  const appends = new Appends(database, schema, { onStored: () => counts.note(), onFull: () => probe.noteFull() });
  const leases = new Leases(database, schema, () =>
    startHeartbeats({ url: database.server, schema, timeoutMs, isSame: database.history.isSame }),
  );
  const signals = new SignalHub(new Notifications(database, schema, logger));
  partitions.start();
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    probe.close();
    partitions.close();
    counts.close();
    await appends.close();
    await signals.close();
    await leases.close();
    await database.close();
  };
  return {
    kind: "postgres",
    shared: true,
    restorations,
    signals,
    health: probe.health,
    history: database.history,
    durability,
    get statistics() {
      return appends.statistics;
    },
    append: (request) => appends.append(request),
    onCommit: (observer) => appends.onCommit(observer),
    ...readsOn(database),
    ...methodsOn(database, { saveSnapshot, list, countOpen, listInterrupted }),
    ...methodsOn(database, { listHeads, listContexts, listOwners, listLeased }),
    census: () => census(database),
    heartbeat: (request) => leases.heartbeat(request),
    claimLeases: (request) => leases.claim(request),
    leasesOf: (request) => leases.of(request),
    setLease: (request) => leases.set(request),
    removeFinished: (request) => removal.removeFinished(request),
    removeTasks: (request) => removal.removeTasks(request),
    ...pushStoreOf(database, schema, leases),
    close: () => (closed ??= close()),
  };
}

function pushStoreOf(database: Database, schema: string, leases: Leases): PushStore {
  const claims = new PushClaims(database, schema, leases);
  database.history.onMove(() => claims.release());
  const { redriveNamed, ...changes } = configs;
  return {
    ...methodsOn(database, { ...changes, ...pushLists }),
    claimDeliveries: (request) => claims.claim(request),
    nextDelivery: () => claims.next(),
    async redriveDeliveries({ now, keys, ...filter }) {
      // A closed store refuses a redrive of nothing as well.
      database.check();
      return redriveInSteps(
        {
          listDead: (after, limit) =>
            pushLists.listDeadDeliveries(database, { ...filter, limit, ...(after && { after }) }),
          redrive: (step) => redriveNamed(database, step, now),
        },
        keys,
      );
    },
  };
}

type Operation = (database: Database, request: never) => unknown;

/** The method of a store for a function of a database and a request. */
type Method<O> = O extends (database: Database, request: infer R) => infer P ? (request: R) => P : never;

/** Binds functions to their database, as methods of a store. */
function methodsOn<T extends Record<string, Operation>>(
  database: Database,
  operations: T,
): { [K in keyof T]: Method<T[K]> } {
  const methods = Object.entries(operations).map(([name, run]) => [name, (request: never) => run(database, request)]);
  return Object.fromEntries(methods);
}

/**
 * Saves a snapshot, only of an existing task: one saved after the removal of its task would never be deleted. The
 * previous snapshot stays valid until the last piece is stored, also after a crash between two pieces.
 */
function saveSnapshot(db: Database, { taskId, snapshot }: Parameters<TaskStore["saveSnapshot"]>[0]): Promise<void> {
  const { position, piece = 0, last = true } = snapshot;
  const bytes = new Uint8Array(snapshot.bytes);
  const s = db.schema;
  return db.transaction(async (on) => {
    // The shared lock keeps the task until the piece is stored, and lets appends of artifacts pass.
    const known = await first(
      on.query<[number, number | null]>(
        `SELECT t.log, n.position FROM ${s}.task t LEFT JOIN ${s}.snapshot n ON n.log = t.log WHERE t.task_id = $1 ` +
          "FOR KEY SHARE OF t",
        [taskId],
      ),
    );
    if (known === undefined || (known[1] !== null && known[1] >= position)) return;
    const [log, before] = known;
    await on.query(
      `INSERT INTO ${s}.snapshot_piece AS p (log, position, piece, bytes) VALUES ($1, $2, $3, $4) ` +
        "ON CONFLICT (log, position, piece) DO UPDATE SET bytes = excluded.bytes",
      [log, position, piece, bytes],
    );
    if (last) {
      await on.query(
        `INSERT INTO ${s}.snapshot AS n (log, position, pieces) VALUES ($1, $2, $3) ON CONFLICT (log) DO UPDATE ` +
          "SET position = excluded.position, pieces = excluded.pieces WHERE n.position < excluded.position",
        [log, position, piece + 1],
      );
    }
    const old = `DELETE FROM ${s}.snapshot_piece WHERE log = $1 AND position < $2`;
    await on.query(old, [log, last ? position : (before ?? 0)]);
  }, GUARDED);
}

/** Starts the thread that repeats heartbeats. */
function startHeartbeats(data: HeartbeatData): Worker {
  return startThread({ beside: import.meta.url, name: "heartbeats", data, youngMib: 4 });
}
