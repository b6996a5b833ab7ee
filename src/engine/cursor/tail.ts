import type { LogEntry } from "../../../gen/parley/log/v1/log_pb.js";

/** The tail keeps at most this many entries. */
const maxEntries = 512;

/** It keeps at most about this many bytes, but always the newest entry. */
const maxBytes = 512 * 1024;

/**
 * The newest entries of a task in memory, one copy for all its readers. A reader that falls behind it reads from the
 * store instead, so a slow reader costs nothing here.
 */
export class Tail {
  #entries: LogEntry[] = [];
  #sizes: number[] = [];
  #bytes = 0;
  /** Position before the first kept entry. */
  #start: number;

  /** @param position where the log ends when the tail begins */
  constructor(position: number) {
    this.#start = position;
  }

  /** Takes the next entry, with its size in bytes as stored. */
  push(entry: LogEntry, size: number): void {
    this.#entries.push(entry);
    this.#sizes.push(size);
    this.#bytes += size;
    if (this.#entries.length > maxEntries || this.#bytes > maxBytes) this.#drop();
  }

  /** The entries after a position, or undefined when they are not all here any more. */
  after(position: number): readonly LogEntry[] | undefined {
    if (position < this.#start) return undefined;
    return position === this.#start ? this.#entries.slice() : this.#entries.slice(position - this.#start);
  }

  /** Halves at once, so that dropping costs little per entry. */
  #drop(): void {
    let drop = 0;
    while (
      drop < this.#entries.length - 1 &&
      (this.#entries.length - drop > maxEntries / 2 || this.#bytes > maxBytes / 2)
    ) {
      this.#bytes -= this.#sizes[drop] ?? 0;
      drop++;
    }
    this.#entries = this.#entries.slice(drop);
    this.#sizes = this.#sizes.slice(drop);
    this.#start += drop;
  }
}
