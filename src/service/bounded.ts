import { background } from "../core/background.js";
import type { Cancellation } from "../core/cancellation.js";
import { A2AError } from "../core/error.js";

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
