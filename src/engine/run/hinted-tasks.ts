import type { TaskLog } from "../log/task-log.js";
import type { TaskLogCache } from "../log/task-log-cache.js";

/** Maximum number of concurrent reads. A process with many followers must leave connections for its appends. */
const MOST_READS = 8;

/**
 * Tasks in use here that other processes have changed. One read of a task serves all hints that arrived before the read
 * began.
 */
export class HintedTasks {
  readonly #logs: TaskLogCache;
  readonly #refresh: (log: TaskLog) => Promise<void>;
  readonly #due = new Set<string>();
  readonly #reading = new Set<string>();

  /** @param refresh reads the changes of a task; never rejects */
  constructor(logs: TaskLogCache, refresh: (log: TaskLog) => Promise<void>) {
    this.#logs = logs;
    this.#refresh = refresh;
  }

  add(taskIds: readonly string[]): void {
    for (const taskId of taskIds) if (this.#logs.get(taskId) !== undefined) this.#due.add(taskId);
    this.#begin();
  }

  /** Drops the reads that have not begun. */
  end(): void {
    this.#due.clear();
  }

  #begin(): void {
    for (const taskId of this.#due) {
      if (this.#reading.size >= MOST_READS) return;
      if (!this.#reading.has(taskId)) void this.#read(taskId);
    }
  }

  async #read(taskId: string): Promise<void> {
    this.#due.delete(taskId);
    const log = this.#logs.get(taskId);
    if (log === undefined) return;
    this.#reading.add(taskId);
    await this.#refresh(log);
    this.#reading.delete(taskId);
    this.#begin();
  }
}
