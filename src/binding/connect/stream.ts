import { orAborted } from "../../core/async.js";
import type { Call } from "../../core/call.js";
import { type InvocationResult, isStream } from "../../service/invoke.js";

/**
 * Returns the answer of a call, unless the signal aborts first. A stream that arrives later is closed at once, because
 * the service counts it as open until then.
 */
export async function answerUnlessAborted(
  signal: AbortSignal,
  answer: Promise<InvocationResult>,
  call: Call,
): Promise<InvocationResult> {
  try {
    return await orAborted(answer, signal);
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
 * Yields the messages until the signal aborts. Then it calls `return()` of the iterable at once, and the pending
 * `next()` rejects with the reason. Connect pulls at the client's pace and never resumes if the client leaves during a
 * pending write; the iterable would then stay open.
 *
 * @param form converts each message to the yielded value
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
      let next: IteratorResult<T> | undefined = await orAborted(iterator.next(), signal);
      if (next.done === true) break;
      const formed = form(next.value);
      // A waiting stream must not keep its last message in memory.
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
  // No caller is left to handle an error of the iterable's cleanup.
  Promise.resolve(iterator.return?.()).catch(() => {});
}
