import type { StreamResponse } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../../gen/parley/log/v1/log_pb.js";
import { type Cancellation, ignore } from "../../core/async.js";
import { A2AError, taskNotFound } from "../../core/error.js";
import { yieldToEventLoop } from "../../core/event-loop.js";
import { defined } from "../../core/members.js";
import { responseOf } from "../../task/entry.js";
import { isTerminal } from "../../task/state.js";
import { isOutage, unavailable } from "../log/outage.js";
import type { TaskLog } from "../log/task-log.js";

export interface CursorSource {
  /** True once the server drains: streams then end with an error that invites clients to resume. */
  readonly draining: () => boolean;
  /** True once the grace period of running work is over: calls that wait for it end as well. */
  readonly closing: () => boolean;
  /** True while the store is unavailable. Interrupted executions resume only after it recovers. */
  readonly outage: () => boolean;
  readonly opened: (reader: LogReader) => void;
  readonly closed: (reader: LogReader) => void;
}

/** Returns the error of an interrupted stream. It names the task, so that the client can subscribe again. */
function drained({ messageContext }: TaskLog): A2AError {
  return new A2AError("UNAVAILABLE", "The server is shutting down; subscribe to the task again to continue.", {
    // A client that still waits for the answer to its first message does not know the task id.
    metadata: { taskId: messageContext.taskId },
    retryAfterMs: 1_000,
  });
}

/** Returns the error of a stream whose events were lost with the server of the store. */
function lostEnd({ messageContext }: TaskLog): A2AError {
  return new A2AError("UNAVAILABLE", "The store has lost the last events of the task; read the task again.", {
    metadata: { taskId: messageContext.taskId },
    retryAfterMs: 1_000,
  });
}

/** A position in a task's log. */
export interface LogPosition {
  readonly position: number;
  readonly generation: number;
}

interface Reading {
  readonly source: CursorSource;
  /** The reader starts after this position. */
  readonly after: LogPosition;
  readonly client: Cancellation;
  /** True if the awaited turn has already started. Otherwise the reader waits on a task at rest. */
  readonly hasStarted: boolean;
}

/**
 * Reads a task's log from a position on: stored entries first, then new ones. The reader owns its position and has no
 * queue, so a slow reader costs no memory and misses nothing.
 *
 * It ends after a terminal entry (specification 3.1.2), or when a turn ends and the task waits for the client (section
 * 11.7; the same in every binding). It stays open while an execution runs, also in AUTH_REQUIRED (7.6.1). It ends
 * early, without an error, when the client cancels.
 *
 * The class is not a generator, and no async function of it waits for the next entry: thousands of readers may wait,
 * and each suspended function would hold half a kilobyte.
 */
export class LogReader implements AsyncIterable<StreamResponse> {
  readonly #log: TaskLog;
  readonly #source: CursorSource;
  readonly #waiter: LogWaiter;
  /** The client has everything up to this generation. */
  readonly #generation: number;
  #position: number;
  // Not `busy`: an execution that has just paused its task stays registered for a moment, and would end a new reader.
  #active: boolean;
  /** The entries that were read last, and the number of them that were taken. */
  #entries: readonly LogEntry[] = none;
  #taken = 0;
  #isOver = false;

  constructor(log: TaskLog, { source, after, client, hasStarted }: Reading) {
    this.#log = log;
    this.#source = source;
    this.#waiter = new LogWaiter(log, client);
    this.#generation = after.generation;
    this.#position = after.position;
    this.#active = hasStarted;
    source.opened(this);
  }

  /** Number of entries of the log that the reader has not taken yet. */
  get lag(): number {
    return Math.max(0, this.#log.fold.position - this.#position);
  }

  /** Returns the next event, or undefined if `more` has to be called. */
  take(): StreamResponse | undefined {
    while (this.#taken < this.#entries.length) {
      const entry = defined(this.#entries[this.#taken++]);
      this.#position = entry.position;
      if (entry.event.case === "status" && isTerminal(entry.event.value.status?.state ?? 0)) {
        this.#isOver = true;
        this.#taken = this.#entries.length;
      }
      const event = entry.generation > this.#generation ? responseOf(entry) : undefined;
      if (event !== undefined) return event;
    }
    this.#entries = none;
    return undefined;
  }

  /** Waits until `take` may return an event; false at the end. Called when `take` has returned undefined. */
  more(): boolean | Promise<boolean> {
    if (this.#isOver || this.#waiter.isCanceled) return false;
    const log = this.#log;
    if (log.isLost) throw lostEnd(log);
    const entries = log.tail.after(this.#position);
    if (entries === undefined) return readStore(log, this.#position).then((stored) => this.#read(stored));
    return this.#read(entries);
  }

  #read(entries: readonly LogEntry[]): boolean | Promise<boolean> {
    const log = this.#log;
    this.#entries = entries;
    this.#taken = 0;
    if (entries.length > 0) {
      this.#active = true;
      return true;
    }
    // Retention has removed a task that this reader still holds: no further entries will come.
    if (this.#position < log.fold.position) return ensureExists(log);
    if (isTerminal(log.fold.state) || (this.#active && log.atRest)) return false;
    if (this.#source.draining()) throw drained(log);
    return this.#waiter.next();
  }

  /** Ends the wait. Must be called once. */
  end(): void {
    this.#waiter.end();
    this.#source.closed(this);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamResponse, void, undefined> {
    try {
      while (await this.more()) {
        for (let event = this.take(); event !== undefined; event = this.take()) yield event;
      }
    } finally {
      this.end();
    }
  }
}

const none: readonly LogEntry[] = [];

/** @throws A2AError TASK_NOT_FOUND if the task is gone */
async function ensureExists(log: TaskLog): Promise<true> {
  if (!(await log.isStored())) throw taskNotFound(log.taskId);
  // Yields to the event loop before the store is read again, even if the store answers at once.
  await yieldToEventLoop();
  return true;
}

/** @throws A2AError UNAVAILABLE */
async function readStore(log: TaskLog, after: number): Promise<readonly LogEntry[]> {
  const entries = await log.pages.after(after).catch((error: unknown) => {
    throw isOutage(error) ? unavailable(error) : error;
  });
  const last = entries.at(-1)?.position ?? 0;
  // Entries of another process are delivered after this process's fold has applied them.
  return last <= log.fold.position ? entries : entries.filter(({ position }) => position <= log.fold.position);
}

/** Waits for the next entry, or for the end of the reader's call. */
export class LogWaiter {
  readonly #log: TaskLog;
  readonly #client: Cancellation;
  readonly #stay: () => void;
  readonly #wake = (): void => this.#resolve(true);
  #resolve: (isAwake: true) => void = ignore;

  constructor(log: TaskLog, client: Cancellation) {
    this.#log = log;
    this.#client = client;
    this.#stay = client.onCancel(this.#wake);
  }

  get isCanceled(): boolean {
    return this.#client.canceled;
  }

  next(): Promise<true> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#log.onChange(this.#wake);
      if (this.#client.canceled) resolve(true);
    });
  }

  end(): void {
    this.#log.offChange(this.#wake);
    this.#stay();
  }
}

/** Conditions that end a wait early. */
interface WaitOptions {
  readonly source: CursorSource;
  readonly client: Cancellation;
  /** Milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Waits until `done` returns true, the client cancels, or the timeout expires.
 * @returns true if `done` does
 * @throws A2AError if the server closes first
 */
export async function waitFor(log: TaskLog, done: () => boolean, options: WaitOptions): Promise<boolean> {
  if (done()) return true;
  const { source, client, timeoutMs } = options;
  const waiter = new LogWaiter(log, client);
  let isTimedOut = false;
  const timer = setTimeout(() => {
    isTimedOut = true;
    log.wake();
  }, timeoutMs);
  try {
    while (!done()) {
      if (isTimedOut || client.canceled) return false;
      if (log.isLost) throw lostEnd(log);
      if (source.closing() || log.turns.isReleased) throw drained(log);
      await waiter.next();
    }
    return true;
  } finally {
    clearTimeout(timer);
    waiter.end();
  }
}
