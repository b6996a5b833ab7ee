import { Waiters } from "../core/async.js";
import { A2AError } from "../core/error.js";
import { TransientSet } from "../core/maps.js";

/** Progress of an engine's shutdown. */
export class Shutdown {
  #draining = false;
  #closing = false;
  /** Number of waiting calls that began before the drain, without direct calls. */
  #waiting = 0;
  readonly #settled = new Waiters();

  /** True once new calls are rejected. Streams then end with an error that invites clients to resume. */
  get draining(): boolean {
    return this.#draining;
  }

  /** True once the grace period of running work is over. Calls that wait for it end as well. */
  get closing(): boolean {
    return this.#closing;
  }

  /** @throws A2AError UNAVAILABLE once new calls are rejected */
  checkOpen(): void {
    if (this.#draining) throw shuttingDown();
  }

  /**
   * Waits for work in a call that began before the drain. The drain waits for the call as well.
   *
   * @throws the error of the work; A2AError UNAVAILABLE if the grace period is over when the work is done
   */
  async inGrace<T>(work: Promise<T>): Promise<T> {
    this.#waiting++;
    try {
      const result = await work;
      if (this.#closing) throw shuttingDown();
      return result;
    } finally {
      if (--this.#waiting === 0) this.#settled.release();
    }
  }

  /** Resolves when no call waits in `inGrace`. Returns undefined if no call waits there now. */
  settled(): Promise<void> | undefined {
    return this.#waiting === 0 ? undefined : this.#settled.wait();
  }

  drain(): void {
    this.#draining = true;
  }

  close(): void {
    this.#draining = true;
    this.#closing = true;
  }
}

/** Returns the error for calls that arrive or wait during shutdown. */
export function shuttingDown(): A2AError {
  return new A2AError("UNAVAILABLE", "The server is shutting down.", { retryAfterMs: 1_000 });
}

/** A call that waits for an agent without a task, so that no execution tracks it. */
export interface DirectCall {
  /** Aborts the agent's signal because the server shuts down. */
  stop(): void;
  /** Answers the caller with an error if its agent did not stop. */
  refuse(error: A2AError): void;
}

/** Open calls that wait for a direct reply, for the deciding first event, or for `accept`. Shutdown waits for them. */
export class DirectCalls {
  readonly #open = new TransientSet<DirectCall>();
  readonly #closing = new Waiters();

  begin(call: DirectCall): void {
    this.#open.add(call);
  }

  /** Does nothing for a call that did not begin. */
  end(call: DirectCall): void {
    if (this.#open.delete(call) && this.#open.size === 0) this.#closing.release();
  }

  /** Resolves when no call is open; undefined if none is. Called only by shutdown, after new calls are rejected. */
  none(): Promise<void> | undefined {
    return this.#open.size === 0 ? undefined : this.#closing.wait();
  }

  stop(): void {
    for (const call of this.#open.values()) call.stop();
  }

  /** Rejects the remaining calls, each with its own error, created only if needed (see core/lazy.ts). */
  refuse(error: () => A2AError): void {
    for (const call of this.#open.values()) call.refuse(error());
  }
}
