import { HealthSource, type StoreHealth } from "../health.js";
import { StoreError } from "../task-store.js";

/** Where trouble comes from. When there is more than one, the first in this order is reported. */
const causes = ["file", "schema", "thread", "timeout", "disk"] as const;

/**
 * What is wrong: a file is not where it was, another program changed its schema, the writer's thread ended, a write
 * takes too long, or the disk answers with errors.
 */
export type Cause = (typeof causes)[number];

/** One thing that is wrong. */
export interface StoreFault {
  /** One sentence for the log. */
  readonly reason: string;
  /** Whether it may be over when the store is opened anew. */
  readonly restartHelps: boolean;
  /** Whether writes are refused without being tried. */
  readonly refuses: boolean;
}

/** What is wrong with a store at this moment, cause by cause; its health is what that comes to. */
export class StoreFaults {
  readonly #health = new HealthSource();
  readonly #known = new Map<Cause, StoreFault>();
  #refusal: StoreError | undefined;

  /** What a write is refused with, without being tried; undefined when it is tried. */
  get refusal(): StoreError | undefined {
    return this.#refusal;
  }

  get health(): StoreHealth {
    return this.#health;
  }

  has(cause: Cause): boolean {
    return this.#known.has(cause);
  }

  /** Says how it is with one cause; undefined stands for well. */
  note(cause: Cause, trouble: StoreFault | undefined): void {
    if (trouble === undefined) {
      if (!this.#known.delete(cause)) return;
    } else {
      this.#known.set(cause, trouble);
    }
    const all = causes.flatMap((each) => this.#known.get(each) ?? []);
    const refusing = all.find(({ refuses }) => refuses);
    this.#refusal = refusing && new StoreError("unavailable", refusing.reason);
    // First what is refused, then the news of it: a caller that hears that all is well may write.
    const [first] = all;
    this.#health.report(first && { reason: first.reason, restartHelps: all.some((each) => each.restartHelps) });
  }
}
