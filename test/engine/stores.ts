import { afterEach, beforeEach } from "vitest";
import { memoryStore } from "../../src/store/memory/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { seeded, slowStore } from "../support/slow-store.js";

/**
 * Which store the engine's tests run on. By themselves they take the memory store; `test/slow-engine` runs them once
 * more, on stores that delay and reorder whatever they are asked. `PARLEY_STORE_SEED` repeats the delays of a run.
 */
export interface Lane {
  readonly behind: "memory" | "SQLite";
  readonly shared: boolean;
}

const lanes = globalThis as { parleyTestLane?: Lane };

const seed = Number(process.env.PARLEY_STORE_SEED ?? Math.floor(Math.random() * 2 ** 32));
/** Whether the tests run on slow stores: properties then draw fewer values. */
export const isSlow: boolean = lanes.parleyTestLane !== undefined;

const opened: TaskStore[] = [];
/** After each test, before its files are removed. Engines that a test leaves behind meet a closed store. */
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

/** Every test begins the row of delays anew, so that one alone can be repeated. */
let random = seeded(seed);
beforeEach(({ onTestFailed }) => {
  random = seeded(seed);
  if (isSlow) onTestFailed(() => void process.stderr.write(`the slow store's PARLEY_STORE_SEED=${seed}\n`));
});

/** A new store of the lane. It is closed when the test is over. */
export function openStore(): TaskStore {
  return openStores(1)[0] as TaskStore;
}

/** Stores that share their tasks, one for each process: of the lane, or the memory store. */
export function openShared(): [TaskStore, TaskStore] {
  return openStores(2) as [TaskStore, TaskStore];
}

/** As many; more than one share their tasks. */
export function openStores(count: number): TaskStore[] {
  const lane = lanes.parleyTestLane;
  const shared = count > 1 || lane?.shared === true;
  const behind = lane?.behind === "SQLite" ? sqliteStores(count, shared) : memoryStores(count, shared);
  return lane === undefined ? behind : behind.map((store) => slowStore(store, { random: () => random() }));
}

function sqliteStores(count: number, shared: boolean): TaskStore[] {
  const path = temporaryFile();
  return Array.from({ length: count }, () => kept(sqliteStore({ path, shared, synchronous: "NORMAL" })));
}

function memoryStores(count: number, shared: boolean): TaskStore[] {
  const store = kept(memoryStore({ shared }));
  return Array.from({ length: count }, () => store);
}

/** Every store, to be opened in a test. */
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
