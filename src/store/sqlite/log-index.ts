import { closeSync, openSync, readSync } from "node:fs";

/**
 * The index of SQLite's log (`-shm`), which all connections share: the length of the log, and how much of it is in the
 * file (https://www.sqlite.org/walformat.html, section 2). It is read directly, because SQLite has no API for it.
 */
export interface LogIndex {
  /** Valid frames of the log. */
  readonly frames: number;
  /** Minimum size of a log with these frames, in bytes. */
  readonly bytes: number;
  /** The eight bytes that every frame of this log contains; each log has another salt. */
  readonly salt: string;
  /** Frames already moved into the file. */
  readonly moved: number;
  /** Frames moved into the file or being moved. */
  readonly moving: number;
}

/** Bytes of the index to read: its header and the checkpoint information. */
const INDEX_BYTES = 132;
/** Size of the log's header, and of the header of each frame. */
export const LOG_HEADER_BYTES = 32;
export const FRAME_HEADER_BYTES = 24;

const littleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** Reads the index; undefined if SQLite has not initialized it or is writing it. */
export function readLogIndex(fd: number): LogIndex | undefined {
  const bytes = Buffer.alloc(INDEX_BYTES);
  if (readSync(fd, bytes, 0, INDEX_BYTES, 0) < INDEX_BYTES) return undefined;
  return logIndexOf(bytes);
}

function logIndexOf(bytes: Buffer): LogIndex | undefined {
  // The header exists twice; a reader uses it only if both copies agree.
  if (bytes[12] === 0 || bytes.compare(bytes, 48, 96, 0, 48) !== 0) return undefined;
  const number = (at: number): number => (littleEndian ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  const size = littleEndian ? bytes.readUInt16LE(14) : bytes.readUInt16BE(14);
  const pageBytes = size === 1 ? 65_536 : size;
  const frames = number(16);
  return {
    frames,
    bytes: frames === 0 ? 0 : LOG_HEADER_BYTES + frames * (FRAME_HEADER_BYTES + pageBytes),
    salt: bytes.toString("hex", 32, 40),
    moved: number(96),
    moving: number(128),
  };
}

/** Reads the salt from a log's header; empty if the log has none. */
export function readSalt(fd: number): string {
  const bytes = Buffer.alloc(8);
  return readSync(fd, bytes, 0, 8, 16) < 8 ? "" : bytes.toString("hex");
}

/** The two counters in the first page of a file (https://www.sqlite.org/fileformat.html, section 1.3). */
export interface FileCounts {
  /** Changes of the file; WAL mode does not count every one. */
  readonly changes: number;
  /** Changes of the schema. */
  readonly schema: number;
}

/** Reads the counters of a file. Changes that are only in the log are not included. */
export function readCounts(fd: number): FileCounts {
  const bytes = Buffer.alloc(20);
  readSync(fd, bytes, 0, bytes.length, 24);
  return { changes: bytes.readUInt32BE(0), schema: bytes.readUInt32BE(16) };
}

/** Open descriptors by file, with the number of stores that use each. */
const opened = new Map<string, { readonly fd: number; users: number }>();

/**
 * Opens for reading a file that SQLite locks. Stores of one thread share one descriptor per file, since closing any
 * descriptor would drop the locks that SQLite holds on the file for another store
 * (https://www.sqlite.org/howtocorrupt.html, section 2.2).
 */
export function openBeside({ name, dev, ino }: OpenFile): number {
  const key = `${dev}:${ino}`;
  const known = opened.get(key);
  if (known !== undefined) {
    known.users++;
    return known.fd;
  }
  const fd = openSync(name, "r");
  opened.set(key, { fd, users: 1 });
  return fd;
}

/** Closes a descriptor of `openBeside`, unless another store uses it. */
export function closeBeside(fd: number): void {
  for (const [key, known] of opened) {
    if (known.fd !== fd || --known.users > 0) continue;
    opened.delete(key);
    closeSync(fd);
  }
}

/** One of a store's files and its identity: an inode is not reused while it is open. */
export interface OpenFile {
  readonly name: string;
  readonly dev: number;
  readonly ino: number;
}
