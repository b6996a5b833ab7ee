/** Callers that wait for the same event. */
export class Waiters {
  /** Created with the first caller, because each task has several `Waiters`, mostly without callers. */
  #waiting: (() => void)[] | undefined;

  /** Resolves at the next `release`. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting ??= [];
      this.#waiting.push(resolve);
    });
  }

  /** Lets all callers that wait continue. */
  release(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    for (const resolve of waiting) resolve();
  }
}
