import type { EventEmitter } from "node:events";
import { backoffMs } from "../../core/async.js";
import type { Logger } from "../../core/log.js";
import { membersOf } from "../../core/members.js";
import { isTerminal } from "../../task/state.js";
import { type AppendRequest, type AppendResult, type CommitObserver, StoreError } from "../task-store.js";
import { BulkQueue, type Caller, WriteQueue } from "./queue.js";
import { restartFault, type StoreFaults } from "./store-faults.js";
import type { FromWriter, OtherWrite, Reply, WriteMethod, WriteOutcome, WriteRequest, WriteResult } from "./write.js";
import { CLOSE, type MessageBuilder, PROBE, type ToWriter } from "./write-codec.js";

/** Threshold of bulk writes, in bytes: their commits take longer, so small writes do not wait for them. */
const BULK_BYTES = 128 * 1024;

/** Interval between checks of the thread, in milliseconds. */
const CHECK_MS = 250;

/** Consecutive probes that have to succeed before a failed disk counts as recovered. */
const GOOD_PROBES = 2;

/** Delays before restarting a thread that exits repeatedly within `CALM_MS`. The first restart is immediate. */
const restarts = { firstMs: 100, maxMs: 5_000, jitter: 0 } as const;
const CALM_MS = 60_000;

/** Statistics of group commit since the store was opened. */
export interface WriterStatistics {
  /** Transactions committed. */
  readonly commits: number;
  /** Writes in them, including rejected ones. */
  readonly writes: number;
}

/** The writer: a thread, or a connection to a process. Emits `message`, `messageerror`, `error`, and finally `exit`. */
export interface WriterHandle extends Pick<EventEmitter, "on"> {
  postMessage(message: ToWriter, transfer?: readonly ArrayBuffer[]): void;
  ref(): void;
  unref(): void;
  terminate(): unknown;
}

interface LinkOptions {
  /** Starts the thread, on first use and after it exited; or connects to a process, which others start. */
  readonly start: () => WriterHandle;
  /** Default: a thread. */
  readonly writer?: "thread" | "process";
  readonly troubles: StoreFaults;
  readonly logger: Logger;
  /** A pending write older than this is a fault, in milliseconds. */
  readonly stallMs: number;
  /** A pending write older than this fails, in milliseconds. */
  readonly writeTimeoutMs: number;
}

/**
 * Client of the writer thread. The first write starts the thread, which costs 10 MB and 30 ms that a server without
 * writes saves. Writes of one event loop iteration travel in one message, and each caller gets its answer when its own
 * write is durable. The thread keeps the process alive only while a caller waits.
 *
 * Bulk writes have a separate queue, so that small ones do not wait for them: the thread commits the small ones first,
 * then one message of bulk writes. Writes of one task keep their order.
 *
 * Every caller gets an answer: a thread that exits is restarted, and a write that hangs fails after a timeout with its
 * outcome unknown. Time is counted in timer ticks of this thread instead of a clock, so that a suspended process or a
 * blocked event loop does not mistake its own pause for one of the disk.
 */
export class WriterClient {
  readonly #options: LinkOptions;
  readonly #troubles: StoreFaults;
  #worker: WriterHandle | undefined;
  /** True after the first write. */
  #begun = false;
  readonly #small = new WriteQueue();
  readonly #bulk = new BulkQueue();
  #flushing: NodeJS.Immediate | undefined;
  #commits = 0;
  #writes = 0;
  #observer: CommitObserver = () => {};
  #closing = false;
  readonly #ended: Promise<void>;
  #end: () => void = () => {};
  #rejectOpening: (error: StoreError) => void = () => {};
  readonly #checks: NodeJS.Timeout;
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
      this.#rejectOpening = reject;
    });
    this.#ended.catch(() => {});
    this.#checks = setInterval(() => this.#check(), CHECK_MS).unref();
  }

  get statistics(): WriterStatistics {
    return { commits: this.#commits, writes: this.#writes };
  }

  /** See CensusStore. */
  onCommit(observer: CommitObserver): void {
    this.#observer = observer;
  }

  /** Appends; resolves when the append is durable. */
  append(request: AppendRequest): Promise<AppendResult | undefined> {
    const append = (message: MessageBuilder): void => message.addAppend(request, isTerminal(request.head.state));
    const { taskId } = request.head;
    const bulk = isBulk(request) || this.#bulk.has(taskId);
    return this.#write(append, bulk ? taskId : undefined) as Promise<AppendResult | undefined>;
  }

  saveSnapshot({ taskId, snapshot }: WriteRequest<"saveSnapshot">): Promise<void> {
    const bulk = snapshot.bytes.length > BULK_BYTES || this.#bulk.has(taskId);
    const save = (message: MessageBuilder): void => message.addSnapshot(taskId, snapshot);
    return this.#write(save, bulk ? taskId : undefined) as Promise<void>;
  }

  async complete(request: WriteRequest<"completeDelivery">): Promise<"more" | "completed" | "lost"> {
    const complete = (message: MessageBuilder): void => message.addCompletion(request);
    return ((await this.#write(complete, undefined)) as WriteResult<"completeDelivery">) ?? "completed";
  }

  /** Performs any other write. */
  call<M extends WriteMethod>(method: M, request: WriteRequest<M>): Promise<WriteResult<M>> {
    // A method and its own request, which the compiler cannot see through the parameter M.
    const write = structuredClone({ method, request }) as OtherWrite;
    const taskId = "taskId" in request && this.#bulk.has(request.taskId) ? request.taskId : undefined;
    return this.#write((message) => message.addOther(write), taskId) as Promise<WriteResult<M>>;
  }

  /** Waits for earlier writes, then ends the thread. @throws StoreError `unavailable` if that takes too long. */
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

  /** @param bulkOf the task, if the write joins the bulk queue */
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
      // Both queues, small ones first: they may have a write of the same task.
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

  #hear(message: FromWriter): void {
    if ("count" in message) this.#settle(message);
    else if ("probed" in message) this.#probed(message.probed);
    else this.#troubles.note("thread", undefined);
  }

  #settle(reply: Reply): void {
    const { count, answers, ms, of = count } = reply;
    this.#commits += 1;
    this.#writes += count;
    if (ms !== undefined) this.#observer(ms / 1_000, of);
    // A late write that fails ends no outage: the disk counts as failed until probes succeed.
    if (reply.failed === true && this.#troubles.has("timeout")) this.#noteDisk("The last write failed after its time.");
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

  /** Lets the process exit when no caller waits. */
  #rest(): void {
    if (!this.#isWaiting && !this.#closing) this.#worker?.unref();
  }

  #answered(): void {
    if (this.#silentMs === 0) return;
    this.#silentMs = 0;
    this.#troubles.note("timeout", undefined);
  }

  #check(): void {
    if (this.#troubles.has("disk")) this.#probe();
    const isWaiting = this.#worker !== undefined && (this.#isWaiting || this.#closing);
    if (!isWaiting) return this.#answered();
    const { stallMs, writeTimeoutMs } = this.#options;
    this.#silentMs += CHECK_MS;
    // One tick more than the limit: the first may have come right after the write.
    const isTimedOut = this.#silentMs > writeTimeoutMs;
    if (!isTimedOut && this.#silentMs <= stallMs) return;
    const reason = `A write to the store has been under way for more than ${stallMs} ms.`;
    this.#troubles.note("timeout", { reason, restartHelps: false, refuses: isTimedOut });
    if (!isTimedOut) return;
    const error = new StoreError("unavailable", reason);
    // The callers keep their positions in the queue, although no caller receives these answers any more.
    for (const queue of [this.#small, this.#bulk]) for (const caller of queue.callers) caller.reject(error);
    if (this.#closing) this.#rejectOpening(error);
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
      this.#noteDisk(reason);
    } else if (++this.#goodProbes >= GOOD_PROBES) {
      this.#troubles.note("disk", undefined);
    }
  }

  /** Writes are still attempted: smaller ones may fit, and a failing disk answers quickly. */
  #noteDisk(reason: string): void {
    this.#troubles.note("disk", { reason, restartHelps: false, refuses: false });
  }

  #start(): void {
    const worker = this.#options.start();
    this.#worker = worker;
    worker.on("message", (message: FromWriter) => this.#hear(message));
    worker.on("messageerror", (cause: unknown) => {
      this.#broken("sent what cannot be read", cause);
      void worker.terminate();
    });
    worker.on("error", (cause: unknown) => this.#broken("broke", cause));
    worker.on("exit", (code: number | undefined) => this.#exited(code));
    // Last, since listening for messages keeps the process alive.
    worker.unref();
  }

  /** Writes in progress may or may not be stored. */
  #broken(what: string, cause?: unknown): void {
    // An error of SQLite arrives from its thread with its code alone.
    const { message, code } = membersOf(cause);
    const detail = (message ?? code) === undefined ? "" : `: ${message ?? code}`;
    // Node.js needs the working directory to start a thread, and its error names only an internal function.
    const hint = `${message}`.includes("uv_cwd") ? " The working folder of this process was deleted." : "";
    const writer = `the ${this.#options.writer ?? "thread"} that writes the store`;
    const reason = `T${writer.slice(1)} ${what}${detail}.${hint}`;
    const error = new StoreError("unavailable", reason, { cause });
    if (!this.#troubles.has("thread") && !this.#closing)
      this.#options.logger.warn({ err: error }, `${writer} ended; another one is started`);
    this.#troubles.note("thread", { reason, restartHelps: true, refuses: true });
    for (const queue of [this.#small, this.#bulk]) for (const caller of queue.takeAll()) caller.reject(error);
  }

  /** A replacement must wait for the exit: until then the thread holds the file's lock. */
  #exited(code: number | undefined): void {
    this.#worker = undefined;
    this.#probing = false;
    this.#answered();
    const isReported = this.#troubles.has("thread");
    if (!isReported && (!this.#closing || this.#isWaiting))
      this.#broken(code === undefined ? "ended" : `ended with code ${code}`);
    if (this.#closing) return this.#over();
    const now = performance.now();
    this.#deaths = this.#deaths.filter((time) => now - time < CALM_MS);
    const earlier = this.#deaths.push(now) - 1;
    // The connection waits for a process that is being started.
    const isImmediate = earlier === 0 || this.#options.writer === "process";
    const wait = isImmediate ? 0 : backoffMs(earlier, restarts);
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
    clearInterval(this.#checks);
    this.#end();
  }
}

function isBulk({ entries, conversation }: AppendRequest): boolean {
  let bytes = conversation?.bytes.length ?? 0;
  for (const entry of entries) bytes += entry.length;
  return bytes > BULK_BYTES;
}

function settle(caller: Caller, answer: WriteOutcome | undefined): void {
  if (answer === undefined) return caller.resolve(undefined);
  if ("result" in answer) return caller.resolve(answer.result);
  const { kind, message, remembered, tooManyOf } = answer.error;
  caller.reject(new StoreError(kind, message, { remembered, tooManyOf }));
}
