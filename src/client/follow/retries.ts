import { over } from "../../core/cancellation.js";
import { A2AError } from "../../core/error.js";
import type { Backoff } from "../calls/core.js";
import type { Lifetime } from "../calls/lifetime.js";
import { isPassing } from "../calls/retry.js";

/** A server that is there and fails gets so many attempts without progress. */
const FAULTS = 5;

/** When a call whose connection was cut is tried again: at random, up to a time that doubles, from the last progress on. */
export class Retries {
  readonly #backoff: Backoff;
  readonly #life: Lifetime;
  #failures = 0;
  #firstAt = 0;
  #connectedAt: number | undefined;

  constructor(backoff: Backoff, life: Lifetime) {
    this.#backoff = backoff;
    this.#life = life;
  }

  /** Something new came: failures are counted from here. */
  reset(): void {
    this.#failures = 0;
  }

  /** There is a connection: if it lasts, failures are counted from its end. */
  connected(): void {
    this.#connectedAt = performance.now();
  }

  /**
   * Waits for the next attempt; the server's own wish counts where it is longer.
   * @throws the failure, when the attempts have taken as long as they may, or the server asks for more time than it gets
   */
  async wait(failure: A2AError): Promise<void> {
    const { firstMs, maxMs, maxElapsedMs, maxRetryAfterMs } = this.#backoff;
    const now = performance.now();
    if (this.#connectedAt !== undefined && now - this.#connectedAt > maxMs) this.#failures = 0;
    this.#connectedAt = undefined;
    if (this.#failures === 0) this.#firstAt = now;
    const most = Math.min(maxMs, firstMs * 2 ** Math.min(this.#failures, 30));
    this.#failures++;
    const { retryAfterMs = 0 } = failure;
    if (retryAfterMs > maxRetryAfterMs) throw failure;
    const delay = Math.max(most * (0.5 + Math.random() / 2), retryAfterMs);
    if (this.#failures > FAULTS && !isPassing(failure)) throw failure;
    if (now - this.#firstAt + delay > maxElapsedMs) throw failure;
    await this.#life.pause(delay);
    this.#life.check();
  }
}

/** One connection of a call that may have several: ends when the call does, when it stalls, or when nobody wants it any more. */
export class Attempt {
  readonly #controller: AbortController = new AbortController();
  readonly #life: Lifetime;
  readonly #stallMs: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isStalled = false;
  readonly #stop = (): void => this.#controller.abort();
  readonly #stall = (): void => {
    this.#isStalled = true;
    // Connections that hear of a deadline look whether they are alive.
    this.#controller.abort(new A2AError("DEADLINE_EXCEEDED", "Nothing came on the connection for too long."));
  };

  /** @param stallMs counts as cut when nothing comes for so long while something is waited for; undefined for never */
  constructor(life: Lifetime, stallMs: number | undefined) {
    this.#life = life;
    this.#stallMs = stallMs;
    if (life.isOver) this.#stop();
    else life.signal.addEventListener("abort", this.#stop, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** It ended because nothing came. */
  get isStalled(): boolean {
    return this.#isStalled;
  }

  /** The next of a stream that was opened with this attempt's signal. */
  async next<T>(iterator: AsyncIterator<T>, mostMs: number | undefined = this.#stallMs): Promise<IteratorResult<T>> {
    if (mostMs === undefined) return iterator.next();
    this.#timer = setTimeout(this.#stall, mostMs);
    try {
      return await iterator.next();
    } finally {
      clearTimeout(this.#timer);
    }
  }

  /** Closes the connection's stream, whatever is on its way. */
  end(): void {
    this.#life.signal.removeEventListener("abort", this.#stop);
    this.#controller.abort(over);
  }
}
