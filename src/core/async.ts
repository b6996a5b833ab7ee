import type { Cancellation } from "./cancellation.js";
import { A2AError } from "./error.js";

/** Whether a function answered later: promises of other libraries, and of other realms, count as well. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}

/** What an author's function answered, where it may not answer by a promise: what becomes of one is of no interest. */
export function notPromised(value: unknown): unknown {
  if (!isPromiseLike(value)) return value;
  value.then(undefined, () => {});
  return undefined;
}

/**
 * Waits for what a function of the author's promises: for so long at most, and no longer than the client does. The function goes
 * on by itself then, and what comes of it is dropped.
 *
 * @throws A2AError CANCELLED when the client leaves, what `late` makes when the time is up, and what the work throws before.
 */
export function bounded<T>(
  work: Promise<T>,
  { cancellation }: { readonly cancellation: Cancellation },
  ms: number,
  late: () => A2AError,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = background(setTimeout(() => fail(late()), ms));
    let forget = (): void => {};
    const fail = (error: unknown): void => {
      clearTimeout(timer);
      forget();
      reject(error);
    };
    forget = cancellation.onCancel(() => fail(new A2AError("CANCELLED", "The client went away.")));
    work.then((value) => {
      clearTimeout(timer);
      forget();
      resolve(value);
    }, fail);
  });
}

/**
 * Waits for work, for so many milliseconds at most; it goes on by itself then.
 *
 * @returns whether it is over.
 * @throws what the work throws in that time.
 */
export async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits so many milliseconds, or until a signal fires: then it ends at once, and whoever waits looks at the signal. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted === true) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
  });
}

/**
 * The whole stream again, of which the first item was taken. No generator: one that waits for its next item would hold `return()` back
 * until that has come.
 */
export function withFirst<T>(first: IteratorResult<T>, rest: AsyncIterator<T>): AsyncIterable<T> {
  let head: IteratorResult<T> | undefined = first;
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const result = head ?? (await rest.next());
        head = undefined;
        return result;
      },
      return: async () => (await rest.return?.()) ?? { done: true, value: undefined },
    }),
  };
}

/** Lets a process end although this timer waits. Timers of some runtimes are numbers, and keep nothing alive. */
export function background(timer: NodeJS.Timeout): NodeJS.Timeout {
  timer.unref?.();
  return timer;
}

/** Bounds the work under way. Work without room waits in line; work that needs more than the whole room goes alone. */
export class Room {
  readonly #most: number;
  #held = 0;
  readonly #line: { readonly amount: number; readonly begin: () => void }[] = [];

  /** @param most the size of the room, in bytes or calls */
  constructor(most: number) {
    this.#most = most;
  }

  /** True while something waits. */
  get isCrowded(): boolean {
    return this.#line.length > 0;
  }

  /** Takes so much room. @returns undefined where there is room at once, else a promise that resolves when there is */
  acquire(amount: number): Promise<void> | undefined {
    if (this.#line.length === 0 && this.#hasRoom(amount)) {
      this.#held += amount;
      return undefined;
    }
    return new Promise((begin) => this.#line.push({ amount, begin }));
  }

  /** Gives it back. */
  release(amount: number): void {
    this.#held -= amount;
    for (let next = this.#line[0]; next !== undefined && this.#hasRoom(next.amount); next = this.#line[0]) {
      this.#line.shift();
      this.#held += next.amount;
      next.begin();
    }
  }

  #hasRoom(amount: number): boolean {
    return this.#held === 0 || this.#held + amount <= this.#most;
  }
}
