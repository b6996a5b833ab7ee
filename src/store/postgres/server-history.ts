import { pause } from "../../core/async.js";
import type { Logger } from "../../core/log.js";
import { membersOf } from "../../core/members.js";
import type { StoreHistory } from "../history.js";
import { StoreError } from "../task-store.js";

/** Time after which a listener that failed is called again, in milliseconds. */
const AGAIN_MS = 500;

/** Number of consecutive failures at which one warning is logged. */
const WARNED_AFTER = 10;

/** The current timeline as 8 hexadecimal digits; empty on a standby. A promotion begins a new one. */
const TIMELINE = "(CASE WHEN pg_is_in_recovery() THEN '' ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END)";

/** The system identifier. Reading it costs about 20 us, for the database reads a file. */
const SYSTEM = "(pg_control_system()).system_identifier";

/** Reads the identity of a server. The control file has the timeline only after the next checkpoint. */
const IDENTITY = `SELECT ${TIMELINE}, ${SYSTEM}::text`;

/** Part of the text that a guarded statement fails to convert on another server. */
const REFUSAL = "is another server";

/** Codes of databases without these functions: an unknown function or table, no permission, not supported. */
const UNSUPPORTED: ReadonlySet<string> = new Set(["42883", "42P01", "42501", "0A000"]);

/** Runs the query for the identity: a connection of any kind. */
interface Connection {
  query(query: { readonly text: string; readonly rowMode: "array" }): Promise<{ readonly rows: unknown[] }>;
}

/** A server, and its branch of the history that servers share. */
interface Identity {
  readonly system: string;
  readonly timeline: string;
}

/**
 * Identifies the server of the store by its system identifier and its timeline. Every promotion of a standby raises the
 * timeline. Connections to a standby, or to a primary that another one has replaced, are refused.
 */
export class ServerHistory implements StoreHistory {
  readonly #logger: Logger;
  /** Undefined before the first connection, and for a database that hides its identity. */
  #known: Identity | undefined;
  #hidesIdentity = false;
  #moves = 0;
  /** Number of moves after which everything was reloaded. */
  #settled = 0;
  #settling: Promise<void> | undefined;
  #isClosed = false;
  readonly #noticed: (() => void)[] = [];
  readonly #listeners = new Set<() => Promise<void>>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  get moves(): number {
    return this.#moves;
  }

  /** True while tasks in memory are reloaded. */
  get isUnsettled(): boolean {
    return this.#moves !== this.#settled;
  }

  onMove(listener: () => Promise<void>): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls back at every move, before anything else happens. */
  onNotice(callback: () => void): void {
    this.#noticed.push(callback);
  }

  close(): void {
    this.#isClosed = true;
  }

  /**
   * Identifies the server of a connection.
   * @throws StoreError `unavailable` for a server that must not be used
   */
  async learn(connection: Connection): Promise<void> {
    if (this.#hidesIdentity) return;
    let identity: Identity;
    try {
      const { rows } = await connection.query({ text: IDENTITY, rowMode: "array" });
      const [timeline, system] = rows[0] as [string, string];
      identity = { timeline, system };
    } catch (err) {
      if (this.#known !== undefined || !UNSUPPORTED.has(String(membersOf(err).code))) throw err;
      this.#hidesIdentity = true;
      this.#logger.info(
        { err },
        "the database does not tell its timeline: a failover that loses events is not noticed",
      );
      return;
    }
    this.#admit(identity);
  }

  /** @throws StoreError `unavailable` until tasks in memory are reloaded, and for reads from before a move */
  check(moves: number = this.#moves): void {
    if (this.isUnsettled || moves !== this.#moves) throw moved();
  }

  /** An expression that is true on the known server alone. */
  get isSame(): string {
    const known = this.#known;
    if (known === undefined) return "true";
    // A database that was restored from a dump has another system, and the same timeline.
    return `(${TIMELINE} = '${known.timeline}' AND ${SYSTEM} = ${known.system})`;
  }

  /** A statement that fails on another server, where a pooler may have sent it. Its first parameter is a `text[]`. */
  guarded(sql: string): string {
    if (this.#known === undefined) return sql;
    return sql.replace("$1", `(CASE WHEN ${this.isSame} THEN $1 ELSE (${TIMELINE} || ' ${REFUSAL}')::text[] END)`);
  }

  /** A statement without parameters that fails on another server. */
  get guard(): string {
    if (this.#known === undefined) return "";
    return `SELECT CASE WHEN ${this.isSame} THEN 0 ELSE (${TIMELINE} || ' ${REFUSAL}')::integer END`;
  }

  #admit({ system, timeline }: Identity): void {
    if (timeline === "") throw new StoreError("unavailable", "PostgreSQL is a standby that does not accept writes");
    const known = this.#known;
    if (known?.system === system) {
      if (known.timeline === timeline) return;
      // Both have the same number of hexadecimal digits.
      if (timeline < known.timeline) {
        const message = `PostgreSQL is on timeline ${timeline}, and one on ${known.timeline} has replaced it`;
        throw new StoreError("unavailable", message);
      }
    }
    this.#known = { system, timeline };
    if (known === undefined) return;
    this.#moves++;
    this.#logger.warn(
      { before: known, now: { system, timeline } },
      "PostgreSQL has moved to another server: tasks are reloaded before anything is written",
    );
    for (const callback of this.#noticed) callback();
    this.#settling ??= this.#settle();
  }

  /** Never rejects. */
  async #settle(): Promise<void> {
    for (let failures = 0; this.isUnsettled && !this.#isClosed; ) {
      const moves = this.#moves;
      try {
        await Promise.all([...this.#listeners].map((listener) => listener()));
        this.#settled = moves;
      } catch (err) {
        // Some causes need an operator, such as a database that lacks the store's schema.
        const level = ++failures === WARNED_AFTER ? "warn" : "debug";
        this.#logger[level]({ err }, "tasks could not be reloaded from another server; retrying");
        await pause(AGAIN_MS, undefined, true);
      }
    }
    this.#settling = undefined;
  }
}

/** True for the error of a guarded statement on another server. */
export function isRefusal(thrown: unknown): boolean {
  const { code, message } = membersOf(thrown);
  return code === "22P02" && typeof message === "string" && message.includes(REFUSAL);
}

/** Returns the error of a write that depends on reads from another server. */
export function moved(cause?: unknown): StoreError {
  return new StoreError("unavailable", "PostgreSQL has moved to another server; tasks are reloaded", { cause });
}
