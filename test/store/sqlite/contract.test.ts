import * as fc from "fast-check";
import * as vitest from "vitest";
import { storeContract } from "../../../contract/index.js";
import { type SqliteStore, sqliteStore } from "../../../src/store/sqlite/index.js";
import type { TaskStore } from "../../../src/store/task-store.js";
import { temporaryFile } from "./files.js";

const paths = new WeakMap<TaskStore, string>();

function open(path: string, shared: boolean): SqliteStore {
  const store = sqliteStore({ path, shared });
  paths.set(store, path);
  return store;
}

for (const shared of [false, true]) {
  storeContract({
    name: `sqliteStore({ shared: ${shared} })`,
    open: () => open(temporaryFile(), shared),
    durable: { reopen: (closed) => open(paths.get(closed) ?? "", shared) },
    suite: vitest,
    fc,
  });
}
