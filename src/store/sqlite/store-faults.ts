import { HealthSource, type StoreHealth } from "../health.js";
import { StoreError } from "../task-store.js";
import type { FileFault } from "./file-guard.js";

/** Where trouble comes from. When there is more than one, the first in this order is reported. */
const causes = ["contents", "file", "schema", "thread", "timeout", "disk"] as const;

/**
 * What is wrong: what is in a file was changed, a file is not where it was, another program changed its schema, the writer's thread ended, a write
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
  #fileFault: FileFault | undefined;

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

  /** The change of the files' contents, if there was one. */
  get fileFault(): FileFault | undefined {
    return this.#fileFault;
  }

  /** Says how it is with the files. What was done to their contents is not over when a later look does not find it. */
  noteFile(fault: FileFault | undefined): void {
    if (fault?.lasting === true) {
      this.#fileFault ??= fault;
      this.note("contents", restartFault(fault.reason));
    } else this.note("file", fault && restartFault(fault.reason));
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

/** A fault after which writes would be lost, so none is made. */
export function restartFault(reason: string): StoreFault {
  return { reason, restartHelps: true, refuses: true };
}
