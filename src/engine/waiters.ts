import { callAll } from "../core/call-all.js";

/** Those that wait for the next news of a task. */
export class Waiters {
  #waiting = new Set<() => void>();

  /** Calls back once, at the next news. */
  onNext(callback: () => void): void {
    this.#waiting.add(callback);
  }

  /** Takes that back. */
  forget(callback: () => void): void {
    this.#waiting.delete(callback);
  }

  /** Calls all that wait. */
  notify(): void {
    if (this.#waiting.size === 0) return;
    const waiting = this.#waiting;
    // Not clear(): V8 would let the table of every call refer to the next one's (see core/transient.ts).
    this.#waiting = new Set();
    callAll(waiting);
  }
}
