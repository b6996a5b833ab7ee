import { holds } from "../check.js";
import { type HeadRow, toHead } from "../head-rows.js";
import { LivenessMonitor } from "../liveness.js";
import { NO_HOLDER, type TaskHead } from "../task-store.js";
import type { Database } from "./driver/driver.js";
import { HEAD_COLUMNS } from "./rows.js";
import type { WriteRequest, WriteResult } from "./write.js";

const OF = `SELECT ${HEAD_COLUMNS} FROM head INDEXED BY head_leased WHERE lease_holder = ? ORDER BY task_id LIMIT ?`;
const NEXT =
  "SELECT lease_holder FROM head INDEXED BY head_leased WHERE lease_holder > ? ORDER BY lease_holder LIMIT 1";
const NEXT_DELIVERING = "SELECT holder FROM push_config INDEXED BY push_held WHERE holder > ? ORDER BY holder LIMIT 1";

/** Leases inside a transaction that holds the write lock, so that two processes never claim the same one. */
export class Leases {
  readonly #db: Database;
  readonly #watch = new LivenessMonitor();
  /** Evicted holders that were not notified yet. */
  readonly #lost = new Set<string>();
  /** Holders whose notification is part of the transaction. */
  readonly #notified: string[] = [];
  /** Holders whose process is known to be gone, because no other process can have the file. */
  readonly #deadHolders: readonly string[] | undefined;
  /** Random start, so that no thread repeats the number of another. */
  #heartbeat = Math.floor(Math.random() * 2 ** 48);

  /**
   * @param deadHolders holders whose processes are gone; undefined (unknown) if other processes may have the file
   * @param ended some of the holders whose processes are gone, if not all are known
   */
  constructor(db: Database, deadHolders: readonly string[] | undefined, ended: readonly string[] = []) {
    this.#db = db;
    this.#deadHolders = deadHolders;
    this.#watch.end(ended);
  }

  /** A heartbeat, from the holder itself or, while its event loop is blocked, on its behalf (`forHolder`). */
  heartbeat({ holder, leaseMs, again }: WriteRequest<"heartbeat">, forHolder = false): WriteResult<"heartbeat"> {
    // A heartbeat also checks the other holders: it is on time even when claims are late.
    if (this.#deadHolders === undefined) this.#expiredHolders(leaseMs);
    const heartbeat = this.#heartbeat++;
    let lost = this.#lost.has(holder);
    const renew = this.#db.command("UPDATE holder SET beat = ? WHERE id = ?");
    if (renew.run(heartbeat, holder).changes === 0) {
      lost ||= again;
      this.#db.command("INSERT INTO holder (id, beat) VALUES (?, ?)").run(holder, heartbeat);
    }
    // A heartbeat by the writer thread leaves the notification for the holder itself.
    if (forHolder && lost) this.#lost.add(holder);
    else if (this.#lost.delete(holder)) this.#notified.push(holder);
    return !lost;
  }

  claim({ holder, leaseMs, limit, ended }: WriteRequest<"claimLeases">): TaskHead[] {
    this.#watch.end(ended);
    const claimed: TaskHead[] = [];
    const take = this.#db.command(
      "UPDATE head SET lease_holder = ?, lease_attempt = lease_attempt + 1 WHERE task_id = ?",
    );
    for (const from of [NO_HOLDER, ...this.#expiredHolders(leaseMs)]) {
      if (from === holder) continue;
      this.#forget(from);
      for (const row of this.#db.rows<HeadRow>(OF).all(from, limit - claimed.length)) {
        const head = toHead(row);
        if (head.lease === null) continue;
        take.run(holder, head.taskId);
        claimed.push({ ...head, lease: { holder, turn: head.lease.turn, attempt: head.lease.attempt + 1 } });
      }
      if (claimed.length === limit) break;
    }
    return claimed;
  }

  /** Evicts other holders that missed their heartbeats; none if no other process can have the file. */
  evictExpired({ holder, leaseMs }: { readonly holder: string; readonly leaseMs: number }): string[] {
    if (this.#deadHolders !== undefined) return [];
    const expired = this.#expiredHolders(leaseMs).filter((from) => from !== holder);
    for (const from of expired) this.#forget(from);
    return expired;
  }

  set({ taskId, fence, lease, expected }: WriteRequest<"setLease">): WriteResult<"setLease"> {
    if (expected !== undefined) {
      const sql = "SELECT position, lease_holder, lease_attempt FROM head WHERE task_id = ?";
      const stored = this.#db.rows<[number, string | null, number | null]>(sql).get(taskId);
      const [position, holder = null, attempt = null] = stored ?? [];
      if (holder === null || !holds(fence, { holder, attempt: attempt ?? 0 })) return "lost";
      if (position !== expected) return "moved";
    }
    const values = lease === null ? [null, null, null] : [lease.holder, lease.turn, lease.attempt];
    const set = this.#db.command(
      "UPDATE head SET lease_holder = ?, lease_turn = ?, lease_attempt = ? " +
        "WHERE task_id = ? AND lease_holder = ? AND lease_attempt = ?",
    );
    const { changes } = set.run(...values, taskId, fence.holder, fence.attempt);
    return changes > 0 ? "set" : "lost";
  }

  /** Notes that the transaction is committed. */
  committed(): void {
    this.#notified.length = 0;
  }

  /** Notes that the transaction is rolled back: its notifications are not sent. */
  rolledBack(): void {
    for (const holder of this.#notified.splice(0)) this.#lost.add(holder);
  }

  #expiredHolders(leaseMs: number): readonly string[] {
    if (this.#deadHolders !== undefined) return this.#deadHolders;
    const known = this.#db.rows<[holder: string, heartbeat: number]>("SELECT id, beat FROM holder WHERE id > ''").all();
    const heartbeats = new Map<string, number | undefined>(known);
    for (const next of [NEXT, NEXT_DELIVERING]) {
      for (const holder of holders(this.#db, next)) if (!heartbeats.has(holder)) heartbeats.set(holder, undefined);
    }
    return this.#watch.check(heartbeats, leaseMs);
  }

  #forget(holder: string): void {
    this.#db.command("DELETE FROM holder WHERE id = ?").run(holder);
  }
}

export function holdersIn(db: Database): string[] {
  return holders(db, NEXT);
}

/** One query per holder, because a database has few holders but may have many leases. */
function holders(db: Database, next: string): string[] {
  const found: string[] = [];
  for (let last: string | undefined = NO_HOLDER; ; ) {
    last = db.values<string>(next).get(last);
    if (last === undefined) return found;
    found.push(last);
  }
}
