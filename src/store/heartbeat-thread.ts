import type { Worker } from "node:worker_threads";
import type { HeartbeatRequest } from "./task-store.js";

/** Continues the heartbeats in a thread while the event loop is blocked. If the thread ends, it is started again. */
export class HeartbeatThread {
  readonly #start: () => Worker;
  #thread: Worker | undefined;
  #isClosed = false;

  constructor(start: () => Worker) {
    this.#start = start;
  }

  /** Notes a heartbeat of the event loop, which the thread repeats. */
  note(request: HeartbeatRequest): void {
    if (!this.#isClosed && this.#thread === undefined) this.#begin();
    this.#thread?.postMessage(request);
  }

  /** Ends the thread, which the next heartbeat starts again. */
  async end(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.terminate();
  }

  /** Ends the thread for good. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.end();
  }

  #begin(): void {
    const thread = this.#start();
    const onEnd = (): void => {
      if (this.#thread === thread) this.#thread = undefined;
    };
    thread.on("error", onEnd).on("exit", onEnd);
    thread.unref();
    this.#thread = thread;
  }
}
