import { completionReason, share } from "../../core/async.js";
import { A2AError } from "../../core/error.js";
import { mapStream } from "../../core/map-stream.js";
import { MAX_TIMEOUT_MS } from "../../wire/service-params.js";
import { clientError } from "../errors/errors.js";
import type { CallOptions } from "./call-options.js";
import { givenUp, pause } from "./retry-delay.js";
import type { StopSignal } from "./stop-signal.js";

/** The scope of a call: until its caller aborts it, its deadline passes, or it ends. */
export class CallScope implements StopSignal {
  readonly #outer: AbortSignal | undefined;
  readonly #timeoutMs: number;
  readonly #timeoutMessage: string | undefined;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  #isStopped = false;
  #reason: unknown;
  #listeners: readonly (() => void)[] = [];
  #controller: AbortController | undefined;

  /**
   * @param timeoutMs undefined, 0 or negative for no deadline
   * @param timeoutMessage message of the error of a passed deadline, if it is not about one answer
   */
  constructor(outer: AbortSignal | undefined, timeoutMs = 0, timeoutMessage?: string) {
    this.#outer = outer;
    this.#timeoutMs = timeoutMs;
    this.#timeoutMessage = timeoutMessage;
    if (outer !== undefined) {
      share(outer);
      if (outer.aborted) this.stop(outer.reason);
      outer.addEventListener("abort", this.#onAbort);
    }
    if (timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS) this.#timer = setTimeout(CallScope.#onTimeout, timeoutMs, this);
  }

  get aborted(): boolean {
    return this.#isStopped;
  }

  get reason(): unknown {
    return this.#reason;
  }

  addEventListener(_: "abort", listener: () => void): void {
    this.#listeners = [...this.#listeners, listener];
  }

  removeEventListener(_: "abort", listener: () => void): void {
    this.#listeners = this.#listeners.filter((each) => each !== listener);
  }

  /** The same as an AbortSignal, created on demand. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isStopped) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Removes its timer and listener. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#onAbort);
  }

  /** Ends it, and fires its signal, which closes a stream that is still open. */
  close(): void {
    this.end();
    this.stop(completionReason);
  }

  /** @throws A2AError CANCELLED or DEADLINE_EXCEEDED if it was stopped */
  check(): void {
    if (this.aborted) throw this.failure();
  }

  /** Returns the error that says how it was stopped. */
  failure(): A2AError {
    return givenUp(this);
  }

  /** Waits. @throws A2AError CANCELLED or DEADLINE_EXCEEDED as soon as it is stopped */
  pause(ms: number): Promise<void> {
    return pause(ms, this.signal);
  }

  /** Converts the error of a call. An aborted call gets the error of its abort, whatever followed. */
  errorOf(error: unknown): A2AError {
    return this.aborted ? this.failure() : clientError(error);
  }

  /** Bounds a stream's messages by this scope, which ends with them. */
  during<M>(messages: AsyncIterable<M>): AsyncIterable<M> {
    return mapStream(messages, {
      item: (message) => {
        if (this.aborted) throw this.reason;
        return message;
      },
      failed: (error) => this.errorOf(error),
      end: () => this.close(),
    });
  }

  readonly #onAbort = (): void => this.stop(this.#outer?.reason);

  /** Ends the call with the reason; the first one is kept. */
  stop(reason: unknown): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    for (const listener of this.#listeners) listener();
  }

  static #onTimeout(this: void, scope: CallScope): void {
    const message = scope.#timeoutMessage ?? `There was no answer within ${scope.#timeoutMs} ms.`;
    scope.stop(new A2AError("DEADLINE_EXCEEDED", message));
  }
}

/** Returns the scope of a call with several attempts. */
export function callScopeOf({ signal, timeoutMs }: CallOptions): CallScope {
  return new CallScope(signal, timeoutMs, "The call did not end in time; the work that it started continues.");
}

/** Returns options for the rest of a call that began at `startedAt`, by `performance.now()`. */
export function since<T extends CallOptions>(startedAt: number, options: T): T {
  const { timeoutMs = 0 } = options;
  if (timeoutMs <= 0) return options;
  return { ...options, timeoutMs: Math.max(1, Math.ceil(startedAt + timeoutMs - performance.now())) };
}
