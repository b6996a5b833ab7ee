import { HealthSource, type StoreHealth } from "../health.js";
import { StoreError } from "../task-store.js";
import { outgrown } from "./connection.js";
import type { FileFault, FileGuard } from "./file-guard.js";
import type { FileIdentity } from "./file-identity.js";
import { SCHEMA_VERSION } from "./migrations.js";
import type { Reader } from "./reader.js";

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

/** Interval between checks, in milliseconds. */
const CHECK_MS = 500;

/** A check that takes this many intervals means that the file system does not respond. */
const LATE_TURNS = 3;

/**
 * Periodically checks that the store's files are still its own, for times without writes; each write checks by itself.
 * @returns a function that stops the checks
 */
export function watchFiles(files: FileIdentity, guard: FileGuard, troubles: StoreFaults): () => void {
  let turns = 0;
  let over = false;
  const report = (fault: FileFault | undefined): void => {
    // A commit may have found a fault after this check began: only a check started after that can report recovery.
    const outdated = turns === 0;
    turns = 0;
    if (!over && !outdated) troubles.noteFile(fault);
  };
  const timer = setInterval(() => {
    if (turns++ === 0) {
      void guard.check().then(report);
    } else if (turns > LATE_TURNS) {
      troubles.note("file", restartFault(`The file system of ${files.all[0]?.name} does not answer.`));
    }
  }, CHECK_MS);
  timer.unref();
  return () => {
    over = true;
    clearInterval(timer);
  };
}

/**
 * Periodically checks that a shared file still has the known schema. A newer program migrates only under an exclusive
 * lock, but the lock file may have been removed, or another program may have changed the file.
 * @returns a function that stops the checks
 */
export function watchSchema(reader: Reader, path: string, troubles: StoreFaults): () => void {
  const timer = setInterval(() => {
    try {
      const version = reader.version();
      if (version !== SCHEMA_VERSION) troubles.note("schema", restartFault(outgrown(path, version, SCHEMA_VERSION)));
    } catch {
      // Reads report an unreadable file; its version is unknown.
    }
  }, CHECK_MS);
  timer.unref();
  return () => clearInterval(timer);
}
