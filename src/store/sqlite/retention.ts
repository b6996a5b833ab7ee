import type { Database, Statement } from "better-sqlite3";
import type { Counters } from "./counters.js";
import type { WriteRequest } from "./write.js";

/** Every table that has rows of a task. */
const TABLES = ["segment", "snapshot", "send", "push_config", "head"];

type FinishedRow = [taskId: string, tenant: string, owner: string, state: number];

/** Removes what is over and old enough, the oldest first. */
export class Retention {
  readonly #counters: Counters;
  readonly #finished: Statement<[number, number], FinishedRow>;
  readonly #removals: readonly Statement<[string]>[];

  constructor(db: Database, counters: Counters) {
    this.#counters = counters;
    this.#finished = db
      .prepare<[number, number], FinishedRow>(
        "SELECT task_id, tenant, owner, state FROM head INDEXED BY head_finished WHERE finished_at < ? " +
          "ORDER BY finished_at LIMIT ?",
      )
      .raw();
    this.#removals = TABLES.map((table) => db.prepare(`DELETE FROM ${table} WHERE task_id = ?`));
  }

  removeFinished({ before, limit }: WriteRequest<"removeFinished">): number {
    const rows = this.#finished.all(before, limit);
    for (const [taskId, tenant, owner, state] of rows) {
      for (const removal of this.#removals) removal.run(taskId);
      this.#counters.add({ tenant, owner }, state, -1);
    }
    return rows.length;
  }
}
