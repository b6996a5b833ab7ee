import type { ConversationKey } from "../task-store.js";
import { ContextCounters } from "./context-counters.js";
import type { Command, Database } from "./driver/driver.js";

/** Terminal states as stored. Numbers, because the writer thread loads no protocol code. */
const OVER: ReadonlySet<number> = new Set([3, 4, 5, 7]);

interface Change {
  readonly tenant: string;
  readonly owner: string;
  readonly state: number;
  tasks: number;
}

/**
 * Collects the changes of a commit to the number of tasks by owner and state, so that each row of `counter` is written
 * once per commit instead of once per task.
 */
export class Counters {
  #changes = new Map<string, Change>();
  readonly #save: (change: Change) => void;
  /** Owners of removed tasks, by tenant and owner. */
  #removed = new Map<string, Pick<Change, "tenant" | "owner">>();
  readonly #sweep: Command<[string, string]>;
  readonly #contexts: ContextCounters;
  readonly #addToTotal: (owner: string, tasks: number) => void;
  readonly #sweepTotal: (owner: string) => void;

  constructor(db: Database) {
    const upsert = db.command<[string, string, number, number]>(
      "INSERT INTO counter (tenant, owner, state, tasks) VALUES (?, ?, ?, ?) " +
        "ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks",
    );
    this.#sweep = db.command("DELETE FROM counter WHERE tenant = ? AND owner = ? AND tasks = 0");
    this.#contexts = new ContextCounters(db);
    const totals = ownerTotalsIn(db);
    this.#addToTotal = (owner, tasks) => totals.add(owner, tasks, 0);
    this.#sweepTotal = totals.sweep;
    this.#save = ({ tenant, owner, state, tasks }) => upsert.run(tenant, owner, state, tasks);
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
    for (const change of this.#changes.values()) {
      if (change.tasks !== 0) this.#save(change);
    }
    this.#flushTotals();
    for (const { tenant, owner } of this.#removed.values()) {
      this.#sweep.run(tenant, owner);
      this.#sweepTotal(owner);
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
    for (const [owner, tasks] of totals) if (tasks !== 0) this.#addToTotal(owner, tasks);
  }

  /** Drops the collected changes after a rollback. */
  clear(): void {
    // Not clear(): V8 would let the table of every commit refer to the next one's (see core/maps.ts).
    if (this.#changes.size > 0) this.#changes = new Map();
    if (this.#removed.size > 0) this.#removed = new Map();
    this.#contexts.clear();
  }
}

/** Totals of owners across all tenants but the empty one (`owner_total`). */
export interface OwnerTotals {
  /** Adds open tasks and push configurations; either may be negative. */
  add(owner: string, tasks: number, configs: number): void;
  /** Removes the total of an owner that has nothing left. */
  sweep(owner: string): void;
  /** Number of an owner's push configurations that count towards its limit under these tenants. */
  configsOf(owner: string): number;
}

/** Returns the totals of a file. They are updated in the transaction that changes the counted rows. */
export function ownerTotalsIn(db: Database): OwnerTotals {
  const add = db.command<[string, number, number]>(
    "INSERT INTO owner_total (owner, tasks, configs) VALUES (?, ?, ?) " +
      "ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks, configs = configs + excluded.configs",
  );
  const sweep = db.command<[string]>("DELETE FROM owner_total WHERE owner = ? AND tasks = 0 AND configs = 0");
  const configs = db.values<[string], number>("SELECT configs FROM owner_total WHERE owner = ?");
  return {
    add: (owner, tasks, more) => void add.run(owner, tasks, more),
    sweep: (owner) => void sweep.run(owner),
    configsOf: (owner) => configs.get(owner) ?? 0,
  };
}
