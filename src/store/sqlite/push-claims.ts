import { DUE, type DueSource, FairClaims } from "../deliveries.js";
import type { ClaimedRow } from "../delivery-rows.js";
import type { Database } from "./driver/driver.js";
import type { Leases } from "./leases.js";
import { type ClaimedBatch, toBatch } from "./push-rows.js";
import type { WriteRequest } from "./write.js";

interface Due {
  readonly id: number;
  readonly target: string;
}

type DueRow = [id: number, target: string];

/** A row to claim. Its id comes first, until the number of the claim takes its place. */
type ReadRow = ClaimedRow<Uint8Array>;

const IS_DUE = `state = ${DUE} AND holder IS NULL`;

const FIRST = `SELECT id, target FROM push_config INDEXED BY push_due WHERE ${IS_DUE} AND at <= ? ORDER BY at LIMIT ?`;
const OF_TARGET = `FROM push_config INDEXED BY push_due_of_target WHERE ${IS_DUE}`;
const OF = `SELECT id, target ${OF_TARGET} AND target = ? AND at <= ? ORDER BY at LIMIT ?`;
const FIRST_TARGET = `SELECT target ${OF_TARGET} AND target >= '' ORDER BY target LIMIT 1`;
const NEXT_TARGET = `SELECT target ${OF_TARGET} AND target > ? ORDER BY target LIMIT 1`;
const CLAIMED =
  "SELECT p.id, p.bytes, p.task_id, p.config_id, h.tenant, h.owner, p.target, p.position, " +
  "h.position AS head_position, p.attempts, p.failing_since FROM push_config p";
const ROW = `${CLAIMED} CROSS JOIN head h ON h.task_id = p.task_id WHERE p.id = ?`;
const HELD = `${CLAIMED} INDEXED BY push_held CROSS JOIN head h ON h.task_id = p.task_id WHERE p.holder = ?`;

/**
 * Claims of deliveries, inside a transaction that holds the write lock, so that two processes never have the same one.
 */
export class PushClaims {
  readonly #db: Database;
  readonly #fair = new FairClaims();
  /** Random start, so that no thread repeats the number of another. */
  #claims = Math.floor(Math.random() * 2 ** 48);

  constructor(db: Database) {
    this.#db = db;
  }

  claim(request: WriteRequest<"claimDeliveries">, leases: Leases): ClaimedBatch {
    const { holder, now, limit, again = false } = request;
    const db = this.#db;
    const release = db.command("UPDATE push_config SET holder = NULL, claim = NULL WHERE holder = ?");
    for (const expired of leases.evictExpired(request)) release.run(expired);
    const claimed: ReadRow[] = [];
    const take = (row: ReadRow | undefined): void => {
      if (row === undefined) return;
      const [id] = row;
      row[0] = this.#claims++;
      db.command("UPDATE push_config SET holder = ?, claim = ? WHERE id = ?").run(holder, row[0], id);
      claimed.push(row);
    };
    if (again) for (const row of db.rows<ReadRow>(HELD).all(holder)) take(row);
    const left = limit - claimed.length;
    const source: DueSource<Due> = {
      first: (most) => db.rows<DueRow>(FIRST).all(now, most).map(toDue),
      of: (target, most) => db.rows<DueRow>(OF).all(target, now, most).map(toDue),
      targetAfter: (target) =>
        target === undefined ? db.values<string>(FIRST_TARGET).get() : db.values<string>(NEXT_TARGET).get(target),
      take: ({ id }) => take(db.rows<ReadRow>(ROW).get(id)),
    };
    if (left > 0) this.#fair.claim(source, { ...request, limit: left });
    return toBatch(claimed);
  }
}

function toDue([id, target]: DueRow): Due {
  return { id, target };
}
