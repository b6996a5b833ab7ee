import { background } from "./background.js";
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
