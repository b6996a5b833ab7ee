import { backoffMs } from "../../core/async.js";
import { A2AError } from "../../core/error.js";
import { CallScope } from "../calls/call-scope.js";
import type { Backoff } from "../calls/core.js";
import { isPassing } from "../calls/retry-delay.js";

/** Maximum number of attempts without progress at a reachable server that fails. */
const FAULTS = 5;

/** Schedules reconnects of a call: random backoff up to a time that doubles, counted from the last progress. */
export class RetryState {
  readonly #backoff: Backoff;
  readonly #scope: CallScope;
  #failures = 0;
  #firstAt = 0;
  #connectedAt: number | undefined;

  constructor(backoff: Backoff, scope: CallScope) {
    this.#backoff = backoff;
    this.#scope = scope;
  }

  /** Resets the failures after progress. */
  reset(): void {
    this.#failures = 0;
  }

  /** Notes a connection: if it lasts, failures are counted from its end. */
  connected(): void {
    this.#connectedAt = performance.now();
  }

  /**
   * Waits for the next attempt, at least as long as the server requests.
   * @throws the failure, if the total time is exhausted or the server requests too long a delay
   */
  async wait(failure: A2AError): Promise<void> {
    const { firstMs, maxMs, maxElapsedMs, maxRetryAfterMs } = this.#backoff;
    const now = performance.now();
    if (this.#connectedAt !== undefined && now - this.#connectedAt > maxMs) this.#failures = 0;
    this.#connectedAt = undefined;
    if (this.#failures === 0) this.#firstAt = now;
    this.#failures++;
    const { retryAfterMs = 0 } = failure;
    if (retryAfterMs > maxRetryAfterMs) throw failure;
    const delay = Math.max(backoffMs(this.#failures, { firstMs, maxMs, jitter: 0.5 }), retryAfterMs);
    if (this.#failures > FAULTS && !isPassing(failure)) throw failure;
    if (now - this.#firstAt + delay > maxElapsedMs) throw failure;
    await this.#scope.pause(delay);
  }
}

/**
 * One of a call's connections. It ends with the call, when it stalls, or when the call does not need it any more.
 */
export class StreamConnection extends CallScope {
  readonly #stallMs: number | undefined;
  #isStalled = false;
  readonly #stall = (): void => {
    this.#isStalled = true;
    // DEADLINE_EXCEEDED makes the connection check that it is alive.
    this.stop(new A2AError("DEADLINE_EXCEEDED", "Nothing came on the connection for too long."));
  };

  /** @param stallMs time without an event, while one is awaited, after which it counts as lost; undefined for never */
  constructor(scope: CallScope, stallMs: number | undefined) {
    super(scope.signal);
    this.#stallMs = stallMs;
  }

  /** True if it ended because nothing arrived. */
  get isStalled(): boolean {
    return this.#isStalled;
  }

  /** Returns the next result of a stream that was opened with this attempt's signal. */
  async next<T>(iterator: AsyncIterator<T>, mostMs: number | undefined = this.#stallMs): Promise<IteratorResult<T>> {
    if (mostMs === undefined) return iterator.next();
    const timer = setTimeout(this.#stall, mostMs);
    try {
      return await iterator.next();
    } finally {
      clearTimeout(timer);
    }
  }
}
