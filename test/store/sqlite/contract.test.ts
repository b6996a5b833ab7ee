import * as fc from "fast-check";
import * as vitest from "vitest";
import { storeContract } from "../../../src/store/contract.js";
import { type SqliteStore, sqliteStore } from "../../../src/store/sqlite/index.js";
import type { TaskStore } from "../../../src/store/task-store.js";
import { temporaryFile } from "./files.js";

const paths = new WeakMap<TaskStore, string>();

function open(path: string): SqliteStore {
  const store = sqliteStore(path);
  paths.set(store, path);
  return store;
}

storeContract({
  name: "sqliteStore()",
  open: () => open(temporaryFile()),
  durable: { reopen: (closed) => open(paths.get(closed) ?? "") },
  suite: vitest,
  fc,
});
