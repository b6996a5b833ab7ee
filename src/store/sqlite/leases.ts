import { holds } from "../check.js";
import { type HeadRow, toHead } from "../head-rows.js";
import { LivenessMonitor } from "../liveness.js";
import { NO_HOLDER, type TaskHead } from "../task-store.js";
import type { Command, Database, Query } from "./driver/driver.js";
import { HEAD_COLUMNS } from "./rows.js";
import type { WriteRequest, WriteResult } from "./write.js";

type Nullable = string | number | null;

/** Leases inside a transaction that holds the write lock, so that two processes never claim the same one. */
export class Leases {
  readonly #of: Query<[string, number], HeadRow>;
  readonly #claim: Command<[string, string]>;
  readonly #set: Command<Nullable[]>;
  readonly #stored: Query<[string], [position: number, holder: string | null, attempt: number | null]>;
  readonly #next: Query<[string], string>;
  readonly #nextDelivering: Query<[string], string>;
  readonly #heartbeats: Query<[], [holder: string, heartbeat: number]>;
  readonly #renew: Command<[number, string]>;
  readonly #enter: Command<[string, number]>;
  readonly #forget: Command<[string]>;
  readonly #watch = new LivenessMonitor();
  /** Evicted holders that were not notified yet. */
  readonly #lost = new Set<string>();
  /** Holders whose process is known to be gone, because no other process can have the file. */
  readonly #dead: Set<string> | undefined;
  /** Random start, so that no thread repeats the number of another. */
  #heartbeat = Math.floor(Math.random() * 2 ** 48);

  /**
   * @param gone holders whose processes are gone; undefined (unknown) if other processes may have the file
   * @param ended some of the holders whose processes are gone, if not all are known
   */
  constructor(db: Database, gone: readonly string[] | undefined, ended: readonly string[] = []) {
    this.#dead = gone && new Set(gone);
    this.#watch.end(ended);
    this.#of = db.rows<[string, number], HeadRow>(
      `SELECT ${HEAD_COLUMNS} FROM head INDEXED BY head_leased WHERE lease_holder = ? ORDER BY task_id LIMIT ?`,
    );
    this.#claim = db.command("UPDATE head SET lease_holder = ?, lease_attempt = lease_attempt + 1 WHERE task_id = ?");
    this.#set = db.command(
      "UPDATE head SET lease_holder = ?, lease_turn = ?, lease_attempt = ? " +
        "WHERE task_id = ? AND lease_holder = ? AND lease_attempt = ?",
    );
    this.#stored = db.rows<[string], [number, string | null, number | null]>(
      "SELECT position, lease_holder, lease_attempt FROM head WHERE task_id = ?",
    );
    this.#next = nextHolder(db);
    this.#nextDelivering = db.values<[string], string>(
      "SELECT holder FROM push_config INDEXED BY push_held WHERE holder > ? ORDER BY holder LIMIT 1",
    );
    this.#heartbeats = db.rows<[], [string, number]>("SELECT id, beat FROM holder WHERE id > ''");
    this.#renew = db.command("UPDATE holder SET beat = ? WHERE id = ?");
    this.#enter = db.command("INSERT INTO holder (id, beat) VALUES (?, ?)");
    this.#forget = db.command("DELETE FROM holder WHERE id = ?");
  }

  /** A heartbeat, from the holder itself or, while its event loop is blocked, on its behalf (`forHolder`). */
  heartbeat({ holder, leaseMs, again }: WriteRequest<"heartbeat">, forHolder = false): WriteResult<"heartbeat"> {
    // A heartbeat also checks the other holders: it is on time even when claims are late.
    if (this.#dead === undefined) this.#gone(leaseMs);
    const heartbeat = this.#heartbeat++;
    let lost = this.#lost.has(holder);
    if (this.#renew.run(heartbeat, holder).changes === 0) {
      lost ||= again;
      this.#enter.run(holder, heartbeat);
    }
    // A heartbeat by the writer thread leaves the notification for the holder itself.
    if (forHolder && lost) this.#lost.add(holder);
    else this.#lost.delete(holder);
    return !lost;
  }

  claim({ holder, leaseMs, limit, ended }: WriteRequest<"claimLeases">): TaskHead[] {
    this.#watch.end(ended);
    const claimed: TaskHead[] = [];
    for (const from of [NO_HOLDER, ...this.#gone(leaseMs)]) {
      if (from === holder) continue;
      this.#forget.run(from);
      const rows = this.#of.all(from, limit - claimed.length);
      for (const row of rows) {
        const head = toHead(row);
        if (head.lease === null) continue;
        this.#claim.run(holder, head.taskId);
        claimed.push({ ...head, lease: { holder, turn: head.lease.turn, attempt: head.lease.attempt + 1 } });
      }
      if (claimed.length === limit) break;
      this.#dead?.delete(from);
    }
    return claimed;
  }

  /** Evicts other holders that missed their heartbeats; none if no other process can have the file. */
  forgetSilent({ holder, leaseMs }: { readonly holder: string; readonly leaseMs: number }): string[] {
    if (this.#dead !== undefined) return [];
    const gone = this.#gone(leaseMs).filter((from) => from !== holder);
    for (const from of gone) this.#forget.run(from);
    return gone;
  }

  set({ taskId, fence, lease, expected }: WriteRequest<"setLease">): WriteResult<"setLease"> {
    if (expected !== undefined) {
      const [position, holder = null, attempt = null] = this.#stored.get(taskId) ?? [];
      if (holder === null || !holds(fence, { holder, attempt: attempt ?? 0 })) return "lost";
      if (position !== expected) return "moved";
    }
    const values = lease === null ? [null, null, null] : [lease.holder, lease.turn, lease.attempt];
    const { changes } = this.#set.run(...values, taskId, fence.holder, fence.attempt);
    return changes > 0 ? "set" : "lost";
  }

  #gone(leaseMs: number): string[] {
    if (this.#dead !== undefined) return [...this.#dead];
    const heartbeats = new Map<string, number | undefined>(this.#heartbeats.all());
    for (const next of [this.#next, this.#nextDelivering]) {
      for (const holder of holders(next)) if (!heartbeats.has(holder)) heartbeats.set(holder, undefined);
    }
    return this.#watch.check(heartbeats, leaseMs);
  }
}

export function holdersIn(db: Database): string[] {
  return holders(nextHolder(db));
}

function nextHolder(db: Database): Query<[string], string> {
  const sql =
    "SELECT lease_holder FROM head INDEXED BY head_leased WHERE lease_holder > ? ORDER BY lease_holder LIMIT 1";
  return db.values<[string], string>(sql);
}

/** One query per holder, because a database has few holders but may have many leases. */
function holders(next: Query<[string], string>): string[] {
  const found: string[] = [];
  for (let last: string | undefined = NO_HOLDER; ; ) {
    last = next.get(last);
    if (last === undefined) return found;
    found.push(last);
  }
}
