import type { StreamResponse } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../../gen/parley/log/v1/log_pb.js";
import type { Cancellation } from "../../core/cancellation.js";
import { A2AError, taskNotFound } from "../../core/error.js";
import { nextRound } from "../../core/event-loop.js";
import { responseOf } from "../../task/entry.js";
import { isTerminal } from "../../task/state.js";
import type { TaskLog } from "../log/task-log.js";

/** What the cursors of all tasks need of the engine. */
export interface CursorSource {
  /** True once the server drains: streams then end with an error that invites to resume. */
  readonly draining: () => boolean;
  /** True once running work has had its grace: calls that wait for it end as well. */
  readonly closing: () => boolean;
  /** True while the store is out of order: what was cut off by that goes on only when it is well again. */
  readonly outage: () => boolean;
}

/** Tells the client of a cut stream that the task goes on and where to find it again. */
export function drained({ place }: TaskLog): A2AError {
  return new A2AError("UNAVAILABLE", "The server is shutting down; subscribe to the task again to go on.", {
    // Whoever waits for the answer to a first message does not know it yet.
    metadata: { taskId: place.taskId },
    retryAfterMs: 1_000,
  });
}

/** A place in a task's log. */
export interface LogPosition {
  readonly position: number;
  readonly generation: number;
}

/** Where a reader begins. */
export interface Reading {
  readonly source: CursorSource;
  /** The reader begins behind this place. */
  readonly after: LogPosition;
  readonly client: Cancellation;
  /** Whether the turn that is to be over has begun before; otherwise a task at rest is waited for. */
  readonly hasStarted: boolean;
}

/**
 * Reads a task's log from a position on: what is stored, then what comes. The reader owns its position; there is no
 * queue for it anywhere, so a slow one costs no memory and misses nothing.
 *
 * It ends after a terminal entry (specification 3.1.2), or when a turn is over and the task waits for the client
 * (section 11.7; the same in every binding). It stays open while an execution lives, in AUTH_REQUIRED too (7.6.1).
 * It ends early, without an error, when the client cancels.
 *
 * No generator, and no function that waits for the next entry: thousands of readers may wait, and each of those would keep half a kilobyte.
 */
export class LogReader implements AsyncIterable<StreamResponse> {
  readonly #log: TaskLog;
  readonly #source: CursorSource;
  readonly #waiter: LogWaiter;
  /** Up to which generation all is known. */
  readonly #generation: number;
  #position: number;
  // Not `busy`: an execution that has just paused its task is not over for a moment, and would end a new reader.
  #active: boolean;
  /** Entries that were read, and how many of them were taken. */
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
  }

  /** The next event; undefined where `more` has to be asked. */
  take(): StreamResponse | undefined {
    while (this.#taken < this.#entries.length) {
      const entry = this.#entries[this.#taken++] as LogEntry;
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

  /** Waits until there may be something to take; false when all is over. Called when nothing is left to take. */
  more(): boolean | Promise<boolean> {
    if (this.#isOver || this.#waiter.isCanceled) return false;
    const log = this.#log;
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
    // Retention has removed a task that this reader still holds: nothing more will ever come of it.
    if (this.#position < log.fold.position) return stillThere(log);
    if (isTerminal(log.fold.state) || (this.#active && log.atRest)) return false;
    if (this.#source.draining()) throw drained(log);
    return this.#waiter.next();
  }

  /** Ends the wait. To be called once. */
  end(): void {
    this.#waiter.end();
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

/** @throws A2AError TASK_NOT_FOUND where the task is gone */
async function stillThere(log: TaskLog): Promise<true> {
  if (!(await log.isStored())) throw taskNotFound(log.taskId);
  // The event loop goes on before the store is asked again, whatever its answer.
  await nextRound();
  return true;
}

async function readStore(log: TaskLog, after: number): Promise<readonly LogEntry[]> {
  const entries = await log.pages.after(after);
  const last = entries.at(-1)?.position ?? 0;
  // Entries that another process stored and this one has not taken over yet come after the fold has them.
  return last <= log.fold.position ? entries : entries.filter(({ position }) => position <= log.fold.position);
}

/** One reader's wait for the next entry or the end of its call. */
class LogWaiter {
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

function ignore(): void {}

/** How a wait may end early. */
export interface WaitOptions {
  readonly source: CursorSource;
  readonly client: Cancellation;
  /** Milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Waits until `done` holds, the client cancels, or the time is up.
 * @returns whether it holds
 * @throws A2AError when the server closes first
 */
export async function waitFor(log: TaskLog, done: () => boolean, options: WaitOptions): Promise<boolean> {
  if (done()) return true;
  const { source, client, timeoutMs } = options;
  const waiter = new LogWaiter(log, client);
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    log.wake();
  }, timeoutMs);
  try {
    while (!done()) {
      if (late || client.canceled) return false;
      if (source.closing() || log.turns.isLetGo) throw drained(log);
      await waiter.next();
    }
    return true;
  } finally {
    clearTimeout(timer);
    waiter.end();
  }
}
