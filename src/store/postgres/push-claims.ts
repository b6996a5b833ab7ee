import { DUE, FairClaims } from "../deliveries.js";
import { type ClaimedRow, toClaimed } from "../delivery-rows.js";
import type { ClaimDeliveries, ClaimedDelivery } from "../push-store.js";
import { texts } from "./array-writer.js";
import { type Database, first, type Statements } from "./database.js";
import { lastSegment } from "./heads.js";
import type { Leases } from "./leases.js";

/** Targets from which one claim reads due deliveries, after the last one that had its turn. */
const MOST_TARGETS = 64;

/** Number of claim numbers that are skipped after a move to another server. */
const SKIPPED = 1_000_000;

interface Due {
  readonly taskId: string;
  readonly configId: string;
  readonly target: string;
}

type DueRow = [taskId: string, configId: string, target: string];

export class PushClaims {
  readonly #database: Database;
  readonly #s: string;
  readonly #leases: Leases;
  readonly #fair = new FairClaims();
  /** The holders of this process. */
  readonly #holders = new Set<string>();
  #lastTarget = "";

  constructor(database: Database, schema: string, leases: Leases) {
    this.#database = database;
    this.#s = schema;
    this.#leases = leases;
  }

  /** The time at which the next unheld configuration is due. */
  async next(): Promise<number | undefined> {
    const sql = `SELECT at FROM ${this.#s}.push_config WHERE state = ${DUE} AND holder IS NULL ORDER BY at LIMIT 1`;
    return (await first(this.#database.query<[number]>(sql)))?.[0];
  }

  /** Releases all claims of this process. The new server may lack the claimed events. */
  async release(): Promise<void> {
    const holders = texts([...this.#holders]);
    await this.#database.transaction(async (on) => {
      // The previous server may have assigned the next numbers.
      await on.query(`SELECT setval('${this.#s}.claim_number', nextval('${this.#s}.claim_number') + ${SKIPPED})`);
      await on.query(`UPDATE ${this.#s}.push_config SET holder = NULL, claim = NULL WHERE holder = ANY ($1)`, [
        holders,
      ]);
    });
  }

  async claim(request: ClaimDeliveries): Promise<ClaimedDelivery[]> {
    const { holder, limit, again = false } = request;
    this.#holders.add(holder);
    const expired = await this.#leases.evictExpired(request);
    const release = `UPDATE ${this.#s}.push_config SET holder = NULL, claim = NULL WHERE holder = ANY ($1)`;
    if (expired.length > 0) await this.#database.query(release, [texts(expired)]);
    return this.#database.transaction(async (on) => {
      // One claim at a time, so that a claim finds every delivery that another one has left.
      await on.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`${this.#s}.push_config`]);
      const claimed = again ? await this.#take(on, holder, `holder = $2`, [holder]) : [];
      const left = limit - claimed.length;
      if (left <= 0) return claimed;
      const chosen = await this.#choose(on, { ...request, limit: left });
      if (chosen.length === 0) return claimed;
      const keys = [texts(chosen.map(({ taskId }) => taskId)), texts(chosen.map(({ configId }) => configId))];
      const where =
        `(task_id, config_id) IN (SELECT d.task_id, d.config_id FROM ${this.#s}.push_config d ` +
        "JOIN unnest($2::text[], $3::text[]) AS k(task_id, config_id) USING (task_id, config_id) " +
        `WHERE d.state = ${DUE} AND d.holder IS NULL)`;
      const taken = await this.#take(on, holder, where, keys);
      const order = new Map(chosen.map((due, index) => [keyOf(due), index]));
      return [...claimed, ...taken.sort((a, b) => (order.get(keyOf(a)) ?? 0) - (order.get(keyOf(b)) ?? 0))];
    });
  }

  /** Chooses among the deliveries that have been due longest and those of the next targets. */
  async #choose(on: Statements, request: ClaimDeliveries): Promise<Due[]> {
    const { now, limit, capacity } = request;
    const from = `SELECT d.task_id, d.config_id, d.target FROM ${this.#s}.push_config d`;
    const isDue = `d.state = ${DUE} AND d.holder IS NULL AND d.at <= $1`;
    const oldest = await this.#due(on, `${from} WHERE ${isDue} ORDER BY d.at, d.task_id, d.config_id LIMIT $2`, [
      now,
      this.#most(limit, capacity),
    ]);
    const targets = oldest.length > limit ? await this.#targets(on) : [];
    const ofTargets =
      targets.length === 0
        ? []
        : await this.#due(
            on,
            `SELECT d.* FROM unnest($3::text[]) WITH ORDINALITY AS t(target, n) CROSS JOIN LATERAL (` +
              `${from} WHERE d.target = t.target AND ${isDue} ORDER BY d.at, d.task_id, d.config_id LIMIT $2) d ORDER BY t.n`,
            [now, limit, texts(targets)],
          );
    const chosen: Due[] = [];
    const left = new Map([...oldest, ...ofTargets].map((due) => [keyOf(due), due]));
    this.#fair.claim<Due>(
      {
        first: (most) => oldest.filter((due) => left.has(keyOf(due))).slice(0, most),
        of: (target, most) => [...left.values()].filter((due) => due.target === target).slice(0, most),
        targetAfter: (target) => targets.find((each) => target === undefined || each > target),
        take: (due) => {
          left.delete(keyOf(due));
          chosen.push(due);
        },
      },
      request,
    );
    return chosen;
  }

  /** Number of rows to read: more than the limit if full targets may have the longest due ones. */
  #most(limit: number, capacity: ClaimDeliveries["capacity"]): number {
    return capacity === undefined ? limit + 1 : 4 * limit + 1;
  }

  async #due(on: Statements, sql: string, values: readonly (number | Buffer)[]): Promise<Due[]> {
    return (await on.query<DueRow>(sql, values)).map(([taskId, configId, target]) => ({ taskId, configId, target }));
  }

  /** Targets with due deliveries, in order: from the last one on, and from the first one if few follow. */
  async #targets(on: Statements): Promise<string[]> {
    const isDue = `d.state = ${DUE} AND d.holder IS NULL`;
    const next = (place: string): string =>
      `(SELECT d.target FROM ${this.#s}.push_config d WHERE ${isDue} AND d.target ${place} ORDER BY d.target LIMIT 1)`;
    const sql =
      `WITH RECURSIVE t(target) AS (${next("> $1")} UNION ALL SELECT ${next("> t.target")} FROM t ` +
      "WHERE t.target IS NOT NULL) SELECT target FROM t WHERE target IS NOT NULL LIMIT $2";
    const after = (await on.query<[string]>(sql, [this.#lastTarget, MOST_TARGETS])).map(([target]) => target);
    const again = after.length < MOST_TARGETS ? await on.query<[string]>(sql, ["", MOST_TARGETS - after.length]) : [];
    this.#lastTarget = after.length < MOST_TARGETS ? "" : (after.at(-1) ?? "");
    return [...new Set([...again.map(([target]) => target), ...after])];
  }

  /** Gives rows to the holder, each with a new claim. */
  async #take(
    on: Statements,
    holder: string,
    where: string,
    values: readonly (string | Buffer)[],
  ): Promise<ClaimedDelivery[]> {
    const rows = await on.query<ClaimedRow<Uint8Array>>(
      `WITH c AS (UPDATE ${this.#s}.push_config SET holder = $1, claim = nextval('${this.#s}.claim_number') ` +
        `WHERE ${where} RETURNING *) SELECT c.claim, c.bytes, c.task_id, c.config_id, c.tenant, c.owner, c.target, ` +
        `c.position, l.last, c.attempts, c.failing_since FROM c JOIN ${this.#s}.task t ON t.task_id = c.task_id ` +
        `${lastSegment(this.#s)} ORDER BY c.task_id, c.config_id`,
      [holder, ...values],
    );
    return rows.map((row) => toClaimed(row, row[1]));
  }
}

function keyOf({ taskId, configId }: { readonly taskId: string; readonly configId: string }): string {
  return `${taskId.length}:${taskId}${configId}`;
}
