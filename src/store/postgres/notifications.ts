import { randomBytes } from "node:crypto";
import type { Client } from "pg";
import { backoffMs, within } from "../../core/async.js";
import type { Logger } from "../../core/log.js";
import type { Carrier } from "../../signals/carrier.js";
import type { Database } from "./database.js";
import { moved } from "./server-history.js";

/** Interval at which the process notifies itself, in milliseconds. If a notification is lost, it reconnects. */
const BEAT_MS = 5_000;

/** Delays before a reconnect. */
const retries = { firstMs: 100, maxMs: 5_000, jitter: 0.5 } as const;

/** Time to send the last notifications when the carrier closes, in milliseconds. */
const CLOSE_MS = 1_000;

/** Maximum number of texts that wait while others are sent. Later ones are dropped. */
const MOST_TEXTS = 1_000;

/**
 * Carries signals over NOTIFY, on its own connection. In the commit of an append, NOTIFY would cost most of the append
 * rate.
 */
export class Notifications implements Carrier {
  /** PostgreSQL accepts fewer than 8,000. */
  readonly maxBytes = 7_000;
  readonly #database: Database;
  readonly #channel: string;
  readonly #logger: Logger;
  readonly #beatText = `beat ${randomBytes(9).toString("base64url")}`;
  #listener: (text: string) => void = () => {};
  #client: Client | undefined;
  #waiting: string[] = [];
  #sending: Promise<void> | undefined;
  #beat: NodeJS.Timeout | undefined;
  #isHeard = false;
  #failures = 0;
  #isClosed = false;

  /** @param schema part of the channel's name, so that each store of a database has its own channel */
  constructor(database: Database, schema: string, logger: Logger) {
    this.#database = database;
    this.#channel = `parley_${schema}`;
    this.#logger = logger;
    database.history.onNotice(() => this.#reopen());
  }

  /** Reconnects: the server may have been replaced without closing the connection. */
  #reopen(): void {
    if (this.#client !== undefined) this.#lose(this.#client);
  }

  open(hear: (text: string) => void): void {
    this.#listener = hear;
    void this.#connect();
  }

  broadcast(texts: readonly string[]): void {
    if (this.#client === undefined || this.#waiting.length > MOST_TEXTS) return;
    this.#waiting.push(...texts);
    this.#sending ??= this.#send(this.#client);
  }

  /** All processes receive it; those without the member ignore it. */
  async send(_to: string, text: string): Promise<boolean> {
    this.broadcast([text]);
    return this.#client !== undefined;
  }

  async close(): Promise<void> {
    if (this.#sending !== undefined) await within(CLOSE_MS, this.#sending);
    this.#isClosed = true;
    clearTimeout(this.#beat);
    const client = this.#client;
    if (client === undefined) return;
    // A server that hangs never closes the connection.
    await within(CLOSE_MS, client.end()).catch(() => {});
  }

  /** Runs one statement at a time. Texts that arrive meanwhile share the next one. Never rejects. */
  async #send(client: Client): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        const texts = this.#waiting.splice(0);
        await client.query("SELECT pg_notify($1, text) FROM unnest($2::text[]) text", [this.#channel, texts]);
      }
    } catch {
      this.#lose(client);
    } finally {
      this.#sending = undefined;
    }
  }

  async #connect(): Promise<void> {
    if (this.#isClosed) return;
    let client: Client | undefined;
    try {
      const opened = await this.#database.connection();
      client = opened;
      if (this.#isClosed) return void opened.end().catch(() => {});
      const { moves } = this.#database.history;
      opened.on("error", () => this.#lose(opened));
      opened.on("end", () => this.#lose(opened));
      opened.on("notification", ({ payload }) => this.#hear(payload ?? ""));
      await opened.query(`LISTEN ${this.#channel}`);
      if (this.#isClosed) return void opened.end().catch(() => {});
      // `#reopen` does not know this connection yet.
      if (this.#database.history.moves !== moves) throw moved();
      this.#client = opened;
      this.#isHeard = true;
      this.#check(opened);
    } catch (error) {
      this.#logger.debug({ err: error }, "notifications of PostgreSQL cannot be received; retrying");
      client?.end().catch(() => {});
      this.#retry();
    }
  }

  /** Notifies this process itself, and later checks that the notification arrived. */
  #check(client: Client): void {
    if (this.#client !== client || this.#isClosed) return;
    if (!this.#isHeard) {
      this.#logger.warn(
        {},
        "PostgreSQL does not deliver notifications: changes by other servers are seen by polling alone",
      );
      return this.#lose(client);
    }
    this.#isHeard = false;
    this.broadcast([this.#beatText]);
    this.#beat = setTimeout(() => this.#check(client), BEAT_MS).unref();
  }

  #hear(text: string): void {
    if (text !== this.#beatText) return this.#listener(text);
    this.#isHeard = true;
    this.#failures = 0;
  }

  #lose(client: Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#waiting = [];
    clearTimeout(this.#beat);
    client.end().catch(() => {});
    this.#retry();
  }

  #retry(): void {
    if (this.#isClosed) return;
    this.#beat = setTimeout(() => void this.#connect(), backoffMs(++this.#failures, retries)).unref();
  }
}
