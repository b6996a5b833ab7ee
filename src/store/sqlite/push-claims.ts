import { DUE, type DueSource, FairClaims } from "../deliveries.js";
import type { Command, Database, Query } from "./driver/driver.js";
import type { Leases } from "./leases.js";
import { CLAIMED_COLUMNS, type ClaimedBatch, type ClaimedRow, toBatch } from "./push-rows.js";
import type { WriteRequest } from "./write.js";

interface Due {
  readonly id: number;
  readonly target: string;
}

type DueRow = [id: number, target: string];

const IS_DUE = `state = ${DUE} AND holder IS NULL`;

/**
 * Claims of deliveries, inside a transaction that holds the write lock, so that two processes never have the same one.
 */
export class PushClaims {
  readonly #first: Query<[number, number], DueRow>;
  readonly #of: Query<[string, number, number], DueRow>;
  readonly #firstTarget: Query<[], string>;
  readonly #nextTarget: Query<[string], string>;
  readonly #row: Query<[number], ClaimedRow>;
  readonly #held: Query<[string], ClaimedRow>;
  readonly #claim: Command<[string, number, number]>;
  readonly #release: Command<[string]>;
  readonly #fair = new FairClaims();
  /** Random start, so that no thread repeats the number of another. */
  #claims = Math.floor(Math.random() * 2 ** 48);

  constructor(db: Database) {
    this.#first = db.rows(
      `SELECT id, target FROM push_config INDEXED BY push_due WHERE ${IS_DUE} AND at <= ? ORDER BY at LIMIT ?`,
    );
    const ofTarget = `FROM push_config INDEXED BY push_due_of_target WHERE ${IS_DUE}`;
    this.#of = db.rows(`SELECT id, target ${ofTarget} AND target = ? AND at <= ? ORDER BY at LIMIT ?`);
    this.#firstTarget = db.values(`SELECT target ${ofTarget} AND target >= '' ORDER BY target LIMIT 1`);
    this.#nextTarget = db.values(`SELECT target ${ofTarget} AND target > ? ORDER BY target LIMIT 1`);
    this.#row = db.rows(
      `SELECT ${CLAIMED_COLUMNS} FROM push_config p CROSS JOIN head h ON h.task_id = p.task_id WHERE p.id = ?`,
    );
    this.#held = db.rows(
      `SELECT ${CLAIMED_COLUMNS} FROM push_config p INDEXED BY push_held CROSS JOIN head h ON h.task_id = p.task_id ` +
        "WHERE p.holder = ?",
    );
    this.#claim = db.command("UPDATE push_config SET holder = ?, claim = ? WHERE id = ?");
    this.#release = db.command("UPDATE push_config SET holder = NULL, claim = NULL WHERE holder = ?");
  }

  claim(request: WriteRequest<"claimDeliveries">, leases: Leases): ClaimedBatch {
    const { holder, now, limit, again = false } = request;
    for (const gone of leases.forgetSilent(request)) this.#release.run(gone);
    const claimed: ClaimedRow[] = [];
    const claims: number[] = [];
    const take = (row: ClaimedRow | undefined): void => {
      if (row === undefined) return;
      const claim = this.#claims++;
      this.#claim.run(holder, claim, row[0]);
      claimed.push(row);
      claims.push(claim);
    };
    if (again) for (const row of this.#held.all(holder)) take(row);
    const left = limit - claimed.length;
    const source: DueSource<Due> = {
      first: (most) => this.#first.all(now, most).map(toDue),
      of: (target, most) => this.#of.all(target, now, most).map(toDue),
      targetAfter: (target) => (target === undefined ? this.#firstTarget.get() : this.#nextTarget.get(target)),
      take: ({ id }) => take(this.#row.get(id)),
    };
    if (left > 0) this.#fair.claim(source, { ...request, limit: left });
    return toBatch(claimed, claims);
  }
}

function toDue([id, target]: DueRow): Due {
  return { id, target };
}
