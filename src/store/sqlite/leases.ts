import type { Database, Statement } from "better-sqlite3";
import type { TaskHead } from "../task-store.js";
import { HEAD_COLUMNS, type HeadRow, toHead } from "./rows.js";
import type { WriteRequest } from "./write.js";

type Nullable = string | number | null;

/** Leases inside a transaction that holds the write lock, so that two processes never claim the same one. */
export class Leases {
  readonly #expired: Statement<[number, number], HeadRow>;
  readonly #claim: Statement<[string, number, string]>;
  readonly #renew: Statement<[number, string, string]>;
  readonly #set: Statement<Nullable[]>;

  constructor(db: Database) {
    this.#expired = db
      .prepare<[number, number], HeadRow>(
        `SELECT ${HEAD_COLUMNS} FROM head INDEXED BY head_leased WHERE lease_until <= ? ORDER BY lease_until LIMIT ?`,
      )
      .raw();
    this.#claim = db.prepare(
      "UPDATE head SET lease_holder = ?, lease_until = ?, lease_attempt = lease_attempt + 1 WHERE task_id = ?",
    );
    this.#renew = db.prepare("UPDATE head SET lease_until = ? WHERE task_id = ? AND lease_holder = ?");
    this.#set = db.prepare(
      "UPDATE head SET lease_holder = ?, lease_until = ?, lease_turn = ?, lease_attempt = ? " +
        "WHERE task_id = ? AND lease_holder = ? AND position = ifnull(?, position)",
    );
  }

  claim({ holder, now, until, limit }: WriteRequest<"claimLeases">): TaskHead[] {
    const claimed: TaskHead[] = [];
    for (const row of this.#expired.all(now, limit)) {
      const head = toHead(row);
      if (head.lease === null) continue;
      this.#claim.run(holder, until, head.taskId);
      claimed.push({ ...head, lease: { ...head.lease, holder, until, attempt: head.lease.attempt + 1 } });
    }
    return claimed;
  }

  renew({ holder, taskIds, until }: WriteRequest<"renewLeases">): string[] {
    return taskIds.filter((taskId) => this.#renew.run(until, taskId, holder).changes > 0);
  }

  set({ taskId, holder, lease, expected }: WriteRequest<"setLease">): boolean {
    const values: Nullable[] =
      lease === null ? [null, null, null, null] : [lease.holder, lease.until, lease.turn, lease.attempt];
    return this.#set.run(...values, taskId, holder, expected ?? null).changes > 0;
  }
}

/** Puts every lease up for a claim at once, for whoever knows that the processes that had them are gone. */
export function endLeases(db: Database): void {
  db.exec("UPDATE head SET lease_until = 0 WHERE lease_until > 0");
}
