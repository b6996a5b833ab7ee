/** Why a turn's signal fired. */
export class Interruption extends Error {
  override name = "Interruption";
  override readonly cause: "canceled" | "shutdown" | "disconnected";
  constructor(cause: "canceled" | "shutdown" | "disconnected") {
    super(`The execution was interrupted: ${cause}.`);
    this.cause = cause;
  }
}

/**
 * A signal that is made when somebody asks for it: most agents never look, and an AbortSignal is dear to make and to
 * collect.
 */
export class Interruptible {
  #controller: AbortController | undefined;
  #followed: (() => AbortSignal) | undefined;
  /** Why it was interrupted, or undefined. */
  reason: Interruption | undefined;

  /** @param followed signal of a client whose going away interrupts as well; asked for when this one is */
  constructor(followed?: () => AbortSignal) {
    this.#followed = followed;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      this.#follow();
      if (this.reason !== undefined) this.#controller.abort(this.reason);
    }
    return this.#controller.signal;
  }

  /** Interrupts it; the first reason stays. */
  interrupt(cause: Interruption["cause"]): void {
    if (this.reason !== undefined) return;
    this.reason = new Interruption(cause);
    this.#controller?.abort(this.reason);
  }

  /** From here on the client may go. */
  unfollow(): void {
    if (this.#controller !== undefined) this.#followed?.().removeEventListener("abort", this.#disconnect);
    this.#followed = undefined;
  }

  #follow(): void {
    const followed = this.#followed?.();
    if (followed?.aborted) this.#disconnect();
    else followed?.addEventListener("abort", this.#disconnect);
  }

  readonly #disconnect = (): void => this.interrupt("disconnected");
}
