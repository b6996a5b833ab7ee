import { givenUp, orAborted } from "../retry.js";
import type { Update } from "../update.js";

/** A stream that the user of a chat may stop. */
export interface Stoppable {
  /** Begins the stream; the signal ends its call. */
  readonly open: (signal: AbortSignal) => AsyncIterable<Update>;
  /** Stops it. */
  readonly signal: AbortSignal;
  /** Cancels the task of a stream that was stopped. */
  readonly cancel: (taskId: string) => Promise<unknown>;
}

/**
 * The updates of a stream, until it is stopped: it then fails with CANCELLED at once, and its task is canceled as soon as the first
 * update names it.
 */
export async function* untilStopped({ open, signal, cancel }: Stoppable): AsyncGenerator<Update, void, undefined> {
  if (signal.aborted) throw givenUp(signal);
  const call = new AbortController();
  const updates = open(call.signal)[Symbol.asyncIterator]();
  const first = updates.next();
  const stop = async (): Promise<void> => {
    try {
      const { value } = await first;
      call.abort();
      await Promise.all([value?.task && cancel(value.task.id), updates.return?.()]);
    } catch {
      // The stream failed, or its task cannot be canceled: nobody waits for either any more.
    }
  };
  signal.addEventListener("abort", stop, { once: true });
  try {
    for (let next = first; ; next = updates.next()) {
      const { done, value } = await orAborted(next, signal);
      if (done === true) return;
      yield value;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    if (!signal.aborted) await updates.return?.();
  }
}
