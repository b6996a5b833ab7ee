import type { LogEntry } from "../../../gen/parley/log/v1/log_pb.js";
import type { TaskStore } from "../../store/task-store.js";
import { decodeEntry, noteSize } from "../../task/entry.js";

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
