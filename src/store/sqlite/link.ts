import { Worker, type WorkerOptions } from "node:worker_threads";
import type { Logger } from "../../core/log.js";
import { isTerminal } from "../../task/state.js";
import { type AppendRequest, StoreError } from "../task-store.js";
import { CLOSE, MessageBuilder } from "./message.js";
import type { WriterData } from "./open.js";
import type { Answer, OtherWrite, Reply, WriteMethod, WriteRequest, WriteResult } from "./write.js";

/** A message of this many bytes, or writes, is sent at once instead of at the end of the event loop's turn. */
const FLUSH_BYTES = 1024 * 1024;
const FLUSH_WRITES = 512;

/** What group commit did since the store was opened. */
export interface WriterStatistics {
  /** Transactions that made something durable. */
  readonly commits: number;
  /** Writes in them, refused ones included. */
  readonly writes: number;
}

interface Caller {
  resolve(result: unknown): void;
  reject(error: StoreError): void;
}

/** Starts the writer's thread, from the file beside this one: TypeScript when run from source, JavaScript when built. */
export function startWriter(data: WriterData): Worker {
  const source = import.meta.url.endsWith(".ts");
  const options: WorkerOptions = { workerData: data };
  if (source) {
    // What loads TypeScript in this thread is not always loaded in a new one (Node 20), so it is named again.
    const loader = `import { register } from "node:module"; register("tsx/esm", "${import.meta.url}", { data: {} });`;
    options.execArgv = ["--import", `data:text/javascript,${encodeURIComponent(loader)}`];
  }
  return new Worker(new URL(source ? "./writer.ts" : "./writer.js", import.meta.url), options);
}

/**
 * This thread's end of the writer. What is written in one turn of the event loop goes out as one message, and each
 * caller hears of its own write when it is durable. The thread keeps the process alive only while somebody waits.
 */
export class WriterLink {
  readonly #worker: Worker;
  readonly #logger: Logger;
  readonly #ended: Promise<void>;
  /** In the order of their writes, which is the order of the answers. */
  readonly #callers: Caller[] = [];
  readonly #outgoing = new MessageBuilder();
  #unsent = 0;
  #flushing: NodeJS.Immediate | undefined;
  #commits = 0;
  #writes = 0;
  #closing = false;
  #dead: StoreError | undefined;

  constructor(worker: Worker, logger: Logger) {
    this.#worker = worker;
    this.#logger = logger;
    worker.on("message", (reply: Reply) => this.#settle(reply));
    worker.on("messageerror", (cause) => this.#die("sent what cannot be read", cause));
    worker.on("error", (cause) => this.#die("broke", cause));
    this.#ended = new Promise((resolve) => {
      worker.on("exit", (code) => {
        if (!this.#closing || this.#callers.length > 0) this.#die(`ended with code ${code}`);
        resolve();
      });
    });
    // Last, since listening for messages keeps the process alive.
    worker.unref();
  }

  /** See WriterStatistics. */
  get statistics(): WriterStatistics {
    return { commits: this.#commits, writes: this.#writes };
  }

  /** Appends; resolves when it is durable. */
  append(request: AppendRequest): Promise<void> {
    return this.#write((message) => message.addAppend(request, isTerminal(request.head.state))) as Promise<void>;
  }

  /** Keeps a snapshot. */
  saveSnapshot({ taskId, snapshot }: WriteRequest<"saveSnapshot">): Promise<void> {
    return this.#write((message) => message.addSnapshot(taskId, snapshot)) as Promise<void>;
  }

  /** Does any other write. */
  call<M extends WriteMethod>(method: M, request: WriteRequest<M>): Promise<WriteResult<M>> {
    // A method and its own request, which the compiler cannot see through the parameter M.
    const write = structuredClone({ method, request }) as OtherWrite;
    return this.#write((message) => message.addOther(write)) as Promise<WriteResult<M>>;
  }

  /** Waits for what was written before, then ends the thread. */
  async close(): Promise<void> {
    if (!this.#closing && this.#dead === undefined) {
      this.#closing = true;
      this.#flush();
      this.#worker.ref();
      this.#worker.postMessage(CLOSE);
    }
    await this.#ended;
  }

  #write(add: (message: MessageBuilder) => void): Promise<unknown> {
    if (this.#dead !== undefined) return Promise.reject(this.#dead);
    if (this.#closing) return Promise.reject(new StoreError("closed", "The store is closed."));
    return new Promise((resolve, reject) => {
      add(this.#outgoing);
      this.#unsent += 1;
      if (this.#callers.push({ resolve, reject }) === 1) this.#worker.ref();
      if (this.#outgoing.size >= FLUSH_BYTES || this.#unsent >= FLUSH_WRITES) this.#flush();
      else this.#flushing ??= setImmediate(() => this.#flush());
    });
  }

  #flush(): void {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    if (this.#unsent === 0) return;
    const message = this.#outgoing.take();
    const unsent = this.#unsent;
    this.#unsent = 0;
    try {
      this.#worker.postMessage(message, [message.bytes]);
    } catch (cause) {
      const error = new StoreError("failed", "The write has values that cannot be stored.", { cause });
      for (const caller of this.#callers.splice(-unsent)) caller.reject(error);
      this.#rest();
    }
  }

  #settle({ count, answers }: Reply): void {
    this.#commits += 1;
    this.#writes += count;
    const callers = this.#callers.splice(0, count);
    this.#rest();
    callers.forEach((caller, index) => {
      settle(caller, answers?.get(index));
    });
  }

  /** Lets the process end when nobody waits. */
  #rest(): void {
    if (this.#callers.length === 0 && !this.#closing) this.#worker.unref();
  }

  #die(what: string, cause?: unknown): void {
    if (this.#dead === undefined) {
      this.#dead = new StoreError("failed", `The thread that writes the store ${what}.`, { cause });
      this.#logger.error({ err: this.#dead }, "the store is out of order");
      void this.#worker.terminate();
    }
    for (const caller of this.#callers.splice(0)) caller.reject(this.#dead);
  }
}

function settle(caller: Caller, answer: Answer | undefined): void {
  if (answer === undefined) return caller.resolve(undefined);
  if ("result" in answer) return caller.resolve(answer.result);
  const { kind, message, remembered } = answer.error;
  caller.reject(new StoreError(kind, message, remembered === undefined ? {} : { remembered }));
}
