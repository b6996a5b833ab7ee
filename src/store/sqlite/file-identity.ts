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

/** The files that a store has open. It crosses to the writer's thread. */
export interface FileIdentity {
  /** Database and log: what is written is kept there. */
  readonly kept: readonly OpenFile[];
  /** Those, and the index of the log, which is memory that processes share. */
  readonly all: readonly OpenFile[];
  /** Descriptor of the database, to be read. */
  readonly file: number;
  /** Descriptor of the log, to be read. */
  readonly log: number;
  /** Descriptor of its index, to be read. */
  readonly index: number;
  /** State of the files when they were opened. */
  readonly state: FileState;
}

/** Notes which files are there now, and opens what `FileGuard` reads. @throws the system's error when one is not there. */
export function openFiles(path: string): FileIdentity {
  // SQLite puts the other files beside the file itself, whatever links lead to it.
  const real = realpathSync(path);
  const all = [path, `${real}-wal`, `${real}-shm`].map((name) => {
    const { dev, ino } = statSync(name);
    return { name, dev, ino };
  });
  const [db, wal, shm] = all as [OpenFile, OpenFile, OpenFile];
  const index = openBeside(shm);
  const file = openBeside(db);
  const { mtimeMs: modified, size } = statSync(path);
  const state = { index: readLogIndex(index), modified, size, counts: readCounts(file) };
  return { kept: [db, wal], all, file, log: openSync(wal.name, "r"), index, state };
}

/** Ends what `openFiles` began, when no connection of the store has the files any more. */
export function closeFiles({ file, log, index }: FileIdentity): void {
  closeSync(log);
  closeBeside(file);
  closeBeside(index);
}

/** The file and its log as they were seen last. */
export interface FileState {
  readonly index: LogIndex | undefined;
  /** When the file was written, in milliseconds since the epoch. */
  readonly modified: number;
  readonly size: number;
  readonly counts: FileCounts;
}
