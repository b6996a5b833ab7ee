import type { CallOptions } from "./call-options.js";
import { Lifetime, since } from "./lifetime.js";
import { orAborted } from "./retry.js";

/**
 * The message of a conversation whose answer names its context, which a client is not to make up (specification 3.4.1). Others wait for
 * that: each without a context would begin one of its own.
 */
export class FirstMessage {
  #waited: Promise<void> | undefined;

  /**
   * Waits while the first message is on its way.
   * @param isKnown whether nothing is to be waited for
   * @returns a function to call when the answer has come or the message has failed; the next message may then be the first
   * @throws A2AError CANCELLED or DEADLINE_EXCEEDED where the caller's own time is over before
   */
  async turn(isKnown: () => boolean, options: CallOptions): Promise<() => void> {
    const startedAt = performance.now();
    while (this.#waited !== undefined && !isKnown()) await until(this.#waited, since(startedAt, options));
    if (isKnown()) return () => {};
    let answered = (): void => {};
    this.#waited = new Promise((resolve) => {
      answered = resolve;
    });
    return () => {
      this.#waited = undefined;
      answered();
    };
  }
}

/** Waits for an event, for as long as a call with these options may take. */
async function until(event: Promise<void>, options: CallOptions): Promise<void> {
  const life = new Lifetime(options);
  try {
    await orAborted(event, life.signal);
  } finally {
    life.end();
  }
}
