import { HealthSource, type StoreHealth } from "../health.js";
import type { Database } from "./database.js";
import { toStoreError } from "./errors.js";

/** Interval between two probes, in milliseconds. */
const PROBE_MS = 500;

/** A probe that takes longer makes the store unhealthy, in milliseconds. */
const SLOW_MS = 1_250;

/** Size of a trial write, in bytes. It exceeds the free space of a page and cannot be compressed. */
const TRIAL_BYTES = 64 * 1024;

/** Asks the database at short intervals if it takes writes. It detects an outage within two seconds. */
export class Probe {
  readonly #database: Database;
  readonly #trial: string;
  readonly #source = new HealthSource();
  #timer: NodeJS.Timeout;
  #slow: NodeJS.Timeout | undefined;
  #isClosed = false;
  #isFull = false;

  constructor(database: Database, schema: string) {
    this.#database = database;
    this.#trial = `INSERT INTO ${schema}.segment (log, last, count, generation, bytes) VALUES (-1, 0, 0, 0, $1)`;
    database.history.onNotice(() => this.#report(MOVED));
    this.#timer = setTimeout(() => this.#probe(), PROBE_MS).unref();
  }

  get health(): StoreHealth {
    return this.#source;
  }

  /** Notes that the disk is full. Reads still succeed, so from now on a trial write decides. */
  noteFull(): void {
    this.#isFull = true;
    this.#report("PostgreSQL has no space left on its disk.");
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#slow);
  }

  #probe(): void {
    this.#slow = setTimeout(() => this.#report("PostgreSQL does not answer."), SLOW_MS).unref();
    void this.#ask().then((reason) => {
      clearTimeout(this.#slow);
      if (this.#isClosed) return;
      this.#report(reason);
      this.#timer = setTimeout(() => this.#probe(), PROBE_MS).unref();
    });
  }

  /** Returns the reason for which the database does not accept writes. */
  async #ask(): Promise<string | undefined> {
    try {
      const row = await this.#database.use(async (client) => {
        // A pooler may have moved to another server without ending the connection.
        await this.#database.history.learn(client);
        return (await client.query<[string]>({ text: STATE, rowMode: "array" })).rows[0];
      });
      if (this.#isFull) await this.#try();
      if (this.#database.history.isUnsettled) return MOVED;
      return row?.[0] === "on" ? "PostgreSQL is read-only." : undefined;
    } catch (error) {
      return `${toStoreError(error, "PostgreSQL failed").message}.`;
    }
  }

  /** Writes a row, and rolls it back. @throws StoreError while the disk is full */
  async #try(): Promise<void> {
    const bytes = crypto.getRandomValues(new Uint8Array(TRIAL_BYTES));
    await this.#database.use(async (client) => {
      await client.query("BEGIN");
      try {
        await client.query(this.#trial, [Buffer.from(bytes.buffer)]);
      } finally {
        await client.query("ROLLBACK");
      }
    });
    this.#isFull = false;
  }

  /** A restart of this process does not help: the pool opens new connections by itself. */
  #report(reason: string | undefined): void {
    if (!this.#isClosed) this.#source.report(reason === undefined ? undefined : { reason, restartHelps: false });
  }
}

const MOVED = "PostgreSQL has moved to another server; tasks are reloaded.";

const STATE = "SELECT current_setting('default_transaction_read_only')";
