import type { Database } from "./driver/driver.js";

/** Totals of owners across all tenants but the empty one (`owner_total`). */
export interface OwnerTotals {
  /** Adds open tasks and push configurations; either may be negative. */
  add(owner: string, tasks: number, configs: number): void;
  /** Number of an owner's push configurations that count towards its limit under these tenants. */
  configsOf(owner: string): number;
}

/** Returns the totals of a file. They are updated in the transaction that changes the counted rows. */
export function ownerTotalsIn(db: Database): OwnerTotals {
  const add = db.command<[string, number, number]>(
    "INSERT INTO owner_total (owner, tasks, configs) VALUES (?, ?, ?) " +
      "ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks, configs = configs + excluded.configs",
  );
  const configs = db.values<[string], number>("SELECT configs FROM owner_total WHERE owner = ?");
  return {
    add: (owner, tasks, more) => void add.run(owner, tasks, more),
    configsOf: (owner) => configs.get(owner) ?? 0,
  };
}
