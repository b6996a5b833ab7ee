import type { Worker } from "node:worker_threads";
import { type HeadRow, toHead } from "../head-rows.js";
import { HeartbeatThread } from "../heartbeat-thread.js";
import { LivenessMonitor } from "../liveness.js";
import type { Request } from "../request.js";
import { type HeldLease, type LeaseOutcome, NO_HOLDER, type TaskHead } from "../task-store.js";
import { texts } from "./array-writer.js";
import { type Database, first, GUARDED, type Statements } from "./database.js";
import { HEAD_COLUMNS, lastSegment } from "./heads.js";

/** Leases, and the heartbeats of their holders. */
export class Leases {
  readonly #database: Database;
  readonly #s: string;
  readonly #heartbeats: HeartbeatThread;
  readonly #watch = new LivenessMonitor();
  /** Random start, so that no process repeats the number of another. */
  #heartbeat = Math.floor(Math.random() * 2 ** 48);

  constructor(database: Database, schema: string, startHeartbeats: () => Worker) {
    this.#database = database;
    this.#s = schema;
    this.#heartbeats = new HeartbeatThread(startHeartbeats);
    // The next heartbeat starts it again, for the server in use at that time.
    database.history.onNotice(() => void this.#heartbeats.end());
  }

  async close(): Promise<void> {
    await this.#heartbeats.close();
  }

  /** A thread continues the heartbeats while the event loop is blocked. */
  async heartbeat(request: Request<"heartbeat">): Promise<boolean> {
    const { holder, leaseMs, again } = request;
    this.#heartbeats.note(request);
    // A heartbeat also checks the other holders: it is on time even when claims are late.
    await this.#expiredHolders(leaseMs);
    const beat = this.#heartbeat++;
    const known = await this.#database.query(`UPDATE ${this.#s}.holder SET beat = $1 WHERE id = $2 RETURNING 1`, [
      beat,
      holder,
    ]);
    if (known.length > 0) return true;
    await this.#database.query(
      `INSERT INTO ${this.#s}.holder AS h (id, beat) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET beat = excluded.beat`,
      [holder, beat],
    );
    return !again;
  }

  async claim({ holder, leaseMs, limit, ended }: Request<"claimLeases">): Promise<TaskHead[]> {
    this.#watch.end(ended);
    const claimed: TaskHead[] = [];
    const expired = (await this.#expiredHolders(leaseMs)).filter((from) => from !== holder);
    for (const from of [NO_HOLDER, ...expired]) {
      if (from === holder) continue;
      claimed.push(
        ...(await this.#database.transaction((on) => this.#claim(on, from, holder, limit - claimed.length), GUARDED)),
      );
      if (claimed.length >= limit) break;
    }
    return claimed;
  }

  /** Evicts other holders that missed their heartbeats, and returns them. */
  async evictExpired({ holder, leaseMs }: { readonly holder: string; readonly leaseMs: number }): Promise<string[]> {
    const expired = (await this.#expiredHolders(leaseMs)).filter((from) => from !== holder);
    if (expired.length > 0)
      await this.#database.query(`DELETE FROM ${this.#s}.holder WHERE id = ANY ($1)`, [texts(expired)]);
    return expired;
  }

  async of(request: { readonly holder: string; readonly after: string; readonly limit: number }): Promise<HeldLease[]> {
    const { holder, after, limit } = request;
    const rows = await this.#database.query<[string, number, number]>(
      `SELECT task_id, lease_turn, lease_attempt FROM ${this.#s}.task WHERE lease_holder = $1 AND task_id > $2 ` +
        "ORDER BY task_id LIMIT $3",
      [holder, after, limit],
    );
    return rows.map(([taskId, turn, attempt]) => ({ taskId, holder, turn, attempt }));
  }

  async set({ taskId, fence, lease, expected }: Request<"setLease">): Promise<LeaseOutcome> {
    return this.#database.transaction(async (on) => {
      const held = await first(
        on.query<[number]>(
          `SELECT log FROM ${this.#s}.task WHERE task_id = $1 AND lease_holder = $2 AND lease_attempt = $3 ` +
            "FOR NO KEY UPDATE",
          [taskId, fence.holder, fence.attempt],
        ),
      );
      if (held === undefined) return "lost";
      if (expected !== undefined) {
        // This statement has a newer snapshot than the lock.
        const last = `SELECT last FROM ${this.#s}.segment WHERE log = $1 ORDER BY last DESC LIMIT 1`;
        const position = await first(on.query<[number]>(last, [held[0]]));
        if (position?.[0] !== expected) return "moved";
      }
      await on.query(
        `UPDATE ${this.#s}.task SET lease_holder = $2, lease_turn = $3, lease_attempt = $4 WHERE task_id = $1`,
        [taskId, lease?.holder ?? null, lease?.turn ?? null, lease?.attempt ?? null],
      );
      return "set";
    }, GUARDED);
  }

  async #claim(on: Statements, from: string, holder: string, limit: number): Promise<TaskHead[]> {
    if (from !== NO_HOLDER) await on.query(`DELETE FROM ${this.#s}.holder WHERE id = $1`, [from]);
    // Rows that another process claims or appends to at this moment are left for the next call.
    const ids = await on.query<[string]>(
      `UPDATE ${this.#s}.task SET lease_holder = $1, lease_attempt = lease_attempt + 1 WHERE task_id IN (` +
        `SELECT task_id FROM ${this.#s}.task WHERE lease_holder = $2 ORDER BY task_id LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED` +
        ") RETURNING task_id",
      [holder, from, limit],
    );
    if (ids.length === 0) return [];
    const heads = await on.query<HeadRow>(
      `SELECT ${HEAD_COLUMNS} FROM ${this.#s}.task t ${lastSegment(this.#s)} WHERE t.task_id = ANY ($1) ORDER BY t.task_id`,
      [texts(ids.map(([id]) => id))],
    );
    return heads.map(toHead);
  }

  /** The holders, of leases and of deliveries, without a heartbeat for `leaseMs`. */
  async #expiredHolders(leaseMs: number): Promise<string[]> {
    const rows = await this.#database.query<[string, number | null]>(
      `WITH RECURSIVE leased AS (
         (SELECT lease_holder AS id FROM ${this.#s}.task WHERE lease_holder > '' ORDER BY lease_holder LIMIT 1)
         UNION ALL SELECT (SELECT lease_holder FROM ${this.#s}.task WHERE lease_holder > l.id ORDER BY lease_holder LIMIT 1)
         FROM leased l WHERE l.id IS NOT NULL
       ), delivering AS (
         (SELECT holder AS id FROM ${this.#s}.push_config WHERE holder > '' ORDER BY holder LIMIT 1)
         UNION ALL SELECT (SELECT holder FROM ${this.#s}.push_config WHERE holder > d.id ORDER BY holder LIMIT 1)
         FROM delivering d WHERE d.id IS NOT NULL
       ), known AS (
         SELECT id FROM leased UNION SELECT id FROM delivering UNION SELECT id FROM ${this.#s}.holder
       )
       SELECT k.id, h.beat FROM known k LEFT JOIN ${this.#s}.holder h ON h.id = k.id WHERE k.id > ''`,
    );
    return this.#watch.check(new Map(rows.map(([id, beat]) => [id, beat ?? undefined])), leaseMs);
  }
}
