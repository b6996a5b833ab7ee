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

/** The contract of a store, for files of one process or for those that several share. */
export function contractOf({ shared }: { readonly shared: boolean }): void {
  storeContract({
    name: `sqliteStore({ shared: ${shared} })`,
    open: () => open(temporaryFile(), shared),
    durable: { reopen: (closed) => open(paths.get(closed) ?? "", shared) },
    suite: vitest,
    fc,
  });
}
