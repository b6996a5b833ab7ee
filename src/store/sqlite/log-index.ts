import { closeSync, openSync, readSync } from "node:fs";

/**
 * The index of SQLite's log (`-shm`), which all connections share: how long the log is, and how much of it is in the file
 * (https://www.sqlite.org/walformat.html, section 2). It is read beside SQLite, which does not tell.
 */
export interface LogIndex {
  /** Frames of the log that count. */
  readonly frames: number;
  /** Bytes that a log with these frames has at least. */
  readonly bytes: number;
  /** The eight bytes that the log begins its frames with; each log has its own. */
  readonly salt: string;
  /** Frames that are in the file. */
  readonly moved: number;
  /** Frames that are in the file, or on their way. */
  readonly moving: number;
}

/** Bytes of the index that are read: its header, and what a checkpoint writes. */
const INDEX_BYTES = 132;
/** Bytes of the log before its first frame, and of each frame before its page. */
export const LOG_HEADER_BYTES = 32;
export const FRAME_HEADER_BYTES = 24;

const littleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** Reads the index, or gives undefined where SQLite has not begun it or is writing it. */
export function readLogIndex(fd: number): LogIndex | undefined {
  const bytes = Buffer.alloc(INDEX_BYTES);
  if (readSync(fd, bytes, 0, INDEX_BYTES, 0) < INDEX_BYTES) return undefined;
  return logIndexOf(bytes);
}

function logIndexOf(bytes: Buffer): LogIndex | undefined {
  // Two copies, of which a reader takes none while they differ.
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

/** Reads the salt that a log has in its header; empty where it has none. */
export function readSalt(fd: number): string {
  const bytes = Buffer.alloc(8);
  return readSync(fd, bytes, 0, 8, 16) < 8 ? "" : bytes.toString("hex");
}

/** The two numbers in the first page of a file that only grow (https://www.sqlite.org/fileformat.html, section 1.3). */
export interface FileCounts {
  /** Changes of the file; in WAL mode not every one counts. */
  readonly changes: number;
  /** Changes of the schema. */
  readonly schema: number;
}

/** Reads the counts of a file. Those that are in the log alone do not count yet. */
export function readCounts(fd: number): FileCounts {
  const bytes = Buffer.alloc(20);
  readSync(fd, bytes, 0, bytes.length, 24);
  return { changes: bytes.readUInt32BE(0), schema: bytes.readUInt32BE(16) };
}

/** Descriptors by the file that they are of, and how many stores use each. */
const opened = new Map<string, { readonly fd: number; users: number }>();

/**
 * Opens a file that SQLite locks, to be read. Stores of one thread have one descriptor of a file, since closing any of
 * them would drop the locks that SQLite holds on it for another store (https://www.sqlite.org/howtocorrupt.html, section 2.2).
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

/** Closes what `openBeside` gave, when no other store uses it. */
export function closeBeside(fd: number): void {
  for (const [key, known] of opened) {
    if (known.fd !== fd || --known.users > 0) continue;
    opened.delete(key);
    closeSync(fd);
  }
}

/** One of a store's files, and what tells it from another: an inode is not used again while it is open. */
export interface OpenFile {
  readonly name: string;
  readonly dev: number;
  readonly ino: number;
}
