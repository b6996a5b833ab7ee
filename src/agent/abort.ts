/**
 * Why a turn was interrupted: its client canceled the task, the server ends, the client of a direct answer is gone,
 * another process took the task over, an event could not be stored, or the task has ended and the agent did not return
 * within `agentCleanupMs`. Nothing more of the turn is stored after the last three.
 */
export type AbortCause = "canceled" | "shutdown" | "disconnected" | "lease-lost" | "store-failed" | "ended";

/** Reason for which a turn's signal fired. */
export class AbortReason extends Error {
  override name = "AbortReason";
  override readonly cause: AbortCause;
  constructor(cause: AbortCause) {
    super(`The execution was interrupted: ${cause}.`);
    this.cause = cause;
  }
}

/** A client that waits for an answer; the signal fires when it goes away, and is made when it is asked for. */
export interface Client {
  readonly signal: AbortSignal;
  /** For how long it waits, in milliseconds since 1970; absent, or Infinity, where it does not say. */
  readonly deadline?: number;
}

/**
 * A signal that is made when it is asked for: most agents never look, and an AbortSignal is expensive to make and to
 * collect.
 */
export class LazyAbortController {
  #controller: AbortController | undefined;
  #followed: Client | undefined;
  #disconnect: (() => void) | undefined;
  #reason: AbortReason | undefined;

  /** @param followed a client whose going away interrupts as well; its signal is asked for when this one is */
  constructor(followed?: Client) {
    this.#followed = followed;
  }

  /** Why it was interrupted, or undefined. */
  get reason(): AbortReason | undefined {
    return this.#reason;
  }

  /** That of the client, as long as it may not go. */
  get deadline(): number {
    return this.#followed?.deadline ?? Number.POSITIVE_INFINITY;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      this.#follow();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Interrupts it; the first reason stays. */
  abort(cause: AbortReason["cause"]): void {
    if (this.#reason !== undefined) return;
    this.#reason = new AbortReason(cause);
    this.#controller?.abort(this.#reason);
  }

  /** From here on the client may go. */
  unfollow(): void {
    if (this.#disconnect !== undefined) this.#followed?.signal.removeEventListener("abort", this.#disconnect);
    this.#followed = undefined;
  }

  #follow(): void {
    if (this.#followed === undefined) return;
    const { signal } = this.#followed;
    this.#disconnect = () => {
      const { reason } = signal;
      this.abort(reason instanceof AbortReason ? reason.cause : "disconnected");
    };
    if (signal.aborted) this.#disconnect();
    else signal.addEventListener("abort", this.#disconnect);
  }
}
