import type { A2AError } from "../core/error.js";
import type { Backoff } from "./core.js";
import type { Lifetime } from "./lifetime.js";
import { isPassing } from "./retry.js";

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
