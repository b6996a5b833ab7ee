import { A2AError } from "./error.js";
import { callAll } from "./event-loop.js";

/** Returns true for a thenable, including promises of other libraries and other realms. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}

/**
 * Returns a synchronous result of an author's function. A promise counts as undefined, and its rejection is ignored.
 */
export function notPromised(value: unknown): unknown {
  if (!isPromiseLike(value)) return value;
  value.then(undefined, () => {});
  return undefined;
}

/**
 * Notifies of the client's departure. An AbortSignal does the same, but takes several microseconds to create and
 * collect, a cost for every call that waits for its task.
 */
export interface Cancellation {
  /** True if the client is gone or its deadline has passed. */
  readonly canceled: boolean;
  /** Calls back when the client leaves, or at once if it is gone. Returns a function that removes the callback. */
  onCancel(callback: () => void): () => void;
}

/** A client that never leaves. */
export const neverCanceled: Cancellation = { canceled: false, onCancel: () => ignore };

/** Adapts an AbortSignal to a Cancellation. */
export function cancellationOf(signal: AbortSignal): Cancellation {
  return {
    get canceled() {
      return signal.aborted;
    },
    onCancel(callback) {
      if (signal.aborted) callback();
      else signal.addEventListener("abort", callback, { once: true });
      return () => signal.removeEventListener("abort", callback);
    },
  };
}

/** A Cancellation with an AbortSignal that is created on first access, because most calls never need one. */
export class LazyAbortController implements Cancellation {
  #controller: AbortController | undefined;
  #callbacks: Set<() => void> | undefined;
  #isCanceled = false;

  get canceled(): boolean {
    return this.#isCanceled;
  }

  /** Abort reason of the signal. Undefined is the default of `AbortController.abort()`. */
  get reason(): unknown {
    return undefined;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isCanceled) this.#controller.abort(this.reason);
    }
    return this.#controller.signal;
  }

  onCancel(callback: () => void): () => void {
    if (this.#isCanceled) callback();
    else {
      this.#callbacks ??= new Set();
      this.#callbacks.add(callback);
    }
    return () => this.#callbacks?.delete(callback);
  }

  /** Fires the signal and calls the callbacks. Has no effect the second time. */
  cancel(): void {
    if (this.#isCanceled) return;
    this.#isCanceled = true;
    this.#controller?.abort(this.reason);
    if (this.#callbacks !== undefined) callAll(this.#callbacks);
  }
}

/**
 * Abort reason used after normal completion, when no listener is left. `abort()` without a reason creates an error with
 * its stack each time, which costs more than all listeners.
 */
export const completionReason: Error = /* @__PURE__ */ Object.assign(new Error("It is over."), { name: "AbortError" });

/** Exists in Node.js only. Node.js 20 warns about more than ten listeners. */
const setMaxListeners = globalThis.process?.getBuiltinModule?.("events")?.setMaxListeners;

/** Lets any number of listeners wait for one signal. */
export function share(signal: AbortSignal): void {
  setMaxListeners?.(0, signal);
}

/** Conditions that end a wait early. */
interface WaitBounds<T> {
  /** The wait fails with CANCELLED when this client leaves. */
  readonly cancellation?: Cancellation;
  /** Ends the wait after `ms` milliseconds, with this error or result. The timer does not keep the process alive. */
  readonly timeout?: { readonly ms: number } & ({ readonly error: () => Error } | { readonly result: () => T });
}

/**
 * Waits for a promise within bounds. The work continues after them, and its result is dropped.
 *
 * @throws the error of the work or of the first bound that is exceeded
 */
export function bounded<T>(work: Promise<T>, bounds: WaitBounds<T>): Promise<T> {
  const begin: BeginWait<T> = (resolve, reject) => {
    work.then(resolve, reject);
    return ignore;
  };
  return boundedCall(begin, bounds);
}

/** Registers the functions that end a wait. Returns a function that removes them, which is called when it ends. */
type BeginWait<T> = (resolve: (value: T) => void, reject: (error: unknown) => void) => () => void;

/** Waits for the first call of one of the functions that `begin` registers, within bounds if there are any. */
export function boundedCall<T>(begin: BeginWait<T>, { cancellation, timeout }: WaitBounds<T> = {}): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    let end = ignore;
    let forget = ignore;
    const over = (): void => {
      clearTimeout(timer);
      forget();
      end();
    };
    const fail = (error: unknown): void => {
      over();
      reject(error);
    };
    const succeed = (value: T): void => {
      over();
      resolve(value);
    };
    end = begin(succeed, fail);
    if (timeout !== undefined) {
      const onTimeout = (): void => ("error" in timeout ? fail(timeout.error()) : succeed(timeout.result()));
      timer = background(setTimeout(onTimeout, timeout.ms));
    }
    if (cancellation === undefined) return;
    forget = cancellation.onCancel(() => fail(new A2AError("CANCELLED", "The client went away.")));
  });
}

/** Ignores a result, an error or an event. */
export function ignore(): void {}

/**
 * Waits for work, or until the signal fires. The work continues after that.
 *
 * @param reason makes the error of an abort; default: the reason of the signal
 */
export function orAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  reason: () => unknown = () => signal.reason,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(reason());
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Returns a function that does the work on its first call, and again on the next call after a failure. */
export function onceDone<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined;
  return () => {
    if (done === undefined) {
      done = work();
      done.catch(() => {
        done = undefined;
      });
    }
    return done;
  };
}

/**
 * Waits for work, at most the given milliseconds. The work continues after the timeout.
 *
 * @returns true if the work has ended
 * @throws the error of the work, if it fails in time
 */
export async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  try {
    return await Promise.race([work.then(() => true), timedOut]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Waits the given milliseconds, or until the signal fires. It resolves in both cases, so the caller checks the signal.
 *
 * @param isBackground true to let the process end meanwhile
 */
export async function pause(ms: number, signal: AbortSignal | undefined, isBackground?: true): Promise<void> {
  if (signal?.aborted === true) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    if (isBackground) background(timer);
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** Enough doublings to reach every limit. */
const MAX_DOUBLINGS = 30;

/** Bounds of a backoff. */
interface BackoffBounds {
  /** Maximum delay after the first failure, in milliseconds; doubled after each further one. */
  readonly firstMs: number;
  readonly maxMs: number;
  /**
   * Random share of the delay, from 0 to 1. Default: 1 (full jitter), so that callers that failed together do not retry
   * together.
   */
  readonly jitter?: number;
}

/**
 * Returns the delay after a failure, in milliseconds: exponential backoff with jitter.
 *
 * @param failures number of failures in a row, 1 or more
 */
export function backoffMs(failures: number, { firstMs, maxMs, jitter = 1 }: BackoffBounds): number {
  const ceiling = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, MAX_DOUBLINGS));
  return ceiling * (1 - jitter + jitter * Math.random());
}

/** Lets the process end while this timer is pending. In some runtimes timers are numbers, which keep nothing alive. */
export function background(timer: NodeJS.Timeout): NodeJS.Timeout {
  timer.unref?.();
  return timer;
}

/** Bounds the work in progress. Work waits in a queue until it fits; work larger than the bound runs alone. */
export class Semaphore {
  readonly #most: number;
  #held = 0;
  readonly #line: { readonly amount: number; readonly begin: () => void }[] = [];

  /** @param most the bound, in bytes or calls */
  constructor(most: number) {
    this.#most = most;
  }

  /** True while work waits in the queue. */
  get isCrowded(): boolean {
    return this.#line.length > 0;
  }

  /**
   * Acquires the given amount. @returns undefined if acquired immediately, otherwise a promise that resolves once
   * acquired
   */
  acquire(amount: number): Promise<void> | undefined {
    if (this.#line.length === 0 && this.#fits(amount)) {
      this.#held += amount;
      return undefined;
    }
    return new Promise((begin) => this.#line.push({ amount, begin }));
  }

  /** Releases the amount and starts the waiting work that fits now. */
  release(amount: number): void {
    this.#held -= amount;
    for (let next = this.#line[0]; next !== undefined && this.#fits(next.amount); next = this.#line[0]) {
      this.#line.shift();
      this.#held += next.amount;
      next.begin();
    }
  }

  #fits(amount: number): boolean {
    return this.#held === 0 || this.#held + amount <= this.#most;
  }
}

/** Callers that wait for the same event. */
export class Waiters {
  /** Created with the first caller, because each task has several `Waiters`, mostly without callers. */
  #waiting: (() => void)[] | undefined;

  /** Resolves at the next `release`. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting ??= [];
      this.#waiting.push(resolve);
    });
  }

  /** Lets all callers that wait continue. */
  release(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    for (const resolve of waiting) resolve();
  }
}
