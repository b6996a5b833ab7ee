import { A2AError } from "../core/error.js";

/** Bytes of requests that are still arriving, over all connections and bindings: what no caller is known for yet. */
export class ByteBudget {
  readonly #max: number;
  #used = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Counts bytes in.
   *
   * @throws A2AError with reason TOO_MANY_REQUESTS where there is no room for them; they are not counted then.
   */
  take(bytes: number): void {
    if (this.#used + bytes > this.#max) {
      const message = `The requests that are arriving exceed ${this.#max} bytes.`;
      throw new A2AError("TOO_MANY_REQUESTS", message, { retryAfterMs: 1_000 });
    }
    this.#used += bytes;
  }

  /** Counts bytes out again. */
  give(bytes: number): void {
    this.#used -= bytes;
  }
}
