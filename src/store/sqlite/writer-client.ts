import type { Worker } from "node:worker_threads";
import type { Logger } from "../../core/log.js";
import { isTerminal } from "../../task/state.js";
import { type AppendRequest, type AppendResult, StoreError } from "../task-store.js";
import { CLOSE, type MessageBuilder, PROBE } from "./message.js";
import { BulkQueue, type Caller, WriteQueue } from "./queue.js";
import { BULK_BYTES } from "./segment.js";
import { restartFault, type StoreFaults } from "./store-faults.js";
import type { Answer, FromWriter, OtherWrite, Reply, WriteMethod, WriteRequest, WriteResult } from "./write.js";

/** Between two looks at the thread, in milliseconds. */
const BEAT_MS = 250;

/** Probes that have to succeed, one after the other, before a disk that failed is taken for well. */
const GOOD_PROBES = 2;

/** A thread that dies is started again at once, then after these times, in milliseconds, while it dies within `CALM_MS`. */
const RESTART_MS = [0, 100, 500, 2_000, 5_000];
const CALM_MS = 60_000;

/** What group commit did since the store was opened. */
export interface WriterStatistics {
  /** Transactions that made something durable. */
  readonly commits: number;
  /** Writes in them, refused ones included. */
  readonly writes: number;
}

/** What a link is made of. */
export interface LinkOptions {
  /** Starts the thread, when it is first needed and when it died. */
  readonly start: () => Worker;
  readonly troubles: StoreFaults;
  readonly logger: Logger;
  /** A write that takes longer than this is trouble, in milliseconds. */
  readonly stallMs: number;
  /** A write that takes longer than this is refused, in milliseconds. */
  readonly writeTimeoutMs: number;
}

/**
 * This thread's end of the writer, which begins with the first write: a thread takes 10 MB and 30 ms of a start, and a server that is
 * only looked at needs none. What is written in one turn of the event loop goes out as one message, and each
 * caller is answered when its own write is durable. The thread keeps the process alive only while a caller waits.
 *
 * Bulk writes have a queue of their own, so that the small ones do not wait for them: the thread commits what is small
 * first, then one message of bulk writes. What is written of one task keeps its order.
 *
 * It sees to it that each caller gets an answer: a thread that dies is started again, and a write that hangs is refused
 * after a while, with its outcome open. Time is counted in beats of this thread and not by a clock, so that neither a
 * process that was stopped nor an event loop that was held up takes its own pause for one of the disk.
 */
export class WriterClient {
  readonly #options: LinkOptions;
  readonly #troubles: StoreFaults;
  #worker: Worker | undefined;
  /** Whether a first write has come. */
  #begun = false;
  readonly #small = new WriteQueue();
  readonly #bulk = new BulkQueue();
  #flushing: NodeJS.Immediate | undefined;
  #commits = 0;
  #writes = 0;
  #closing = false;
  readonly #ended: Promise<void>;
  #end: () => void = () => {};
  #giveUp: (error: StoreError) => void = () => {};
  readonly #heart: NodeJS.Timeout;
  /** Milliseconds without an answer, while a caller waits for one. */
  #silentMs = 0;
  #probing = false;
  #goodProbes = 0;
  #restart: NodeJS.Timeout | undefined;
  #deaths: number[] = [];

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#troubles = options.troubles;
    this.#ended = new Promise((resolve, reject) => {
      this.#end = resolve;
      this.#giveUp = reject;
    });
    this.#ended.catch(() => {});
    this.#heart = setInterval(() => this.#beat(), BEAT_MS).unref();
  }

  /** See WriterStatistics. */
  get statistics(): WriterStatistics {
    return { commits: this.#commits, writes: this.#writes };
  }

  /** Whether a first write has come, with which the thread begins. */
  get hasBegun(): boolean {
    return this.#begun;
  }

  /** Appends; resolves when it is durable. */
  append(request: AppendRequest): Promise<AppendResult | undefined> {
    const append = (message: MessageBuilder): void => message.addAppend(request, isTerminal(request.head.state));
    const { taskId } = request.head;
    const bulk = isBulk(request.entries) || this.#bulk.has(taskId);
    return this.#write(append, bulk ? taskId : undefined) as Promise<AppendResult | undefined>;
  }

  /** Keeps a snapshot. */
  saveSnapshot({ taskId, snapshot }: WriteRequest<"saveSnapshot">): Promise<void> {
    const bulk = snapshot.bytes.length > BULK_BYTES || this.#bulk.has(taskId);
    const save = (message: MessageBuilder): void => message.addSnapshot(taskId, snapshot);
    return this.#write(save, bulk ? taskId : undefined) as Promise<void>;
  }

  /** Ends a delivery. */
  async settle(request: WriteRequest<"settleDelivery">): Promise<"more" | "settled" | "lost"> {
    const settle = (message: MessageBuilder): void => message.addSettlement(request);
    return ((await this.#write(settle, undefined)) as WriteResult<"settleDelivery">) ?? "settled";
  }

  /** Does any other write. */
  call<M extends WriteMethod>(method: M, request: WriteRequest<M>): Promise<WriteResult<M>> {
    // A method and its own request, which the compiler cannot see through the parameter M.
    const write = structuredClone({ method, request }) as OtherWrite;
    const taskId = "taskId" in request && this.#bulk.has(request.taskId) ? request.taskId : undefined;
    return this.#write((message) => message.addOther(write), taskId) as Promise<WriteResult<M>>;
  }

  /** Waits for what was written before, then ends the thread. @throws StoreError `unavailable` when that takes too long. */
  close(): Promise<void> {
    if (!this.#closing) {
      this.#flush();
      this.#closing = true;
      clearTimeout(this.#restart);
      if (this.#worker === undefined) this.#over();
      this.#worker?.ref();
      this.#worker?.postMessage(CLOSE);
    }
    return this.#ended;
  }

  /** @param bulkOf the task, where the write goes with the bulk ones */
  #write(add: (message: MessageBuilder) => void, bulkOf: string | undefined): Promise<unknown> {
    if (this.#closing) return Promise.reject(new StoreError("closed", "The store is closed."));
    if (!this.#begun && this.#troubles.refusal === undefined) this.#startAgain();
    if (this.#troubles.refusal !== undefined) return Promise.reject(this.#troubles.refusal);
    return new Promise((resolve, reject) => {
      const queue = bulkOf === undefined ? this.#small : this.#bulk;
      add(queue.outgoing);
      if (!this.#isWaiting) this.#worker?.ref();
      if (bulkOf === undefined) queue.push({ resolve, reject });
      else this.#bulk.pushOf(bulkOf, { resolve, reject });
      // Both, small ones first: one of them may be of the same task.
      if (queue.isFull) this.#flush();
      else this.#flushing ??= setImmediate(() => this.#flush());
    });
  }

  get #isWaiting(): boolean {
    return this.#small.callers.length > 0 || this.#bulk.callers.length > 0;
  }

  #flush(): void {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    this.#send(this.#small);
    this.#send(this.#bulk);
  }

  #send(queue: WriteQueue): void {
    const unsent = queue.markSent();
    if (unsent === 0) return;
    const message = queue.outgoing.take();
    if (queue === this.#bulk) message.bulk = true;
    try {
      this.#worker?.postMessage(message, [message.bytes]);
    } catch (cause) {
      const error = new StoreError("failed", "The write has values that cannot be stored.", { cause });
      for (const caller of queue.takeUnsent(unsent)) caller.reject(error);
      this.#rest();
    }
  }

  #hear(said: FromWriter): void {
    if ("count" in said) this.#settle(said);
    else if ("probed" in said) this.#probed(said.probed);
    else this.#troubles.note("thread", undefined);
  }

  #settle(reply: Reply): void {
    const { count, answers } = reply;
    this.#commits += 1;
    this.#writes += count;
    this.#answered();
    if (reply.lost !== undefined) this.#troubles.noteFile(reply.lost);
    if (reply.outgrown !== undefined) this.#troubles.note("schema", restartFault(reply.outgrown));
    if (reply.failed === true) this.#probe();
    const callers = (reply.bulk === true ? this.#bulk : this.#small).takeAnswered(count);
    this.#rest();
    callers.forEach((caller, index) => {
      settle(caller, answers?.get(index));
    });
  }

  /** Lets the process end when no caller waits. */
  #rest(): void {
    if (!this.#isWaiting && !this.#closing) this.#worker?.unref();
  }

  #answered(): void {
    if (this.#silentMs === 0) return;
    this.#silentMs = 0;
    this.#troubles.note("timeout", undefined);
  }

  #beat(): void {
    if (this.#troubles.has("disk")) this.#probe();
    const isWaiting = this.#worker !== undefined && (this.#isWaiting || this.#closing);
    if (!isWaiting) return this.#answered();
    const { stallMs, writeTimeoutMs } = this.#options;
    this.#silentMs += BEAT_MS;
    // One beat more than the time: the first of them may have come right after the write.
    const late = this.#silentMs > writeTimeoutMs;
    if (!late && this.#silentMs <= stallMs) return;
    const reason = `A write to the store has been under way for more than ${stallMs} ms.`;
    this.#troubles.note("timeout", { reason, restartHelps: false, refuses: late });
    if (!late) return;
    const error = new StoreError("unavailable", reason);
    // They keep their place among the answers, which go to no caller any more.
    for (const queue of [this.#small, this.#bulk]) for (const caller of queue.callers) caller.reject(error);
    if (this.#closing) this.#giveUp(error);
  }

  #probe(): void {
    if (this.#probing || this.#closing || this.#worker === undefined) return;
    this.#probing = true;
    this.#worker.postMessage(PROBE);
  }

  #probed(reason: string | null): void {
    this.#probing = false;
    if (reason !== null) {
      this.#goodProbes = 0;
      // Writes are tried all the same: what is smaller may have room, and a disk that fails does not take long to.
      this.#troubles.note("disk", { reason, restartHelps: false, refuses: false });
    } else if (++this.#goodProbes >= GOOD_PROBES) {
      this.#troubles.note("disk", undefined);
    }
  }

  #start(): void {
    const worker = this.#options.start();
    this.#worker = worker;
    worker.on("message", (said: FromWriter) => this.#hear(said));
    worker.on("messageerror", (cause) => {
      this.#broken("sent what cannot be read", cause);
      void worker.terminate();
    });
    worker.on("error", (cause) => this.#broken("broke", cause));
    worker.on("exit", (code) => this.#exited(code));
    // Last, since listening for messages keeps the process alive.
    worker.unref();
  }

  /** Whatever was under way may be stored or not. */
  #broken(what: string, cause?: unknown): void {
    // An error of SQLite comes out of its thread as its code alone.
    const { message, code } = (cause ?? {}) as { readonly message?: string; readonly code?: string };
    const detail = (message ?? code) === undefined ? "" : `: ${message ?? code}`;
    // Node.js needs it to start a thread, and says so by the name of its own function.
    const hint = message?.includes("uv_cwd") ? " The working folder of this process was deleted." : "";
    const reason = `The thread that writes the store ${what}${detail}.${hint}`;
    const error = new StoreError("unavailable", reason, { cause });
    if (!this.#troubles.has("thread") && !this.#closing)
      this.#options.logger.warn({ err: error }, "the thread that writes the store ended; another one is started");
    this.#troubles.note("thread", { reason, restartHelps: true, refuses: true });
    for (const queue of [this.#small, this.#bulk]) for (const caller of queue.takeAll()) caller.reject(error);
  }

  /** Only when it is gone may another one take its place: until then it has the file's lock. */
  #exited(code: number): void {
    this.#worker = undefined;
    this.#probing = false;
    this.#answered();
    const isTold = this.#troubles.has("thread");
    if (!isTold && (!this.#closing || this.#isWaiting)) this.#broken(`ended with code ${code}`);
    if (this.#closing) return this.#over();
    const now = performance.now();
    this.#deaths = this.#deaths.filter((time) => now - time < CALM_MS);
    const wait = RESTART_MS[Math.min(this.#deaths.push(now), RESTART_MS.length) - 1];
    this.#restart = setTimeout(() => this.#startAgain(), wait).unref();
  }

  #startAgain(): void {
    this.#begun = true;
    try {
      this.#start();
    } catch (cause) {
      this.#options.logger.warn({ err: cause }, "the thread that writes the store could not be started");
      this.#exited(1);
    }
  }

  #over(): void {
    clearInterval(this.#heart);
    this.#end();
  }
}

/** Whether an append is one of the bulk writes. */
function isBulk(entries: readonly Uint8Array[]): boolean {
  let bytes = 0;
  for (let index = 0; index < entries.length; index++) bytes += (entries[index] as Uint8Array).length;
  return bytes > BULK_BYTES;
}

function settle(caller: Caller, answer: Answer | undefined): void {
  if (answer === undefined) return caller.resolve(undefined);
  if ("result" in answer) return caller.resolve(answer.result);
  const { kind, message, remembered, tooManyOf } = answer.error;
  caller.reject(new StoreError(kind, message, { remembered, tooManyOf }));
}
