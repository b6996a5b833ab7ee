import { background } from "./background.js";
import type { Cancellation } from "./cancellation.js";

/** The longest time of a timer, in milliseconds. */
const MAX_MS = 2 ** 31 - 1;

/** A cancellation that also comes when a time is up. `end` has to be called. */
export class Expiry implements Cancellation {
  readonly #client: Cancellation;
  readonly #callbacks = new Set<() => void>();
  readonly #timer: NodeJS.Timeout | undefined;
  #hasPassed = false;

  constructor(client: Cancellation, ms: number) {
    this.#client = client;
    // What is so far away ends with its connection.
    if (ms <= MAX_MS) this.#timer = background(setTimeout(() => this.#pass(), Math.max(0, ms)));
  }

  /** Whether the time is up; otherwise it is the client that has left, if it has. */
  get hasPassed(): boolean {
    return this.#hasPassed;
  }

  get canceled(): boolean {
    return this.#hasPassed || this.#client.canceled;
  }

  onCancel(callback: () => void): () => void {
    if (this.#hasPassed) {
      callback();
      return () => {};
    }
    this.#callbacks.add(callback);
    const forget = this.#client.onCancel(callback);
    return () => {
      this.#callbacks.delete(callback);
      forget();
    };
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #pass(): void {
    this.#hasPassed = true;
    for (const callback of [...this.#callbacks]) callback();
  }
}
