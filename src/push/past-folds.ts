import type { TaskFold } from "../task/fold.js";
import { isTerminal } from "../task/state.js";

/**
 * The last task sent to each configuration that gets whole tasks, so that the next event folds one entry instead of the
 * whole log. Beyond the byte limit the least recently used are evicted; the newest one stays, whatever its size.
 */
export class PastFolds {
  readonly #max: number;
  readonly #folds = new Map<string, { readonly fold: TaskFold; readonly bytes: number }>();
  #bytes = 0;

  /** @param maxBytes limit of all of them, as JSON */
  constructor(maxBytes: number) {
    this.#max = maxBytes;
  }

  /** Called when nothing more is to be sent: drops a finished task, or one above the limit. */
  rest(name: string): void {
    const kept = this.#folds.get(name);
    if (kept !== undefined && (kept.bytes > this.#max || isTerminal(kept.fold.state))) this.drop(name);
  }

  get(name: string): TaskFold | undefined {
    return this.#folds.get(name)?.fold;
  }

  /** Stores a fold, or updates its size. */
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
