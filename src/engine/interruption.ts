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
  /** Why it was interrupted, or undefined. */
  reason: Interruption | undefined;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
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
}
