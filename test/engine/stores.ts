import { beforeEach } from "vitest";
import { alwaysHealthy } from "../../src/store/health.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { postgresStore } from "../../src/store/postgres/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { EmptyDatabases } from "../store/postgres/empty-databases.js";
import { thePostgres } from "../store/postgres/server.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { afterEachTest } from "../support/clean-up.js";
import { seeded, slowStore } from "../support/slow-store.js";

/**
 * The store that the engine's tests run on. By default it is the memory store. `test/slow-engine` runs the tests again
 * on stores that delay and reorder calls. `PARLEY_STORE_SEED` repeats the delays of a run.
 */
export interface Lane {
  readonly behind: "memory" | "SQLite" | "PostgreSQL";
  readonly shared: boolean;
}

const lanes = globalThis as { parleyTestLane?: Lane };

const seed = Number(process.env.PARLEY_STORE_SEED ?? Math.floor(Math.random() * 2 ** 32));
/** True if the tests run on slow stores. Properties then draw fewer values. */
export const isSlow: boolean = lanes.parleyTestLane !== undefined;

const opened: TaskStore[] = [];
/** Only used with PostgreSQL. */
let databases: EmptyDatabases | undefined;

/** Closes the stores of a test before its files are removed. Engines that the test leaves behind get a closed store. */
afterEachTest(async () => {
  for (const store of opened.splice(0)) await store.close();
  await databases?.drop();
});

/** Restarts the delays for each test, so that a single test can be repeated. */
let random = seeded(seed);
beforeEach(({ onTestFailed }) => {
  random = seeded(seed);
  if (isSlow) onTestFailed(() => void process.stderr.write(`the slow store's PARLEY_STORE_SEED=${seed}\n`));
});

/** Opens a store of the lane. It closes when the test ends. */
export function openStore(): TaskStore {
  return openStores(1)[0] as TaskStore;
}

/** Opens two stores with shared tasks, one for each process. */
export function openShared(): [TaskStore, TaskStore] {
  return openStores(2) as [TaskStore, TaskStore];
}

/** Opens this many stores. Several stores share their tasks. */
export function openStores(count: number): TaskStore[] {
  const lane = lanes.parleyTestLane;
  const shared = count > 1 || lane?.shared === true;
  const behind = behindOf(lane, count, shared);
  return lane === undefined ? behind : behind.map((store) => slowStore(store, { random: () => random() }));
}

function behindOf(lane: Lane | undefined, count: number, shared: boolean): TaskStore[] {
  if (lane?.behind === "PostgreSQL") return postgresStores(count);
  return lane?.behind === "SQLite" ? sqliteStores(count, shared) : memoryStores(count, shared);
}

/** Stores of one database. They may be used while they are being opened. */
function postgresStores(count: number): TaskStore[] {
  databases ??= new EmptyDatabases(thePostgres());
  const { schema } = databases;
  const made = databases.make();
  const open = async (): Promise<TaskStore> =>
    postgresStore({ url: await made, schema, require: "none", connections: 5 });
  return Array.from({ length: count }, () => kept(opening(open())));
}

/** A store whose calls wait until it is open. */
function opening(store: Promise<TaskStore>): TaskStore {
  let opened: TaskStore | undefined;
  void store.then((it) => (opened = it));
  const methods = Object.entries(memoryStore()).flatMap(([name, member]) => (typeof member === "function" ? name : []));
  const calls = methods.map((name) => [
    name,
    async (...args: unknown[]) => {
      const it = (await store) as unknown as Record<string, (...given: unknown[]) => unknown>;
      return it[name]?.(...args);
    },
  ]);
  const made = { shared: true, kind: "postgres", ...Object.fromEntries(calls) } as TaskStore;
  return Object.defineProperty(made, "health", { get: () => opened?.health ?? alwaysHealthy });
}

function sqliteStores(count: number, shared: boolean): TaskStore[] {
  const path = temporaryFile();
  return Array.from({ length: count }, () => kept(sqliteStore({ path, shared, synchronous: "NORMAL" })));
}

function memoryStores(count: number, shared: boolean): TaskStore[] {
  const store = kept(memoryStore({ shared }));
  return Array.from({ length: count }, () => store);
}

/** Every kind of store, opened by a test. */
export const stores: [name: string, open: () => TaskStore][] = isSlow
  ? [["slow", openStore]]
  : [
      ["memory", () => kept(memoryStore())],
      ["SQLite", () => kept(sqliteStore({ path: temporaryFile(), synchronous: "NORMAL" }))],
    ];

function kept(store: TaskStore): TaskStore {
  opened.push(store);
  return store;
}
