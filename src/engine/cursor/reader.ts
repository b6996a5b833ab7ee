import type { LogEntry } from "../../../gen/parley/log/v1/log_pb.js";
import type { Cancellation } from "../../core/cancellation.js";
import { A2AError, taskNotFound } from "../../core/error.js";
import { nextRound } from "../../core/rounds.js";
import { isTerminal } from "../../task/state.js";
import type { TaskLog } from "../task-log.js";

/** What a cursor needs of the engine. */
export interface CursorSource {
  readonly log: TaskLog;
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

/**
 * Reads a task's log from a position on: what is stored, then what comes. The reader owns its position; there is no
 * queue for it anywhere, so a slow one costs no memory and misses nothing.
 *
 * It ends after a terminal entry (specification 3.1.2), or when a turn is over and the task waits for the client
 * (section 11.7; the same in every binding). It stays open while an execution lives, in AUTH_REQUIRED too (7.6.1).
 * It ends early, without an error, when the client cancels.
 *
 * @param hasStarted whether the turn that is to be over has begun before; otherwise a task at rest is waited for
 */
export async function* readLog(
  source: CursorSource,
  after: number,
  client: Cancellation,
  hasStarted = false,
): AsyncGenerator<LogEntry, void, undefined> {
  const { log } = source;
  let position = after;
  // Not `busy`: an execution that has just paused its task is not over for a moment, and would end a new reader.
  let active = hasStarted;
  const waiter = new LogWaiter(log, client);
  try {
    while (!client.canceled) {
      const entries = log.tail.after(position) ?? (await readStore(source, position));
      for (const entry of entries) {
        position = entry.position;
        yield entry;
        if (entry.event.case === "status" && isTerminal(entry.event.value.status?.state ?? 0)) return;
      }
      if (entries.length > 0) active = true;
      if (position < log.fold.position) {
        // Retention has removed a task that this reader still holds: nothing more will ever come of it.
        if (entries.length === 0 && (await isGone(source))) throw taskNotFound(log.taskId);
        continue;
      }
      if (isTerminal(log.fold.state)) return;
      if (active && log.atRest) return;
      if (source.draining()) throw drained(log);
      await waiter.next();
    }
  } finally {
    waiter.end();
  }
}

async function isGone({ log }: CursorSource): Promise<boolean> {
  const gone = !(await log.isStored());
  // The event loop goes on before the store is asked again, whatever its answer.
  if (!gone) await nextRound();
  return gone;
}

async function readStore({ log }: CursorSource, after: number): Promise<readonly LogEntry[]> {
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
  #forget: () => void = () => {};
  #resolve: () => void = () => {};

  constructor(log: TaskLog, client: Cancellation) {
    this.#log = log;
    this.#client = client;
    this.#stay = client.onCancel(() => this.#resolve());
  }

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#forget = this.#log.onChange(resolve);
      if (this.#client.canceled) resolve();
    });
  }

  end(): void {
    this.#forget();
    this.#stay();
  }
}

/** How long a wait may last. */
export interface WaitOptions {
  readonly client: Cancellation;
  /** Milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Waits until `done` holds, the client cancels, or the time is up.
 * @returns whether it holds
 * @throws A2AError when the server closes first
 */
export async function waitFor(source: CursorSource, done: () => boolean, options: WaitOptions): Promise<boolean> {
  if (done()) return true;
  const waiter = new LogWaiter(source.log, options.client);
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    source.log.wake();
  }, options.timeoutMs);
  try {
    while (!done()) {
      if (late || options.client.canceled) return false;
      if (source.closing() || source.log.turns.isLetGo) throw drained(source.log);
      await waiter.next();
    }
    return true;
  } finally {
    clearTimeout(timer);
    waiter.end();
  }
}
