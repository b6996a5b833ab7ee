import { LazyAbortController } from "../core/async.js";

/**
 * Cause of a turn's interruption: its client canceled the task, the server shuts down, the client of a direct reply
 * disconnected, another process took the task over, an event could not be stored, an operator failed the task, or the
 * task has ended and the agent did not return within 30 seconds. After the last four nothing more of the turn is stored.
 */
export type AbortCause = "canceled" | "shutdown" | "disconnected" | "lease-lost" | "store-failed" | "failed" | "ended";

/** Reason for which a turn's signal fired. */
export class AbortReason extends Error {
  override name = "AbortReason";
  override readonly cause: AbortCause;
  constructor(cause: AbortCause) {
    super(`The execution was interrupted: ${cause}.`);
    this.cause = cause;
  }
}

/** A client that waits for an answer. The signal fires when it disconnects, and is created on first access. */
export interface Client {
  readonly signal: AbortSignal;
  /** Time until which it waits, in milliseconds since 1970; absent or Infinity if unknown. */
  readonly deadline?: number;
}

/** The abort controller of a turn. It may follow the client that waits for the turn. */
export class TurnAborter extends LazyAbortController {
  #followed: Client | undefined;
  #onDisconnect: (() => void) | undefined;
  #reason: AbortReason | undefined;

  /** @param followed a client whose disconnect aborts as well; its signal is created together with this one */
  constructor(followed?: Client) {
    super();
    this.#followed = followed;
  }

  override get reason(): AbortReason | undefined {
    return this.#reason;
  }

  /** Deadline of the client while it is followed. */
  get deadline(): number {
    return this.#followed?.deadline ?? Number.POSITIVE_INFINITY;
  }

  override get signal(): AbortSignal {
    this.#follow();
    return super.signal;
  }

  /** Aborts; the first reason is kept. */
  abort(cause: AbortCause): void {
    if (this.#reason !== undefined) return;
    this.#reason = new AbortReason(cause);
    this.cancel();
  }

  /** Stops following the client, which may disconnect from here on. */
  unfollow(): void {
    if (this.#onDisconnect !== undefined) this.#followed?.signal.removeEventListener("abort", this.#onDisconnect);
    this.#followed = undefined;
  }

  #follow(): void {
    if (this.#followed === undefined || this.#onDisconnect !== undefined) return;
    const { signal } = this.#followed;
    this.#onDisconnect = () => {
      const { reason } = signal;
      this.abort(reason instanceof AbortReason ? reason.cause : "disconnected");
    };
    if (signal.aborted) this.#onDisconnect();
    else signal.addEventListener("abort", this.#onDisconnect);
  }
}
