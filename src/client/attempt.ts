import { A2AError } from "../core/error.js";
import { over } from "../core/over.js";
import type { Lifetime } from "./lifetime.js";

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
