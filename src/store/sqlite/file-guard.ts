import { fstatSync, type Stats, statSync } from "node:fs";
import { stat } from "node:fs/promises";
import type { FileIdentity, FileState } from "./file-identity.js";
import { type LogIndex, type OpenFile, readCounts, readLogIndex, readSalt } from "./log-index.js";

/** A change of a store's files by another program while the store had them open. */
export interface FileFault {
  readonly reason: string;
  /**
   * False if the files may come back, like a moved file. True if their contents were changed: then the store must write
   * nothing more, not even move its log into the file.
   */
  readonly lasting: boolean;
  /**
   * True if the log does not belong to the file that now has its name, or was truncated before data that the file
   * already has.
   */
  readonly logIsForeign: boolean;
}

/**
 * Checks that a store's files are still its own: their names lead to them, the log is complete, and only SQLite has
 * written the file. SQLite checks none of this, and would acknowledge writes that are lost.
 *
 * In WAL mode only checkpoints write the file, and the index counts them for all processes.
 */
export class FileGuard {
  readonly #files: FileIdentity;
  #last: FileState;
  #isClosed = false;

  constructor(files: FileIdentity) {
    this.#files = files;
    this.#last = files.state;
  }

  /** Stops a pending check: the descriptors are about to be closed and may be reused for other files. */
  close(): void {
    this.#isClosed = true;
  }

  /** Number of log frames at the last check. */
  get frames(): number {
    return this.#last.index?.frames ?? 0;
  }

  /**
   * State of the log: cut; moved entirely into the file, so that the next commit restarts it; or neither. Takes 5
   * microseconds.
   */
  get logState(): "cut" | "moved" | "used" {
    try {
      const index = readLogIndex(this.#files.index);
      if (index === undefined) return "used";
      if (fstatSync(this.#files.log).size < index.bytes) return "cut";
      return index.frames === index.moved ? "moved" : "used";
    } catch {
      // The check after the commit reports the fault.
      return "used";
    }
  }

  /** Checks synchronously, in about 10 microseconds. */
  checkNow(): FileFault | undefined {
    const found: Stats[] = [];
    let at: OpenFile = this.#files.kept[0];
    try {
      const index = readLogIndex(this.#files.index);
      for (at of this.#files.kept) {
        const now = statSync(at.name, { throwIfNoEntry: false });
        const fault = faultIn(at, now);
        if (fault !== undefined) return fault;
        if (now !== undefined) found.push(now);
      }
      return this.#judge(index, found);
    } catch (error) {
      return hidden(at, error);
    }
  }

  /** Checks all files without blocking the thread: a file system may respond slowly. */
  async check(): Promise<FileFault | undefined> {
    const found: Stats[] = [];
    let at: OpenFile = this.#files.kept[0];
    try {
      const index = readLogIndex(this.#files.index);
      for (at of this.#files.all) {
        const now = await stat(at.name).catch(absent);
        if (this.#isClosed) return undefined;
        const fault = faultIn(at, now);
        if (fault !== undefined) return fault;
        if (now !== undefined) found.push(now);
      }
      return this.#judge(index, found);
    } catch (error) {
      return hidden(at, error);
    }
  }

  /** Compares the file and the log with this reading of the index. */
  #judge(index: LogIndex | undefined, [file, log]: readonly Stats[]): FileFault | undefined {
    if (index === undefined || file === undefined || log === undefined) return undefined;
    const { mtimeMs: modified, size } = file;
    const last = this.#last;
    const counts = modified === last.modified && size === last.size ? last.counts : readCounts(this.#files.file);
    const now = { index, modified, size, counts };
    const fault = this.#changeIn(now) ?? this.#lossIn(index, log);
    if (fault === undefined) {
      this.#last = now;
      return undefined;
    }
    // SQLite wrote meanwhile, perhaps in another process: the next check decides.
    const later = readLogIndex(this.#files.index);
    return later !== undefined && later.frames === index.frames && hasMovedAs(later, index) ? fault : undefined;
  }

  #changeIn({ index, modified, size, counts }: FileState & { readonly index: LogIndex }): FileFault | undefined {
    const last = this.#last;
    if (modified === last.modified && size === last.size) return undefined;
    const mayChange = last.index === undefined || !hasMovedAs(last.index, index) || index.moved !== index.moving;
    if (mayChange && counts.changes >= last.counts.changes && counts.schema >= last.counts.schema) return undefined;
    return lasting(this.#files.kept[0], "overwritten", true);
  }

  #lossIn(index: LogIndex, log: Stats): FileFault | undefined {
    const name = this.#files.kept[1];
    // The frames already moved into the file stay whole unless older ones overwrite them.
    if (log.size < index.bytes) return lasting(name, "cut", index.moved > 0);
    if (index.frames > 0 && readSalt(this.#files.log) !== index.salt) return lasting(name, "overwritten", true);
    return undefined;
  }
}

/** True if no checkpoint ran between two readings of the index. */
function hasMovedAs(one: LogIndex, other: LogIndex): boolean {
  return one.salt === other.salt && one.moved === other.moved && one.moving === other.moving;
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
}

function faultIn({ name, dev, ino }: OpenFile, now: Stats | undefined): FileFault | undefined {
  if (now === undefined) return transientFault(`The file ${name} was removed or moved while the store had it open.`);
  if (now.ino === ino && now.dev === dev) return undefined;
  return transientFault(`The file ${name} was replaced while the store had it open.`);
}

function hidden({ name }: OpenFile, error: unknown): FileFault {
  return transientFault(
    `The file ${name} can no longer be checked: ${error instanceof Error ? error.message : error}.`,
  );
}

function lasting(file: OpenFile | undefined, what: string, logIsForeign: boolean): FileFault {
  return { reason: `The file ${file?.name} was ${what} while the store had it open.`, lasting: true, logIsForeign };
}

function transientFault(reason: string): FileFault {
  return { reason, lasting: false, logIsForeign: false };
}
