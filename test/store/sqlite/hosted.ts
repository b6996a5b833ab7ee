import { type ChildProcess, fork } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { bundle } from "../../support/writer-thread.js";
import type { Hosted } from "./writer-host.js";

/** Another process, with as many writers as tests need one after the other. */
export class WriterHost {
  readonly #writers = new Map<number, EventEmitter>();
  #process: ChildProcess | undefined;
  #count = 0;

  /** Makes a writer that its owner talks to as if it were a process of its own. */
  fork(): ChildProcess {
    const id = ++this.#count;
    const host = this.#started();
    const send = (message: object | string): boolean => host.send({ id, message } satisfies Hosted);
    const writer = Object.assign(new EventEmitter(), { pid: host.pid, connected: true, send });
    this.#writers.set(id, writer);
    return writer as unknown as ChildProcess;
  }

  #started(): ChildProcess {
    this.#process ??= fork(bundle("writer-host.js"), [], { execArgv: [] }).on("message", (told) => {
      const { id, message, exit } = told as Hosted;
      const writer = this.#writers.get(id);
      if (exit === undefined) writer?.emit("message", message);
      else writer?.emit("exit", exit, null);
    });
    return this.#process;
  }

  async end(): Promise<void> {
    if (this.#process === undefined) return;
    const exited = once(this.#process, "exit");
    this.#process.disconnect();
    await exited;
  }
}
