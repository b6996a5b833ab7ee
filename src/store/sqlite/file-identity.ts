import { closeSync, openSync, realpathSync, statSync } from "node:fs";
import {
  closeBeside,
  type FileCounts,
  type LogIndex,
  type OpenFile,
  openBeside,
  readCounts,
  readLogIndex,
} from "./log-index.js";

/** The files that a store has open. Sent to the writer thread. */
export interface FileIdentity {
  /** Database and log, which hold the data. */
  readonly kept: readonly [db: OpenFile, wal: OpenFile];
  /** Database, log, and the log's index, which is memory shared between processes. */
  readonly all: readonly OpenFile[];
  /** Read descriptor of the database. */
  readonly file: number;
  /** Read descriptor of the log. */
  readonly log: number;
  /** Read descriptor of its index. */
  readonly index: number;
  /** State of the files when they were opened. */
  readonly state: FileState;
}

/**
 * Records the identity of the current files, and opens the descriptors that `FileGuard` reads. @throws the system's
 * error if a file is missing.
 */
export function openFiles(path: string): FileIdentity {
  // SQLite resolves links and puts the other files beside the real file.
  const real = realpathSync(path);
  const found = (name: string): OpenFile => {
    const { dev, ino } = statSync(name);
    return { name, dev, ino };
  };
  const [db, wal, shm] = [found(path), found(`${real}-wal`), found(`${real}-shm`)];
  const index = openBeside(shm);
  const file = openBeside(db);
  const { mtimeMs: modified, size } = statSync(path);
  const state = { index: readLogIndex(index), modified, size, counts: readCounts(file) };
  return { kept: [db, wal], all: [db, wal, shm], file, log: openSync(wal.name, "r"), index, state };
}

/** Closes the descriptors of `openFiles`, after the last connection of the store has closed. */
export function closeFiles({ file, log, index }: FileIdentity): void {
  closeSync(log);
  closeBeside(file);
  closeBeside(index);
}

/** The file and its log as of the last check. */
export interface FileState {
  readonly index: LogIndex | undefined;
  /** When the file was written, in milliseconds since the epoch. */
  readonly modified: number;
  readonly size: number;
  readonly counts: FileCounts;
}
