import { AbortReason } from "../agent/abort.js";
import { completionReason, orAborted, share } from "../core/async.js";

/** Causes that make the other agent's task useless. After any other, another attempt continues it. */
const ENDS = new Set<unknown>(["canceled", "disconnected", "ended"]);

/**
 * Ends the calls of a delegation when its turn is stopped. The other agent is sent a cancel first. If its task is not
 * known yet, the cancel waits for it a moment.
 */
export class SubTaskCancellation {
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
   * @param ends fire when the turn waits for its user, and when it ends: calls end, without a cancel
   * @param ms maximum time of a cancel, in milliseconds
   */
  constructor(turn: AbortSignal, { pause, over }: { pause: AbortSignal; over: AbortSignal }, ms: number) {
    this.#turn = turn;
    this.#pause = pause;
    this.#over = over;
    this.#ms = ms;
    this.#onEnd(turn, this.#onAbort);
    this.#onEnd(pause, this.#onPause);
    this.#onEnd(over, this.#onOver);
  }

  /** Calls back when a signal fires, or at once if it has fired. */
  #onEnd(signal: AbortSignal, callback: () => void): void {
    share(signal);
    if (signal.aborted) callback();
    else signal.addEventListener("abort", callback, { once: true });
  }

  /** Signal for the calls of the delegation. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** True if its turn was stopped, and the sub-task is handled here. */
  get isStopped(): boolean {
    return this.#turn.aborted;
  }

  /** True if a sub-task without an answer is useless. False if another attempt of the turn continues it. */
  get mayLeave(): boolean {
    return !this.#turn.aborted || this.#isEnding;
  }

  /** Sets the function that cancels the sub-task. */
  canCancel(cancel: () => Promise<unknown>): void {
    this.#cancel = cancel;
  }

  /** Notes that a sub-task may exist from here on. */
  sending(): void {
    this.#isSending = true;
  }

  /** Notes that the sub-task is known from here on. */
  begun(): void {
    this.#isBegun = true;
    if (this.#isEnding) this.#cancelSubTask();
    else if (this.#over.aborted) this.#controller.abort();
  }

  /** @throws AbortReason if its turn was stopped */
  check(): void {
    this.#turn.throwIfAborted();
  }

  /** Waits for work that cannot be stopped, at most until its turn is stopped. */
  race<T>(work: Promise<T>): Promise<T> {
    return orAborted(work, this.signal, () => this.#reason);
  }

  /** Waits for a pending cancel. @throws AbortReason if its turn was stopped */
  async done(): Promise<void> {
    await this.#canceling;
    this.check();
  }

  /** Releases the turn. */
  end(): void {
    clearTimeout(this.#timer);
    this.#turn.removeEventListener("abort", this.#onAbort);
    this.#pause.removeEventListener("abort", this.#onPause);
    this.#over.removeEventListener("abort", this.#onOver);
    if (this.#canceling === undefined) this.#controller.abort(completionReason);
  }

  get #reason(): unknown {
    return this.#turn.aborted ? this.#turn.reason : this.signal.reason;
  }

  get #isEnding(): boolean {
    const { aborted, reason } = this.#turn;
    return aborted && reason instanceof AbortReason && ENDS.has(reason.cause);
  }

  readonly #onPause = (): void => this.#controller.abort();

  /** Waits a moment for a possible sub-task to be known, since it could not be canceled otherwise. */
  readonly #onOver = (): void => {
    if (!this.#isSending || this.#isBegun || this.#pause.aborted) return this.#controller.abort();
    this.#timer ??= setTimeout(() => this.#controller.abort(), this.#ms);
  };

  readonly #onAbort = (): void => {
    if (!this.#isEnding || !(this.#isSending || this.#isBegun)) return this.#controller.abort();
    this.#timer ??= setTimeout(() => this.#controller.abort(), this.#ms);
    if (this.#isBegun) this.#cancelSubTask();
  };

  #cancelSubTask(): void {
    const cancel = this.#cancel;
    this.#canceling ??= (async () => {
      // The sub-task may have ended, or its agent may be unreachable: nothing more can be done.
      await cancel?.().catch(() => {});
      this.#controller.abort();
    })();
  }
}
