import type { Call } from "../../core/call.js";
import { type Answer, isStream } from "../../service/invoke.js";

/** Settles as the promise does, or rejects with the signal's reason when it is aborted first. */
export function raceAbort<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/**
 * The answer to a call, unless the signal is aborted first. A stream that comes too late is closed at once:
 * the service counts it as open until then.
 */
export async function answerUnlessAborted(signal: AbortSignal, answer: Promise<Answer>, call: Call): Promise<Answer> {
  try {
    return await raceAbort(signal, answer);
  } catch (error) {
    answer.then(
      (late) => {
        call.written?.();
        if (isStream(late)) closeIterator(late[Symbol.asyncIterator]());
      },
      () => {},
    );
    throw error;
  }
}

/**
 * The same messages, until the signal is aborted: then `return()` of the iterable is called at once, and the pending `next()`
 * rejects with the reason. Connect pulls at the pace of the client, and does not come back when the client
 * is gone while a write waits for it; without this the iterable would be left open for ever.
 *
 * @param form makes the value that is passed on for each message
 */
export async function* untilAborted<T, F>(
  signal: AbortSignal,
  messages: AsyncIterable<T>,
  form: (message: T) => F | Promise<F>,
): AsyncGenerator<F, void, undefined> {
  const iterator = messages[Symbol.asyncIterator]();
  let open = true;
  const stop = (): void => {
    if (open) closeIterator(iterator);
    open = false;
  };
  signal.addEventListener("abort", stop);
  try {
    signal.throwIfAborted();
    for (;;) {
      let next: IteratorResult<T> | undefined = await raceAbort(signal, iterator.next());
      if (next.done === true) break;
      const formed = form(next.value);
      // A stream that waits must not keep its last message in memory.
      next = undefined;
      yield await formed;
    }
    open = false;
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
}

function closeIterator(iterator: AsyncIterator<unknown>): void {
  // No caller is left that could be given an error of the iterable's cleanup.
  Promise.resolve(iterator.return?.()).catch(() => {});
}
