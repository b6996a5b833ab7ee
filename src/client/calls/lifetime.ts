import { pause } from "../../core/async.js";
import { A2AError } from "../../core/error.js";
import { MAX_TIMEOUT_MS } from "../../wire/service-params.js";
import type { CallOptions } from "./call-options.js";
import { givenUp } from "./retry.js";
import { share } from "./stop.js";

/** Limits a call with several attempts: it ends when its caller aborts it or its timeout expires. */
export class Lifetime {
  readonly #signal: AbortSignal | undefined;
  readonly #controller: AbortController = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #stop = (): void => this.#controller.abort(this.#signal?.reason);

  constructor({ signal, timeoutMs }: CallOptions) {
    this.#signal = signal;
    if (signal !== undefined) share(signal);
    if (signal?.aborted === true) this.#stop();
    else signal?.addEventListener("abort", this.#stop, { once: true });
    if (timeoutMs === undefined || timeoutMs <= 0 || timeoutMs > MAX_TIMEOUT_MS) return;
    this.#timer = setTimeout(() => this.#controller.abort(late()), timeoutMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isOver(): boolean {
    return this.#controller.signal.aborted;
  }

  /** @throws A2AError CANCELLED or DEADLINE_EXCEEDED after the end */
  check(): void {
    if (this.isOver) throw this.failure();
  }

  /** Returns the error that says how it ended. */
  failure(): A2AError {
    return givenUp(this.#controller.signal);
  }

  /** Waits for a time, or until the end. */
  async pause(ms: number): Promise<void> {
    if (!this.isOver) await pause(ms, this.#controller.signal);
  }

  /** Releases the caller's signal and the timer. */
  end(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener("abort", this.#stop);
  }
}

const late = (): A2AError => new A2AError("DEADLINE_EXCEEDED", "The call did not end in time; what it began goes on.");

/** Returns options for the rest of a call that began at `startedAt`, by `performance.now()`. */
export function since<T extends CallOptions>(startedAt: number, options: T): T {
  const { timeoutMs = 0 } = options;
  if (timeoutMs <= 0) return options;
  return { ...options, timeoutMs: Math.max(1, Math.ceil(startedAt + timeoutMs - performance.now())) };
}
