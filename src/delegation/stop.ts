import { AbortReason } from "../agent/abort.js";
import { share } from "../client/calls/stop.js";
import { over } from "../core/cancellation.js";

/** Causes for which the other agent's task is of no use any more. After all others another attempt goes on with it. */
const ENDS = new Set<unknown>(["canceled", "disconnected", "ended"]);

/**
 * Ends the calls of a delegation when its turn is stopped. A cancel reaches the other agent first, also when its task is not known
 * yet: then it waits a moment for it.
 */
export class SubTaskStop {
  readonly #turn: AbortSignal;
  readonly #pause: AbortSignal;
  readonly #over: AbortSignal;
  readonly #ms: number;
  readonly #controller: AbortController = new AbortController();
  #cancel: (() => Promise<unknown>) | undefined;
  #isSending = false;
  #isBegun = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #canceling: Promise<void> | undefined;

  /**
   * @param ends fire when the turn waits for its user, and when it is over: calls end, and this tells the other agent nothing
   * @param ms how long a cancel may take, in milliseconds
   */
  constructor(turn: AbortSignal, { pause, over }: { pause: AbortSignal; over: AbortSignal }, ms: number) {
    this.#turn = turn;
    this.#pause = pause;
    this.#over = over;
    for (const signal of [turn, pause, over]) share(signal);
    pause.addEventListener("abort", this.#onPause, { once: true });
    over.addEventListener("abort", this.#onOver, { once: true });
    this.#ms = ms;
    if (turn.aborted) this.#onAbort();
    else turn.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** For the calls of the delegation. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether its turn was stopped, and what is to be done about the sub-task is done here. */
  get isStopped(): boolean {
    return this.#turn.aborted;
  }

  /** Whether a sub-task of which no answer came is of no use any more: not where another attempt of the turn goes on with it. */
  get mayLeave(): boolean {
    return !this.#turn.aborted || this.#isEnding;
  }

  /** How the other agent is told. */
  canCancel(cancel: () => Promise<unknown>): void {
    this.#cancel = cancel;
  }

  /** From here on there may be a sub-task. */
  sending(): void {
    this.#isSending = true;
  }

  /** The sub-task is known from here on. */
  begun(): void {
    this.#isBegun = true;
    if (this.#isEnding) this.#tell();
    else if (this.#over.aborted) this.#controller.abort();
  }

  /** @throws AbortReason when its turn was stopped */
  check(): void {
    this.#turn.throwIfAborted();
  }

  /** Waits for something that cannot be stopped, at most until its turn is. */
  async race<T>(work: Promise<T>): Promise<T> {
    if (this.signal.aborted) throw this.#reason;
    let stopped = (): void => {};
    const abort = new Promise<never>((_, reject) => {
      stopped = () => reject(this.#reason);
      this.signal.addEventListener("abort", stopped, { once: true });
    });
    try {
      return await Promise.race([work, abort]);
    } finally {
      this.signal.removeEventListener("abort", stopped);
    }
  }

  /** Waits for a cancel that is on its way. @throws AbortReason when its turn was stopped */
  async done(): Promise<void> {
    await this.#canceling;
    this.check();
  }

  /** Lets go of the turn. */
  end(): void {
    clearTimeout(this.#timer);
    this.#turn.removeEventListener("abort", this.#onAbort);
    this.#pause.removeEventListener("abort", this.#onPause);
    this.#over.removeEventListener("abort", this.#onOver);
    if (this.#canceling === undefined) this.#controller.abort(over);
  }

  get #reason(): unknown {
    return this.#turn.aborted ? this.#turn.reason : this.signal.reason;
  }

  get #isEnding(): boolean {
    const { aborted, reason } = this.#turn;
    return aborted && reason instanceof AbortReason && ENDS.has(reason.cause);
  }

  readonly #onPause = (): void => this.#controller.abort();

  /** A sub-task that may be there gets a moment to be known, or nobody could tell it that it is left. */
  readonly #onOver = (): void => {
    if (!this.#isSending || this.#isBegun || this.#pause.aborted) return this.#controller.abort();
    this.#timer ??= setTimeout(() => this.#controller.abort(), this.#ms);
  };

  readonly #onAbort = (): void => {
    if (!this.#isEnding || !(this.#isSending || this.#isBegun)) return this.#controller.abort();
    this.#timer ??= setTimeout(() => this.#controller.abort(), this.#ms);
    if (this.#isBegun) this.#tell();
  };

  #tell(): void {
    const cancel = this.#cancel;
    this.#canceling ??= (async () => {
      // It may be over by now, or not be reached: nothing more can be done then.
      await cancel?.().catch(() => {});
      this.#controller.abort();
    })();
  }
}
