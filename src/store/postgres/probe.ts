import { HealthSource, type StoreHealth } from "../health.js";
import { type Database, first } from "./database.js";
import { toStoreError } from "./errors.js";

/** Interval between two probes, in milliseconds. */
const PROBE_MS = 500;

/** A probe that takes longer makes the store unhealthy, in milliseconds. */
const SLOW_MS = 1_250;

/** Asks the database at short intervals if it takes writes. It detects an outage within two seconds. */
export class Probe {
  readonly #database: Database;
  readonly #source = new HealthSource();
  #timer: NodeJS.Timeout;
  #slow: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(database: Database) {
    this.#database = database;
    this.#timer = setTimeout(() => this.#probe(), PROBE_MS).unref();
  }

  get health(): StoreHealth {
    return this.#source;
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

  /** Returns the reason for which the database takes no writes. */
  async #ask(): Promise<string | undefined> {
    try {
      const row = await first(this.#database.query<[boolean, string]>(STATE));
      if (row?.[0] === true) return "PostgreSQL is a standby that takes no writes.";
      return row?.[1] === "on" ? "PostgreSQL is read-only." : undefined;
    } catch (error) {
      return `${toStoreError(error, "PostgreSQL failed").message}.`;
    }
  }

  /** A restart of this process does not help: the pool opens new connections by itself. */
  #report(reason: string | undefined): void {
    if (!this.#isClosed) this.#source.report(reason === undefined ? undefined : { reason, restartHelps: false });
  }
}

const STATE = "SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only')";
