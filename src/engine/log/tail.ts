import type { LogEntry } from "../../../gen/parley/log/v1/log_pb.js";
import { callAll } from "../../core/event-loop.js";
import type { TaskStore } from "../../store/task-store.js";
import { decodeEntry, noteSize } from "../../task/entry.js";

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

/** Those that wait for the next news of a task. */
export class Waiters {
  #waiting = new Set<() => void>();

  /** Calls back once, at the next news. */
  onNext(callback: () => void): void {
    this.#waiting.add(callback);
  }

  /** Takes that back. */
  forget(callback: () => void): void {
    this.#waiting.delete(callback);
  }

  /** Calls all that wait. */
  notify(): void {
    if (this.#waiting.size === 0) return;
    const waiting = this.#waiting;
    // Not clear(): V8 would let the table of every call refer to the next one's (see core/maps.ts).
    this.#waiting = new Set();
    callAll(waiting);
  }
}

/** Entries that one page has at most. */
const pageSize = 16;

/** Pages of a task that are kept for the readers right behind, unless they have more than so many bytes as stored. */
const keptPages = 8;
const keptBytes = 128 * 1024;

/**
 * Entries that the tail does not have any more, page by page from the store. Readers that fell behind together read
 * the same pages: each is read and decoded once, as long as they are close to each other. Pages end at multiples of
 * their size, so that readers who fell behind at different places come to share them.
 */
export class LogPageCache {
  readonly #store: TaskStore;
  readonly #taskId: string;
  /** By the position that they come after, the least recently made first. */
  readonly #kept = new Map<number, Promise<readonly LogEntry[]>>();

  constructor(store: TaskStore, taskId: string) {
    this.#store = store;
    this.#taskId = taskId;
  }

  /** The next entries after a position: some, not necessarily all; none when the store has none. */
  async after(position: number): Promise<readonly LogEntry[]> {
    const known = this.#kept.get(position);
    if (known !== undefined) return known;
    const page = this.#read(position);
    this.#kept.set(position, page);
    if (this.#kept.size > keptPages) this.#kept.delete(this.#kept.keys().next().value as number);
    // What is not there yet may be there the next time.
    const forget = (): boolean => this.#kept.get(position) === page && this.#kept.delete(position);
    page.then((entries) => entries.length === 0 && forget(), forget);
    return page;
  }

  async #read(after: number): Promise<readonly LogEntry[]> {
    const limit = pageSize - (after % pageSize);
    const read = await this.#store.read({ taskId: this.#taskId, after, limit });
    if (read.reduce((sum, bytes) => sum + bytes.length, 0) > keptBytes) this.#kept.delete(after);
    return read.map((bytes) => noteSize(decodeEntry(bytes), bytes.length));
  }
}
