/** Waits that can all be cut short. */
export class Pauses {
  readonly #waiting = new Set<() => void>();
  #over = false;

  /** Resolves after so many milliseconds, or when `end` is called. A process that has nothing else to do ends meanwhile. */
  pause(ms: number): Promise<void> {
    if (this.#over) return Promise.resolve();
    return new Promise((resolve) => {
      const go = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(go);
        resolve();
      };
      const timer = setTimeout(go, ms);
      timer.unref?.();
      this.#waiting.add(go);
    });
  }

  /** Ends all of them, and those that would come. */
  end(): void {
    this.#over = true;
    for (const go of [...this.#waiting]) go();
  }
}
