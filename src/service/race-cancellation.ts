import type { Cancellation } from "../core/cancellation.js";
import { type Deferred, defer } from "../core/defer.js";
import { A2AError } from "../core/error.js";
import type { SendResult } from "../engine/engine.js";

/**
 * The result of a send, or an error as soon as its client goes away: an agent that ignores its signal would otherwise keep
 * the call open for no one. A task that is created all the same continues.
 *
 * @throws A2AError with reason CANCELLED when the client has gone away.
 */
export function raceCancellation(client: Cancellation, sending: Promise<SendResult>): Promise<SendResult> {
  return new Promise((resolve, reject) => {
    const watch = new CancellationWatch(client, reject);
    defer(watch);
    const answered = (sent: SendResult): void => {
      watch.end();
      if (!watch.isCanceled) resolve(sent);
      else if (sent.kind === "task") sent.task.release();
    };
    sending.then(answered, (error) => {
      watch.end();
      reject(error);
    });
  });
}

/** Listens for the cancellation from the next event-loop turn on: most agents that answer directly have answered by then. */
class CancellationWatch implements Deferred {
  isCanceled = false;
  readonly #client: Cancellation;
  readonly #reject: (error: unknown) => void;
  #isOver = false;
  #removeListener: (() => void) | undefined;

  constructor(client: Cancellation, reject: (error: unknown) => void) {
    this.#client = client;
    this.#reject = reject;
  }

  run(): void {
    if (this.#isOver) return;
    this.#removeListener = this.#client.onCancel(() => {
      this.isCanceled = true;
      this.#reject(new A2AError("CANCELLED", "The client went away before the agent answered."));
    });
  }

  failed(error: unknown): void {
    this.#reject(error);
  }

  end(): void {
    this.#isOver = true;
    this.#removeListener?.();
  }
}
