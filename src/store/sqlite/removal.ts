import { INCREMENTAL, PAGE_BYTES } from "./connection.js";
import { removeOrphan } from "./conversations.js";
import type { Counters } from "./counters.js";
import type { Database } from "./driver/driver.js";
import { pushesRemoved } from "./push-configs.js";
import type { RemovalStep, WriteRequest } from "./write.js";

/** Tables in which a task has few and small rows, removed together with it. */
const TABLES = ["snapshot", "send", "push_config", "push_attempt", "head"];

/** Bytes of large values that one step deletes at most, so that appends after it wait only briefly. */
const STEP_BYTES = 8 * 1024 * 1024;

/** Rows that one step deletes at most. */
const STEP_ROWS = 1_024;

/** Pages that one step returns to the file system, 1 MiB: SQLite first moves their contents. */
const STEP_PAGES = 256;

/** Free pages to keep for later writes, 16 MiB or an eighth of the file. */
const SPARE_PAGES = 4_096;
const SPARE_PART = 8;

type RemovableRow = [
  taskId: string,
  tenant: string,
  owner: string,
  contextId: string,
  state: number,
  pushed: number,
  finishedAt: number | null,
];

const REMOVABLE = "SELECT task_id, tenant, owner, context_id, state, pushed, finished_at FROM head";

/**
 * Removes old finished tasks, oldest first, and named tasks. Deleting its head removes a task; the remaining rows of a
 * large one become garbage, which later steps delete. Steps that find nothing else shrink the file if much of it is
 * free; its size changes at the next checkpoint.
 */
export class Removal {
  readonly #db: Database;
  readonly #counters: Counters;
  /** The newest entries first: a concurrent reader sees an early end, and never a gap. */
  readonly #sweepers: readonly Sweeper[];
  /** True if the file can shrink, which is decided at its creation. */
  readonly #shrinks: boolean;
  /** Bytes returned since the last `takeGivenBack`. */
  #givenBack = 0;

  constructor(db: Database, counters: Counters) {
    this.#db = db;
    this.#counters = counters;
    this.#shrinks = db.pragma("auto_vacuum") === INCREMENTAL;
    this.#sweepers = [new Sweeper(db, "segment", ["last"]), new Sweeper(db, "snapshot_piece", ["position", "piece"])];
  }

  removeFinished({ before, limit }: WriteRequest<"removeFinished">): RemovalStep {
    const sql = `${REMOVABLE} INDEXED BY head_finished WHERE finished_at < ? AND pushed < 2 ORDER BY finished_at LIMIT ?`;
    return this.#remove(() => this.#db.rows<RemovableRow>(sql).all(before, limit));
  }

  removeTasks({ taskIds, unfinished = false }: WriteRequest<"removeTasks">): RemovalStep {
    return this.#remove(() => {
      const named = this.#db.rows<RemovableRow>(`${REMOVABLE} WHERE task_id = ?`);
      const rows = taskIds.map((taskId) => named.get(taskId));
      return rows
        .filter((row) => row !== undefined)
        .filter(([, , , , , , finishedAt]) => unfinished || finishedAt !== null);
    });
  }

  #remove(find: () => RemovableRow[]): RemovalStep {
    const budget = { bytes: STEP_BYTES, rows: STEP_ROWS };
    const garbage = this.#db.values<string>("SELECT task_id FROM garbage WHERE task_id > '' LIMIT 1");
    for (let taskId = garbage.get(); taskId !== undefined; taskId = garbage.get()) {
      if (!this.#sweep(taskId, budget)) return { removed: 0, more: true, spare: false };
      this.#db.command("DELETE FROM garbage WHERE task_id = ?").run(taskId);
    }
    const rows = find();
    let more = false;
    for (const [taskId, tenant, owner, contextId, state, pushed, finishedAt] of rows) {
      const finished = finishedAt !== null;
      if (!finished || pushed > 0) pushesRemoved(this.#db, { taskId, tenant, owner, finished });
      for (const table of TABLES) this.#db.command(`DELETE FROM ${table} WHERE task_id = ?`).run(taskId);
      this.#counters.removed({ tenant, owner, contextId }, state);
      removeOrphan(this.#db, { tenant, owner, contextId });
      if (this.#sweep(taskId, budget)) continue;
      this.#db.command("INSERT INTO garbage (task_id) VALUES (?)").run(taskId);
      more = true;
    }
    if (rows.length === 0) this.#giveBack();
    return { removed: rows.length, more, spare: !more && this.#sparePages() > 0 };
  }

  /** Bytes returned to the file system since the last call: SQLite's log most likely contains them. */
  takeGivenBack(): number {
    const bytes = this.#givenBack;
    this.#givenBack = 0;
    return bytes;
  }

  /** Removes pages from the end of the file; SQLite first moves their contents to free pages. */
  #giveBack(): void {
    const pages = Math.min(this.#sparePages(), STEP_PAGES);
    if (pages <= 0) return;
    this.#db.exec(`PRAGMA incremental_vacuum(${pages})`);
    this.#givenBack += pages * PAGE_BYTES;
  }

  /** Free pages beyond the reserve; may be negative. */
  #sparePages(): number {
    if (!this.#shrinks) return 0;
    const pages = Number(this.#db.pragma("page_count"));
    return Number(this.#db.pragma("freelist_count")) - Math.max(SPARE_PAGES, Math.floor(pages / SPARE_PART));
  }

  /** Deletes within the budget; returns true if nothing is left. */
  #sweep(taskId: string, budget: Budget): boolean {
    return this.#sweepers.every((sweeper) => sweeper.sweep(taskId, budget));
  }
}

interface Budget {
  bytes: number;
  rows: number;
}

/** Deletes the rows of a task from a table, from the end of its key, with their values in `blob`. */
class Sweeper {
  readonly #db: Database;
  readonly #rows: string;
  readonly #remove: string;

  /** @param key columns of the primary key after `task_id` */
  constructor(db: Database, table: string, key: readonly string[]) {
    this.#db = db;
    this.#rows =
      `SELECT t.blob, length(b.bytes), ${key.map((column) => `t.${column}`).join(", ")} FROM ${table} t LEFT JOIN blob b ` +
      `ON b.id = t.blob WHERE t.task_id = ? ORDER BY ${key.map((column) => `t.${column} DESC`).join(", ")} LIMIT ?`;
    this.#remove = `DELETE FROM ${table} WHERE task_id = ? AND ${key.map((column) => `${column} = ?`).join(" AND ")}`;
  }

  /** Returns true if no row is left. */
  sweep(taskId: string, budget: Budget): boolean {
    const next = this.#db.rows<[blob: number | null, size: number | null, ...key: number[]]>(this.#rows);
    while (budget.rows > 0 && budget.bytes > 0) {
      const rows = next.all(taskId, budget.rows);
      if (rows.length === 0) return true;
      for (const [blob, size, ...key] of rows) {
        if (blob !== null) this.#db.command("DELETE FROM blob WHERE id = ?").run(blob);
        this.#db.command(this.#remove).run(taskId, ...key);
        budget.rows -= 1;
        budget.bytes -= size ?? 0;
        if (budget.bytes <= 0) break;
      }
    }
    return false;
  }
}
