import { type ChildProcess, fork } from "node:child_process";
import { silentLogger } from "../../../src/core/log.js";
import type { SqliteStore } from "../../../src/store/sqlite/assemble.js";
import { sqliteDriver } from "../../../src/store/sqlite/driver/choose.js";
import { workerStore } from "../../../src/store/sqlite/worker-store.js";
import type { WriterAnswer, WriterRequest } from "../../../src/store/sqlite/writer-protocol.js";
import { StoreWriter } from "../../../src/workers/store-writer.js";
import { afterEachTest } from "../../support/clean-up.js";
import { bundle } from "../../support/writer-thread.js";

/** A process that writes a file, started again when it ends, with what it logged. */
export interface Writing {
  readonly writer: StoreWriter;
  readonly log: string[];
  readonly child: ChildProcess;
  /** Opens a store of the file, as a worker does. */
  open(): Promise<SqliteStore>;
}

const all: Writing[] = [];

afterEachTest(() => Promise.all(all.splice(0).map(({ writer }) => writer.end())));

/** The process of a writer, by itself. */
const forked = (): ChildProcess => fork(bundle("writer-process.js"), [], { execArgv: [] });

export function writing(path: string, shared = false, start = forked): Writing {
  const log: string[] = [];
  const note = (_: object, message: string): number => log.push(message);
  const children: ChildProcess[] = [];
  const writer = new StoreWriter({
    fork: () => {
      const child = start();
      children.push(child);
      return child;
    },
    logger: { ...silentLogger, info: note, warn: note, error: note },
  });
  const request: WriterRequest = { path, synchronous: "FULL", shared, driver: sqliteDriver().name };
  const made: Writing = {
    writer,
    log,
    get child() {
      return children.at(-1) as ChildProcess;
    },
    async open() {
      const answer = await new Promise<object>((resolve) => writer.ask(request, resolve));
      return workerStore(answer as WriterAnswer, request, silentLogger);
    },
  };
  all.push(made);
  return made;
}
