import type { DeliveryOutcome, DeliveryProgress, TaskStore } from "../store/task-store.js";
import { Pauses } from "./timing.js";

/** How a claim ends, as the store is asked. */
export type Settlement = DeliveryProgress & { readonly outcome: DeliveryOutcome };

/** Ends of claims that come so soon after others wait for one another, in milliseconds, and are one commit of the store. */
const GATHER_MS = 5;

/** Between two tries at a store that fails, in milliseconds. */
const AGAIN_MS = 1_000;

/**
 * Ends claims, and goes on trying while the store fails: a claim that is not ended would keep its configuration from everybody for as long as
 * this process lives. It may come twice, since a store that did not answer may have done it: the second one is `lost`, and changes
 * nothing.
 */
export class Settlements {
  readonly #store: TaskStore;
  readonly #now: () => number;
  readonly #noteTrouble: (error: unknown) => void;
  readonly #pauses = new Pauses();
  #pending = 0;
  #sentAt = Number.NEGATIVE_INFINITY;
  #gathering: Promise<void> | undefined;
  #over = false;

  constructor(options: {
    readonly store: TaskStore;
    readonly now: () => number;
    readonly noteTrouble: (error: unknown) => void;
  }) {
    this.#store = options.store;
    this.#now = options.now;
    this.#noteTrouble = options.noteTrouble;
  }

  /** Claims whose end the store has not taken yet. */
  get pending(): number {
    return this.#pending;
  }

  /** Gives up what the store does not take: the next process finds it. */
  end(): void {
    this.#over = true;
    this.#pauses.end();
  }

  /** @returns `more` when the claim goes on because there is more to be delivered; otherwise it is over */
  async settle(settlement: Settlement): Promise<"more" | "over"> {
    this.#pending++;
    try {
      for (let next = settlement; !this.#over; ) {
        try {
          await this.#gathered();
          const said = await this.#store.settleDelivery(next);
          return said === "more" ? "more" : "over";
        } catch (error) {
          this.#noteTrouble(error);
          if (this.#over) break;
          await this.#pauses.pause(AGAIN_MS);
          // Nobody delivers meanwhile: what came since is for whoever claims it next.
          if (next.outcome.kind === "done") next = { ...next, outcome: { kind: "later", at: this.#now() } };
        }
      }
      return "over";
    } finally {
      this.#pending--;
    }
  }

  /** Resolves at once for one that comes alone, and together with others for those that come close behind it. */
  #gathered(): Promise<void> | undefined {
    const now = performance.now();
    if (this.#gathering === undefined && now - this.#sentAt >= GATHER_MS) {
      this.#sentAt = now;
      return undefined;
    }
    this.#gathering ??= new Promise((resolve) => {
      setTimeout(() => {
        this.#gathering = undefined;
        this.#sentAt = performance.now();
        resolve();
      }, GATHER_MS);
    });
    return this.#gathering;
  }
}
