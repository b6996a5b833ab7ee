import type { ConversationKey } from "../task-store.js";
import type { Command, Database, Query } from "./driver/driver.js";

/** Contexts up to this size are counted along the index. Larger ones have counter rows. */
const UNCOUNTED_TASKS = 64;

interface Change {
  readonly key: [tenant: string, owner: string, contextId: string];
  readonly states: Map<number, number>;
}

/**
 * Counts the tasks of each large context by state (`context_counter`), so that the total of a list scans no tasks. Most
 * contexts have one task and get no rows, which would cost one more insertion per task.
 */
export class ContextCounters {
  #changes = new Map<string, Change>();
  readonly #isCounted: Query<[string, string, string], number>;
  readonly #isLarge: Query<[string, string, string], number>;
  readonly #begin: Command<[string, string, string]>;
  readonly #add: Command<[string, string, string, number, number]>;
  readonly #sweep: Command<[string, string, string]>;

  constructor(db: Database) {
    const place = "tenant = ? AND owner = ? AND context_id = ?";
    this.#isCounted = db.values(`SELECT 1 FROM context_counter WHERE ${place} LIMIT 1`);
    this.#isLarge = db.values(
      `SELECT 1 FROM head INDEXED BY head_by_context WHERE ${place} LIMIT 1 OFFSET ${UNCOUNTED_TASKS}`,
    );
    this.#begin = db.command(
      "INSERT INTO context_counter (tenant, owner, context_id, state, tasks) SELECT tenant, owner, context_id, state, count(*) " +
        `FROM head INDEXED BY head_by_context WHERE ${place} GROUP BY state`,
    );
    this.#add = db.command(
      "INSERT INTO context_counter (tenant, owner, context_id, state, tasks) VALUES (?, ?, ?, ?, ?) " +
        "ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks",
    );
    this.#sweep = db.command(`DELETE FROM context_counter WHERE ${place} AND tasks = 0`);
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
      if (this.#isCounted.get(...key) !== undefined) this.#save(key, states);
      // The count includes the tasks of this transaction.
      else if (sum(states) > 0 && this.#isLarge.get(...key) !== undefined) this.#begin.run(...key);
    }
    this.clear();
  }

  #save(key: Change["key"], states: Change["states"]): void {
    for (const [state, tasks] of states) if (tasks !== 0) this.#add.run(...key, state, tasks);
    this.#sweep.run(...key);
  }

  /** Drops the collected changes after a rollback. */
  clear(): void {
    // Not clear(): V8 would let the table of every commit refer to the next one's (see core/maps.ts).
    if (this.#changes.size > 0) this.#changes = new Map();
  }
}

function sum(states: ReadonlyMap<number, number>): number {
  let total = 0;
  for (const tasks of states.values()) total += tasks;
  return total;
}
