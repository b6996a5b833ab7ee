/**
 * Calls back in the next turn of the event loop. Browsers have no `setImmediate`; there a message channel replaces it.
 */
export const runNextTurn: (run: () => void) => void =
  typeof setImmediate === "function" ? (run) => void setImmediate(run) : byChannel();

/** Continues in the next turn of the event loop, so that other work can run first. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => runNextTurn(resolve));
}

/** Yields to the event loop during long work. */
export class Slices {
  readonly #ms: number;
  #begin: number = performance.now();

  /** @param ms time for which the work may block the event loop, in milliseconds */
  constructor(ms: number) {
    this.#ms = ms;
  }

  /** True if the work has blocked the event loop for longer. */
  get isLong(): boolean {
    return performance.now() - this.#begin > this.#ms;
  }

  /** Yields to the event loop if `isLong`. */
  async pause(): Promise<void> {
    if (!this.isLong) return;
    await yieldToEventLoop();
    this.#begin = performance.now();
  }
}

const alone: (() => void)[] = [];

/** Runs work that takes milliseconds in a turn of the event loop without any other such work. */
export function runInOwnTurn(run: () => void): void {
  if (alone.push(run) === 1) runNextTurn(runFirst);
}

function runFirst(): void {
  const run = alone.shift();
  if (alone.length > 0) runNextTurn(runFirst);
  run?.();
}

/** Each message of a channel has a turn of its own. A browser's nested timers wait at least four milliseconds. */
function byChannel(): (run: () => void) => void {
  let channel: InstanceType<typeof MessageChannel> | undefined;
  const waiting: (() => void)[] = [];
  return (run) => {
    // Created on first use, because some runtimes do not allow it while modules are loaded.
    if (channel === undefined) {
      channel = new MessageChannel();
      // The declared types are Node's ports, which have the web's property as well.
      (channel.port1 as { onmessage?: unknown }).onmessage = () => waiting.shift()?.();
    }
    waiting.push(run);
    channel.port2.postMessage(undefined);
  };
}

/** Work for the next turn of the event loop. */
export interface Deferred {
  run(): void;
  /** Handles an error of `run`, so that it does not affect other work of the turn. Must not throw. */
  failed(error: unknown): void;
}

let waiting: Deferred[] = [];

function runAll(): void {
  const due = waiting;
  waiting = [];
  for (const each of due) {
    try {
      each.run();
    } catch (error) {
      failDeferred(each, error);
    }
  }
}

function failDeferred(one: Deferred, error: unknown): void {
  try {
    one.failed(error);
  } catch (second) {
    // The error has no other handler, and the other work of the turn must still run.
    reportThrown(second);
  }
}

/**
 * Calls `run` in the next turn of the event loop, after the work that runs now. All work of a turn shares one timer,
 * which is cheaper than one each. It is passed as objects, because a closure that outlives its call costs more garbage
 * collection than all its fields.
 */
export function defer(one: Deferred): void {
  if (waiting.push(one) === 1) runNextTurn(runAll);
}

/**
 * Calls every callback, even if some throw. An exception is reported as a warning of the process, or as an error of the
 * page or worker, because the code that notifies cannot handle it.
 */
export function callAll<A extends readonly unknown[]>(callbacks: Iterable<(...args: A) => void>, ...args: A): void {
  for (const callback of callbacks) {
    try {
      callback(...args);
    } catch (error) {
      reportThrown(error);
    }
  }
}

/** Reports an error that no caller can handle. */
function reportThrown(error: unknown): void {
  const reported = error instanceof Error ? error : new Error("a callback threw a value that is not an Error");
  if (typeof process === "object" && typeof process.emitWarning === "function") process.emitWarning(reported);
  else (globalThis as { reportError?: (error: unknown) => void }).reportError?.(reported);
}
