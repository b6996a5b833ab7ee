import { HealthSource, type StoreHealth } from "../health.js";
import { StoreError } from "../task-store.js";
import type { FileFault } from "./file-guard.js";

/** Causes of faults, by priority: the health reports the first of several. */
const causes = ["contents", "file", "schema", "thread", "timeout", "disk"] as const;

/**
 * Cause of a fault: the contents of a file were changed, a file was moved, another program changed the schema, the
 * writer thread exited, a write takes too long, or the disk returns errors.
 */
type Cause = (typeof causes)[number];

interface StoreFault {
  /** One sentence for the log. */
  readonly reason: string;
  /** True if reopening the store may help. */
  readonly restartHelps: boolean;
  /** True if writes are rejected without an attempt. */
  readonly refuses: boolean;
}

/** The current faults of a store by cause, from which its health follows. */
export class StoreFaults {
  readonly #health = new HealthSource();
  readonly #known = new Map<Cause, StoreFault>();
  #refusal: StoreError | undefined;
  #fileFault: FileFault | undefined;

  /** The error for rejecting writes without an attempt; undefined if writes are attempted. */
  get refusal(): StoreError | undefined {
    return this.#refusal;
  }

  get health(): StoreHealth {
    return this.#health;
  }

  has(cause: Cause): boolean {
    return this.#known.has(cause);
  }

  /** The change of the files' contents, if any. */
  get fileFault(): FileFault | undefined {
    return this.#fileFault;
  }

  /** Records the result of a file check. A change of the contents persists even if a later check does not find it. */
  noteFile(fault: FileFault | undefined): void {
    if (fault?.lasting === true) {
      this.#fileFault ??= fault;
      this.note("contents", restartFault(fault.reason));
    } else this.note("file", fault && restartFault(fault.reason));
  }

  /** Records a fault by its cause; undefined clears it. */
  note(cause: Cause, trouble: StoreFault | undefined): void {
    if (trouble === undefined) {
      if (!this.#known.delete(cause)) return;
    } else {
      this.#known.set(cause, trouble);
    }
    const all = causes.flatMap((each) => this.#known.get(each) ?? []);
    const refusing = all.find(({ refuses }) => refuses);
    this.#refusal = refusing && new StoreError("unavailable", refusing.reason);
    // Updates the refusal before notifying listeners: a listener that learns of the recovery may write at once.
    const [first] = all;
    this.#health.report(first && { reason: first.reason, restartHelps: all.some((each) => each.restartHelps) });
  }
}

/** A fault after which writes would be lost, so that all are rejected. */
export function restartFault(reason: string): StoreFault {
  return { reason, restartHelps: true, refuses: true };
}
