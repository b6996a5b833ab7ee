import * as fc from "fast-check";
import * as vitest from "vitest";
import { storeContract } from "../../../contract/index.js";
import type { TaskStore } from "../../../src/store/task-store.js";
import { temporaryFile } from "./files.js";
import { WriterHost } from "./hosted.js";
import { type Writing, writing } from "./writing.js";

// Tests kill no writer here, so that all may share a process. `writer-process.test.ts` has one for each.
const host = new WriterHost();
vitest.afterAll(() => host.end());

const writers = new WeakMap<TaskStore, Writing>();

async function open(by: Writing): Promise<TaskStore> {
  const store = await by.open();
  writers.set(store, by);
  return store;
}

storeContract({
  name: "a SQLite file that another process writes",
  open: () => open(writing(temporaryFile(), false, () => host.fork())),
  durable: { reopen: (closed) => open(writers.get(closed) as Writing) },
  suite: vitest,
  fc,
});
