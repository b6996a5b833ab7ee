import type { LogEntry } from "../../../gen/parley/log/v1/log_pb.js";
import { callAll } from "../../core/event-loop.js";
import { defined } from "../../core/members.js";
import type { TaskStore } from "../../store/task-store.js";
import { decodeEntry, noteSize } from "../../task/entry.js";

/** Maximum number of entries in the tail. */
const maxEntries = 512;

/** Approximate maximum bytes in the tail; the newest entry is always kept. */
const maxBytes = 512 * 1024;

/**
 * Keeps the newest entries of a task in memory, one copy for all readers. A reader that falls behind reads from the
 * store instead, so a slow reader costs nothing here.
 */
export class Tail {
  #entries: LogEntry[] = [];
  #sizes: number[] = [];
  #bytes = 0;
  /** Position before the first kept entry. */
  #start: number;

  /** @param position end of the log when the tail begins */
  constructor(position: number) {
    this.#start = position;
  }

  /** Adds the next entry, with its size in bytes as stored. */
  push(entry: LogEntry, size: number): void {
    this.#entries.push(entry);
    this.#sizes.push(size);
    this.#bytes += size;
    if (this.#entries.length > maxEntries || this.#bytes > maxBytes) this.#drop();
  }

  /** Returns the entries after a position, or undefined if some of them were dropped. */
  after(position: number): readonly LogEntry[] | undefined {
    if (position < this.#start) return undefined;
    return position === this.#start ? this.#entries.slice() : this.#entries.slice(position - this.#start);
  }

  /** Drops half of the entries at once, so that dropping costs little per entry. */
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

/** Callbacks that wait for the next change of a task. */
export class ChangeListeners {
  #waiting = new Set<() => void>();

  /** Calls back once, at the next change. */
  onNext(callback: () => void): void {
    this.#waiting.add(callback);
  }

  forget(callback: () => void): void {
    this.#waiting.delete(callback);
  }

  /** Calls and removes all callbacks. */
  notify(): void {
    if (this.#waiting.size === 0) return;
    const waiting = this.#waiting;
    // Not clear(): in V8 the table of each call would then refer to the next one (see core/maps.ts).
    this.#waiting = new Set();
    callAll(waiting);
  }
}

/** Maximum number of entries per page. */
const pageSize = 16;

/** Pages per task cached for closely following readers, unless a page exceeds `keptBytes` as stored. */
const keptPages = 8;
const keptBytes = 128 * 1024;

/**
 * Reads entries that the tail has dropped, page by page from the store. Readers at about the same position share pages,
 * so each page is read and decoded once. Pages end at multiples of their size, so that readers at different positions
 * converge on the same ones.
 */
export class LogPageCache {
  readonly #store: TaskStore;
  readonly #taskId: string;
  /** Keyed by the position before the page, oldest first. */
  readonly #kept = new Map<number, Promise<readonly LogEntry[]>>();

  constructor(store: TaskStore, taskId: string) {
    this.#store = store;
    this.#taskId = taskId;
  }

  /** Returns some of the next entries after a position, or an empty list at the end of the stored log. */
  async after(position: number): Promise<readonly LogEntry[]> {
    const known = this.#kept.get(position);
    if (known !== undefined) return known;
    const page = this.#read(position);
    this.#kept.set(position, page);
    if (this.#kept.size > keptPages) this.#kept.delete(defined(this.#kept.keys().next().value));
    // An empty page is read again next time, since entries may follow.
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
