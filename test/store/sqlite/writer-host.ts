import { isMainThread, parentPort, Worker } from "node:worker_threads";

/** A message of one writer or to one, or how it has ended. A writer starts with the first message to it. */
export interface Hosted {
  readonly id: number;
  readonly message?: object | string;
  readonly exit?: number;
}

/** Has a thread for each writer, which takes a fraction of the time of a process for each. */
function host(): void {
  const threads = new Map<number, Worker>();
  const tell = (hosted: Hosted): void => void process.send?.(hosted);
  const start = (id: number): Worker => {
    const thread = new Worker(new URL(import.meta.url));
    thread.on("message", (message) => tell({ id, message }));
    thread.on("exit", (exit) => {
      threads.delete(id);
      tell({ id, exit });
    });
    threads.set(id, thread);
    return thread;
  };
  process.on("message", ({ id, message }: Hosted) => (threads.get(id) ?? start(id)).postMessage(message));
  process.on("disconnect", () => process.exit());
}

/** Runs the program of the process that writes a file as a thread, with the channel that a process has. */
async function write(): Promise<void> {
  process.connected = true;
  process.send = (message: unknown, callback?: unknown) => {
    parentPort?.postMessage(message);
    if (typeof callback === "function") callback();
    return true;
  };
  await import("../../../src/store/sqlite/writer-process.js");
  parentPort?.on("message", (message) => process.emit("message", message, undefined));
}

if (isMainThread) host();
else await write();
