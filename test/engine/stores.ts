import { afterAll } from "vitest";
import { memoryStore } from "../../src/store/memory/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { temporaryFile } from "../store/sqlite/files.js";

const opened: TaskStore[] = [];
afterAll(async () => {
  for (const store of opened.splice(0)) await store.close();
});

/** Every store, to be opened in a test; it is closed when all tests of the file are over. */
export const stores: [name: string, open: () => TaskStore][] = [
  ["memory", () => kept(memoryStore())],
  ["SQLite", () => kept(sqliteStore({ path: temporaryFile(), synchronous: "NORMAL" }))],
];

function kept(store: TaskStore): TaskStore {
  opened.push(store);
  return store;
}
