import type { ConversationKey } from "../task-store.js";
import { ContextCounters } from "./context-counters.js";
import type { Database } from "./driver/driver.js";

/** Terminal states as stored. Numbers, because the writer thread loads no protocol code. */
const OVER: ReadonlySet<number> = new Set([3, 4, 5, 7]);

interface Change {
  readonly tenant: string;
  readonly owner: string;
  readonly state: number;
  tasks: number;
}

const ADD =
  "INSERT INTO counter (tenant, owner, state, tasks) VALUES (?, ?, ?, ?) " +
  "ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks";
const ADD_TO_TOTAL =
  "INSERT INTO owner_total (owner, tasks, configs) VALUES (?, ?, ?) " +
  "ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks, configs = configs + excluded.configs";

/**
 * Collects the changes of a commit to the number of tasks by owner and state, so that each row of `counter` is written
 * once per commit instead of once per task.
 */
export class Counters {
  readonly #db: Database;
  readonly #contexts: ContextCounters;
  #changes = new Map<string, Change>();
  /** Owners of removed tasks, by tenant and owner. */
  #removed = new Map<string, Pick<Change, "tenant" | "owner">>();

  constructor(db: Database) {
    this.#db = db;
    this.#contexts = new ContextCounters(db);
  }

  /** Adds `tasks` (possibly negative) to a state of an owner and of the context. */
  add(of: ConversationKey, state: number, tasks: number): void {
    this.#contexts.add(of, state, tasks);
    const key = `${of.tenant.length}:${of.tenant}${of.owner}:${state}`;
    const change = this.#changes.get(key);
    if (change === undefined) this.#changes.set(key, { tenant: of.tenant, owner: of.owner, state, tasks });
    else change.tasks += tasks;
  }

  /** Subtracts a removed task. An owner without tasks keeps no counters. */
  removed(of: ConversationKey, state: number): void {
    this.add(of, state, -1);
    const { tenant, owner } = of;
    this.#removed.set(`${tenant.length}:${tenant}${owner}`, { tenant, owner });
  }

  /** Writes the collected changes, in the transaction that changed the tasks. */
  flush(): void {
    for (const { tenant, owner, state, tasks } of this.#changes.values()) {
      if (tasks !== 0) this.#db.command(ADD).run(tenant, owner, state, tasks);
    }
    this.#flushTotals();
    for (const { tenant, owner } of this.#removed.values()) {
      this.#db.command("DELETE FROM counter WHERE tenant = ? AND owner = ? AND tasks = 0").run(tenant, owner);
      this.#db.command("DELETE FROM owner_total WHERE owner = ? AND tasks = 0 AND configs = 0").run(owner);
    }
    this.#contexts.flush();
    this.clear();
  }

  /** Tasks with a tenant also count in the total of their owner across tenants. */
  #flushTotals(): void {
    let totals: Map<string, number> | undefined;
    for (const { tenant, owner, state, tasks } of this.#changes.values()) {
      if (tenant === "" || OVER.has(state)) continue;
      totals ??= new Map();
      totals.set(owner, (totals.get(owner) ?? 0) + tasks);
    }
    if (totals === undefined) return;
    for (const [owner, tasks] of totals) if (tasks !== 0) addToTotal(this.#db, owner, tasks, 0);
  }

  /** Drops the collected changes after a rollback. */
  clear(): void {
    // Not clear(): in V8 the table of each commit would then refer to the next one (see core/maps.ts).
    if (this.#changes.size > 0) this.#changes = new Map();
    if (this.#removed.size > 0) this.#removed = new Map();
    this.#contexts.clear();
  }
}

/**
 * Adds open tasks and push configurations to the total of an owner across all tenants but the empty one (`owner_total`),
 * in the transaction that changes the counted rows. Either may be negative.
 */
export function addToTotal(db: Database, owner: string, tasks: number, configs: number): void {
  db.command(ADD_TO_TOTAL).run(owner, tasks, configs);
}
