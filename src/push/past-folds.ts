import type { TaskFold } from "../task/fold.js";
import { isTerminal } from "../task/state.js";

/**
 * Tasks as of the events that were sent last, one for each configuration that gets whole tasks, so that the next event is one entry more
 * and not the whole log once more. Those that were not used the longest are dropped beyond the bytes; the newest one stays, whatever its size.
 */
export class PastFolds {
  readonly #max: number;
  readonly #folds = new Map<string, { readonly fold: TaskFold; readonly bytes: number }>();
  #bytes = 0;

  /** @param maxBytes of all of them, as JSON */
  constructor(maxBytes: number) {
    this.#max = maxBytes;
  }

  /** Nothing is to be sent for the moment: one that is over, or is larger than all may be together, is dropped. */
  rest(name: string): void {
    const kept = this.#folds.get(name);
    if (kept !== undefined && (kept.bytes > this.#max || isTerminal(kept.fold.state))) this.drop(name);
  }

  get(name: string): TaskFold | undefined {
    return this.#folds.get(name)?.fold;
  }

  /** Keeps a fold, or notes that it has grown. */
  keep(name: string, fold: TaskFold): void {
    this.drop(name);
    this.#folds.set(name, { fold, bytes: fold.size });
    this.#bytes += fold.size;
    for (const oldest of this.#folds.keys()) {
      if (this.#bytes <= this.#max || oldest === name) return;
      this.drop(oldest);
    }
  }

  drop(name: string): void {
    const kept = this.#folds.get(name);
    if (kept === undefined) return;
    this.#folds.delete(name);
    this.#bytes -= kept.bytes;
  }
}
