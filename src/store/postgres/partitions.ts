import type { Logger } from "../../core/log.js";
import { membersOf } from "../../core/members.js";
import { StoreError } from "../task-store.js";
import { type Database, first } from "./database.js";
import { codeOf } from "./errors.js";
import { LOG_BITS } from "./migrations.js";

/** Days whose partitions exist before they begin. */
const DAYS_AHEAD = 2;

/** Interval at which a store creates the partitions of the next days, in milliseconds. */
const INTERVAL_MS = 3_600_000;

/** Time that a statement waits for the lock of a table, in milliseconds. Appends queue behind it meanwhile. */
const LOCK_TIMEOUT_MS = 500;

/** Time that a statement may keep the lock, such as to read a large `segment_other`, in milliseconds. */
const STATEMENT_TIMEOUT_MS = 2_000;

/** The number of the day, as `append` computes it. */
const TODAY = "SELECT extract(epoch FROM now())::bigint / 86400";

/** Error code of PostgreSQL for insufficient privileges. */
const NOT_ALLOWED = "42501";

/** Returns the range of the numbers of a day's logs; the second one is the first of the next day. */
export function logsOf(day: number): readonly [low: number, high: number] {
  return [day * 2 ** LOG_BITS, (day + 1) * 2 ** LOG_BITS];
}

/**
 * The partitions of segments, one for each day. The segments of a day that began without one are in `segment_other`,
 * and the day gets no partition while they exist.
 */
export class Partitions {
  readonly #database: Database;
  readonly #s: string;
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #isFailing = false;

  constructor(database: Database, schema: string, logger: Logger) {
    this.#database = database;
    this.#s = schema;
    this.#logger = logger;
  }

  /** Creates the partitions of the next days once an hour. */
  start(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      void this.createAhead()
        .catch((error) => this.#noteFailure(error))
        .then(() => this.start());
    }, INTERVAL_MS).unref();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** Number of the present day. The database's clock numbers the logs; that of this process may be days off. */
  async today(): Promise<number> {
    const [today = 0] = (await first(this.#database.query<[number]>(TODAY))) ?? [];
    return today;
  }

  /** Numbers of the days that have a partition. */
  async days(): Promise<number[]> {
    const rows = await this.#database.query<[string]>(
      "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid " +
        `WHERE i.inhparent = '${this.#s}.segment'::regclass`,
    );
    return rows.flatMap(([name]) => /^segment_(\d+)$/.exec(name)?.[1] ?? []).map(Number);
  }

  /**
   * Creates the missing partitions of this day and the next ones. One that cannot be created is logged, and tried again
   * by the next call.
   */
  async createAhead(): Promise<void> {
    const today = await this.today();
    const known = new Set(await this.days());
    const missing = Array.from({ length: DAYS_AHEAD + 1 }, (_, index) => today + index).filter(
      (day) => !known.has(day),
    );
    let failure: unknown;
    for (const day of missing) {
      await this.#create(day).catch((error) => (failure = error));
    }
    // Another process may have been faster.
    const present = failure === undefined ? known : new Set(await this.days());
    if (failure === undefined || missing.every((day) => present.has(day))) this.#isFailing = false;
    else this.#noteFailure(failure);
  }

  /** Drops the partition of a day. Returns false if the role may not drop it. */
  async drop(day: number): Promise<boolean> {
    try {
      await this.#quickly(`DROP TABLE IF EXISTS ${this.#s}.segment_${day}`);
    } catch (error) {
      // A table that others use is dropped the next time.
      if (codeOf(membersOf(error).cause) === NOT_ALLOWED) return false;
    }
    return true;
  }

  async #create(day: number): Promise<void> {
    const [low, high] = logsOf(day);
    const other = `SELECT 1 FROM ${this.#s}.segment_other WHERE log >= $1 AND log < $2 LIMIT 1`;
    // PostgreSQL would refuse as well, after it has read the whole table under the lock.
    if ((await first(this.#database.query(other, [low, high]))) !== undefined) {
      throw new StoreError("failed", `segment_other has events of day ${day}`);
    }
    await this.#quickly(
      `CREATE TABLE IF NOT EXISTS ${this.#s}.segment_${day} PARTITION OF ${this.#s}.segment FOR VALUES FROM (${low}) TO (${high})`,
    );
  }

  #noteFailure(err: unknown): void {
    if (this.#isFailing || this.#isClosed) return;
    this.#isFailing = true;
    this.#logger.warn(
      { err, schema: this.#s },
      "PostgreSQL has no partition for some of the next days; retrying once an hour. Events of a day without one are " +
        "deleted row by row.",
    );
  }

  /** Changes a table, unless others would have to wait for long. */
  #quickly(sql: string): Promise<void> {
    return this.#database.transaction(async (on) => {
      await on.run(
        `SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}; SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS}; ${sql}`,
      );
    });
  }
}
