import { fstatSync, type Stats, statSync } from "node:fs";
import { stat } from "node:fs/promises";
import type { FileIdentity, FileState } from "./file-identity.js";
import { type LogIndex, type OpenFile, readCounts, readLogIndex, readSalt } from "./log-index.js";

/** A change of a store's files by somebody else while the store had them open. */
export interface FileFault {
  readonly reason: string;
  /**
   * False where the files may come back, as one that was moved does. True where what is in them was changed: then the store must
   * not write anything more, not even move its log into the file.
   */
  readonly lasting: boolean;
  /** True if the log does not belong to the file that now has its name, or is cut before what the file already has. */
  readonly logIsForeign: boolean;
}

/**
 * Finds out whether a store's files are still its own: that their names lead to them, that the log has all that was
 * written to it, and that nobody but SQLite has written the file. SQLite looks at none of this, and would acknowledge
 * what is lost.
 *
 * In WAL mode the file changes only while frames of the log are moved into it, which the index counts, whoever does it.
 */
export class FileGuard {
  readonly #files: FileIdentity;
  #last: FileState;
  #isClosed = false;

  constructor(files: FileIdentity) {
    this.#files = files;
    this.#last = files.state;
  }

  /** Ends a look that is under way: the descriptors are about to be closed, and other files may get their numbers. */
  close(): void {
    this.#isClosed = true;
  }

  /** Frames that the log had at the last look. */
  get frames(): number {
    return this.#last.index?.frames ?? 0;
  }

  /** State of the log: cut, all in the file (the next commit begins it anew), or neither. Costs 5 microseconds. */
  get logState(): "cut" | "moved" | "used" {
    try {
      const index = readLogIndex(this.#files.index);
      if (index === undefined) return "used";
      if (fstatSync(this.#files.log).size < index.bytes) return "cut";
      return index.frames === index.moved ? "moved" : "used";
    } catch {
      // The look after the commit says what is wrong.
      return "used";
    }
  }

  /** Looks now. It costs some 10 microseconds. */
  checkNow(): FileFault | undefined {
    const found: Stats[] = [];
    let at = this.#files.kept[0] as OpenFile;
    try {
      const index = readLogIndex(this.#files.index);
      for (at of this.#files.kept) {
        const now = statSync(at.name, { throwIfNoEntry: false });
        const fault = faultIn(at, now);
        if (fault !== undefined) return fault;
        found.push(now as Stats);
      }
      return this.#judge(index, found);
    } catch (error) {
      return hidden(at, error);
    }
  }

  /** As `checkNow`, at all files and without holding up the thread: a file system may take long to answer. */
  async check(): Promise<FileFault | undefined> {
    const found: Stats[] = [];
    let at = this.#files.kept[0] as OpenFile;
    try {
      const index = readLogIndex(this.#files.index);
      for (at of this.#files.all) {
        const now = await stat(at.name).catch(absent);
        if (this.#isClosed) return undefined;
        const fault = faultIn(at, now);
        if (fault !== undefined) return fault;
        found.push(now as Stats);
      }
      return this.#judge(index, found);
    } catch (error) {
      return hidden(at, error);
    }
  }

  /** Judges the file and the log as they were found after this look at the index. */
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
    // SQLite wrote meanwhile, perhaps in another process: the next look is as good.
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
    // What the file has of the log is whole as long as nothing older is put over it.
    if (log.size < index.bytes) return lasting(name, "cut", index.moved > 0);
    if (index.frames > 0 && readSalt(this.#files.log) !== index.salt) return lasting(name, "overwritten", true);
    return undefined;
  }
}

/** True if nothing was moved into the file between two looks at the index. */
function hasMovedAs(one: LogIndex, other: LogIndex): boolean {
  return one.salt === other.salt && one.moved === other.moved && one.moving === other.moving;
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
}

function faultIn({ name, dev, ino }: OpenFile, now: Stats | undefined): FileFault | undefined {
  if (now === undefined) return fleeting(`The file ${name} was removed or moved while the store had it open.`);
  if (now.ino === ino && now.dev === dev) return undefined;
  return fleeting(`The file ${name} was replaced while the store had it open.`);
}

function hidden({ name }: OpenFile, error: unknown): FileFault {
  return fleeting(`The file ${name} cannot be looked at any more: ${(error as Error).message}.`);
}

function lasting(file: OpenFile | undefined, what: string, logIsForeign: boolean): FileFault {
  return { reason: `The file ${file?.name} was ${what} while the store had it open.`, lasting: true, logIsForeign };
}

function fleeting(reason: string): FileFault {
  return { reason, lasting: false, logIsForeign: false };
}
