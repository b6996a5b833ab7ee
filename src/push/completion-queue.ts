import { pause, share } from "../core/async.js";
import type { DeliveryOutcome, DeliveryProgress, TaskStore } from "../store/task-store.js";

type Completion = DeliveryProgress & { readonly outcome: DeliveryOutcome };

/** Completions within this time of others are gathered into one commit of the store, in milliseconds. */
const GATHER_MS = 5;

/** Delay between attempts while the store fails, in milliseconds. */
const AGAIN_MS = 1_000;

/**
 * Completes claims, and retries while the store fails: a claim without an outcome would block its configuration as long
 * as this process runs. A completion may be repeated, since a store that did not answer may have applied it: the second
 * one returns `lost` and changes nothing.
 */
export class CompletionQueue {
  readonly #store: TaskStore;
  readonly #now: () => number;
  readonly #noteTrouble: (error: unknown) => void;
  readonly #over = new AbortController();
  #pending = 0;
  #sentAt = Number.NEGATIVE_INFINITY;
  #gathering: Promise<void> | undefined;

  constructor(options: {
    readonly store: TaskStore;
    readonly now: () => number;
    readonly noteTrouble: (error: unknown) => void;
  }) {
    share(this.#over.signal);
    this.#store = options.store;
    this.#now = options.now;
    this.#noteTrouble = options.noteTrouble;
  }

  /** Number of claims whose completion is not stored yet. */
  get pending(): number {
    return this.#pending;
  }

  /** Abandons unstored completions: the next process finds their claims. */
  end(): void {
    this.#over.abort();
  }

  /** @returns `more` if the claim continues with further entries; otherwise it is over */
  async complete(completion: Completion): Promise<"more" | "over"> {
    this.#pending++;
    try {
      for (let next = completion; !this.#over.signal.aborted; ) {
        try {
          await this.#gathered();
          const answer = await this.#store.completeDelivery(next);
          return answer === "more" ? "more" : "over";
        } catch (error) {
          this.#noteTrouble(error);
          if (this.#over.signal.aborted) break;
          await pause(AGAIN_MS, this.#over.signal, true);
          // The delivery has stopped: later entries are left for the next claim.
          if (next.outcome.kind === "done") next = { ...next, outcome: { kind: "later", at: this.#now() } };
        }
      }
      return "over";
    } finally {
      this.#pending--;
    }
  }

  /** Resolves at once for a single completion, and together with others for those that follow closely. */
  #gathered(): Promise<void> | undefined {
    const now = performance.now();
    if (this.#gathering === undefined && now - this.#sentAt >= GATHER_MS) {
      this.#sentAt = now;
      return undefined;
    }
    this.#gathering ??= this.#gather();
    return this.#gathering;
  }

  async #gather(): Promise<void> {
    await pause(GATHER_MS, undefined);
    this.#gathering = undefined;
    this.#sentAt = performance.now();
  }
}
