import { EventEmitter } from "node:events";
import { MessageChannel, type MessagePort, type TransferListItem, Worker } from "node:worker_threads";
import type { WriterData } from "../../src/store/sqlite/connection.js";
import { bundle } from "./writer-thread.js";

/** Threads that write no store now. */
const idle: Worker[] = [];

/**
 * The writer thread of a store, in place of its `Worker`. It closes one store and takes the next, because the start of a
 * thread takes longer than most tests of a store.
 */
class LentWriter extends EventEmitter {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #failed = (error: unknown): boolean => this.emit("error", error);
  readonly #exited = (code: number): boolean => this.emit("exit", code);
  readonly #closed = (): void => this.#giveBack();
  /** Number of ends seen: the message of the thread and the close of the port, in any order. */
  #ends = 0;

  constructor(data: WriterData) {
    super();
    this.#worker = idle.pop() ?? new Worker(bundle("lending.js"), { execArgv: [] });
    this.#worker.on("error", this.#failed).on("exit", this.#exited).on("message", this.#closed);
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.on("message", (message) => this.emit("message", message));
    port1.on("messageerror", (error) => this.emit("messageerror", error));
    port1.on("close", this.#closed);
    this.#worker.postMessage({ data, port: port2 }, [port2]);
  }

  #giveBack(): void {
    this.#ends += 1;
    if (this.#ends < 2) return;
    this.#worker.off("error", this.#failed).off("exit", this.#exited).off("message", this.#closed);
    this.#worker.unref();
    idle.push(this.#worker);
    this.emit("exit", 0);
  }

  postMessage(message: unknown, transfer: readonly TransferListItem[] = []): void {
    this.#port.postMessage(message, transfer);
  }

  ref(): void {
    this.#worker.ref();
    this.#port.ref();
  }

  unref(): void {
    this.#worker.unref();
    this.#port.unref();
  }

  terminate(): Promise<number> {
    return this.#worker.terminate();
  }
}

/** Replaces `store/sqlite/start-writer.ts` in `npm test`. In `.ci/run` and `npm run test:all` each store starts its own thread. */
export function startWriter(data: WriterData): LentWriter {
  return new LentWriter(data);
}
