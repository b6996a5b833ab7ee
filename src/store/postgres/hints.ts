import { randomBytes } from "node:crypto";
import type { Client } from "pg";
import type { Logger } from "../../core/log.js";
import type { HintListener } from "../task-store.js";
import type { Database } from "./database.js";

/** Time for which ids are collected, in milliseconds. A notification in the commit of an append costs most of its rate. */
const COLLECT_MS = 5;

/** Bytes of one notification: PostgreSQL takes less than 8,000. */
const MOST_BYTES = 7_000;

/** Ids that wait at most. Later ones are left to polling. */
const MOST_IDS = 10_000;

/** Interval of notifications to oneself, in milliseconds. Without an answer, the connection is opened anew. */
const BEAT_MS = 5_000;

/** Delays before a connection is opened anew, in milliseconds. */
const RETRY_MS = [100, 500, 2_000, 5_000];

/**
 * Tells other processes which tasks have changed, and hears it from them: by NOTIFY, on a connection of its own. Nothing
 * depends on it: a lost notification is made up for by polling.
 */
export class Hints {
  readonly #database: Database;
  readonly #channel: string;
  readonly #logger: Logger;
  readonly #self = randomBytes(9).toString("base64url");
  #listener: HintListener = () => {};
  #client: Client | undefined;
  #ids = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #beat: NodeJS.Timeout | undefined;
  #sending: Promise<void> = Promise.resolve();
  #isHeard = false;
  #failures = 0;
  #isClosed = false;

  /** @param schema in the name of the channel, so that stores of one database do not hear each other */
  constructor(database: Database, schema: string, logger: Logger) {
    this.#database = database;
    this.#channel = `parley_${schema}`;
    this.#logger = logger;
    void this.#connect();
  }

  onHint(listener: HintListener): void {
    this.#listener = listener;
  }

  /** Notes changes of tasks, to be told soon. */
  publish(taskIds: readonly string[]): void {
    if (this.#client === undefined) return;
    for (const taskId of taskIds) if (this.#ids.size < MOST_IDS) this.#ids.add(taskId);
    this.#timer ??= setTimeout(() => void this.#tell(), COLLECT_MS).unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#beat);
    await this.#client?.end().catch(() => {});
  }

  async #tell(): Promise<void> {
    this.#timer = undefined;
    const ids = [...this.#ids];
    this.#ids = new Set();
    for (const payload of payloadsOf(this.#self, ids)) await this.#notify(payload);
  }

  /** One notification at a time. Never rejects. */
  #notify(payload: string): Promise<void> {
    const client = this.#client;
    const send = async (): Promise<void> => {
      await client?.query("SELECT pg_notify($1, $2)", [this.#channel, payload]).catch(() => this.#lose(client));
    };
    this.#sending = this.#sending.then(send);
    return this.#sending;
  }

  async #connect(): Promise<void> {
    if (this.#isClosed) return;
    let client: Client | undefined;
    try {
      const opened = await this.#database.connection();
      client = opened;
      if (this.#isClosed) return void opened.end().catch(() => {});
      opened.on("error", () => this.#lose(opened));
      opened.on("end", () => this.#lose(opened));
      opened.on("notification", ({ payload }) => this.#hear(payload ?? ""));
      await opened.query(`LISTEN ${this.#channel}`);
      this.#client = opened;
      this.#isHeard = true;
      this.#check(opened);
    } catch (error) {
      this.#logger.debug({ err: error }, "notifications of PostgreSQL cannot be heard; retrying");
      client?.end().catch(() => {});
      this.#retry();
    }
  }

  /** Notifies this process itself, and looks after a while whether that was heard. */
  #check(client: Client): void {
    if (this.#client !== client || this.#isClosed) return;
    if (!this.#isHeard) {
      this.#logger.warn(
        {},
        "PostgreSQL passes no notifications on: changes by other servers are seen by polling alone",
      );
      return this.#lose(client);
    }
    this.#isHeard = false;
    void this.#notify(JSON.stringify([this.#self]));
    this.#beat = setTimeout(() => this.#check(client), BEAT_MS).unref();
  }

  #hear(payload: string): void {
    const [from, ...taskIds] = idsOf(payload);
    if (from !== this.#self) return this.#listener(taskIds);
    this.#isHeard = true;
    this.#failures = 0;
  }

  #lose(client: Client | undefined): void {
    if (client === undefined || this.#client !== client) return;
    this.#client = undefined;
    clearTimeout(this.#beat);
    client.end().catch(() => {});
    this.#retry();
  }

  #retry(): void {
    if (this.#isClosed) return;
    const delay = RETRY_MS[Math.min(this.#failures++, RETRY_MS.length - 1)];
    this.#beat = setTimeout(() => void this.#connect(), delay).unref();
  }
}

/** Notifications with the sender and the ids, each below the limit of PostgreSQL. A longer id is left out. */
function payloadsOf(self: string, ids: readonly string[]): string[] {
  const payloads: string[] = [];
  let texts = [JSON.stringify(self)];
  let bytes = 0;
  for (const id of ids) {
    const text = JSON.stringify(id);
    const size = Buffer.byteLength(text) + 1;
    if (size > MOST_BYTES) continue;
    if (bytes + size > MOST_BYTES) {
      payloads.push(`[${texts.join()}]`);
      texts = [JSON.stringify(self)];
      bytes = 0;
    }
    texts.push(text);
    bytes += size;
  }
  return texts.length > 1 ? [...payloads, `[${texts.join()}]`] : payloads;
}

/** The texts of a notification; none of one that another program has sent. */
function idsOf(payload: string): string[] {
  try {
    const parsed: unknown = JSON.parse(payload);
    return Array.isArray(parsed) ? parsed.filter((id): id is string => typeof id === "string") : [];
  } catch {
    return [];
  }
}
