import type { ConversationKey } from "../task-store.js";
import type { Database } from "./driver/driver.js";

/** Contexts up to this size are counted along the index. Larger ones have counter rows. */
const UNCOUNTED_TASKS = 64;

interface Change {
  readonly key: [tenant: string, owner: string, contextId: string];
  readonly states: Map<number, number>;
}

const PLACE = "tenant = ? AND owner = ? AND context_id = ?";
const IS_COUNTED = `SELECT 1 FROM context_counter WHERE ${PLACE} LIMIT 1`;
const IS_LARGE = `SELECT 1 FROM head INDEXED BY head_by_context WHERE ${PLACE} LIMIT 1 OFFSET ${UNCOUNTED_TASKS}`;
const BEGIN =
  "INSERT INTO context_counter (tenant, owner, context_id, state, tasks) SELECT tenant, owner, context_id, state, count(*) " +
  `FROM head INDEXED BY head_by_context WHERE ${PLACE} GROUP BY state`;
const ADD =
  "INSERT INTO context_counter (tenant, owner, context_id, state, tasks) VALUES (?, ?, ?, ?, ?) " +
  "ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks";
const SWEEP = `DELETE FROM context_counter WHERE ${PLACE} AND tasks = 0`;

/**
 * Counts the tasks of each large context by state (`context_counter`), so that the total of a list scans no tasks. Most
 * contexts have one task and get no rows, which would cost one more insertion per task.
 */
export class ContextCounters {
  readonly #db: Database;
  #changes = new Map<string, Change>();

  constructor(db: Database) {
    this.#db = db;
  }

  /** Adds `tasks` (possibly negative) to a state of a context. */
  add({ tenant, owner, contextId }: ConversationKey, state: number, tasks: number): void {
    const key = `${tenant.length}:${tenant}${owner.length}:${owner}${contextId}`;
    const change = this.#changes.get(key) ?? { key: [tenant, owner, contextId], states: new Map<number, number>() };
    this.#changes.set(key, change);
    change.states.set(state, (change.states.get(state) ?? 0) + tasks);
  }

  /** Writes the collected changes, in the transaction that changed the tasks and after those changes. */
  flush(): void {
    for (const { key, states } of this.#changes.values()) {
      if (this.#db.values(IS_COUNTED).get(...key) !== undefined) this.#save(key, states);
      // The count includes the tasks of this transaction.
      else if (sum(states) > 0 && this.#db.values(IS_LARGE).get(...key) !== undefined)
        this.#db.command(BEGIN).run(...key);
    }
    this.clear();
  }

  #save(key: Change["key"], states: Change["states"]): void {
    for (const [state, tasks] of states) if (tasks !== 0) this.#db.command(ADD).run(...key, state, tasks);
    this.#db.command(SWEEP).run(...key);
  }

  /** Drops the collected changes after a rollback. */
  clear(): void {
    // Not clear(): in V8 the table of each commit would then refer to the next one (see core/maps.ts).
    if (this.#changes.size > 0) this.#changes = new Map();
  }
}

function sum(states: ReadonlyMap<number, number>): number {
  let total = 0;
  for (const tasks of states.values()) total += tasks;
  return total;
}
