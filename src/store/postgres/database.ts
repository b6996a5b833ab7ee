import type { Client, Pool, PoolClient, QueryArrayResult } from "pg";
import type { Logger } from "../../core/log.js";
import { StoreError } from "../task-store.js";
import { isUndone, toStoreError } from "./errors.js";

/** A value of a statement. */
export type Value = string | number | boolean | null | Uint8Array | Buffer;

/** A row as an array, which is read faster than an object. */
export type Row = readonly unknown[];

/** Times that a transaction is repeated after a deadlock. */
const MOST_REPEATS = 5;

/** Runs statements: the pool, or the connection of a transaction. */
export interface Statements {
  /** Runs statements without values, separated by semicolons. */
  run(sql: string): Promise<void>;
  /** Runs a statement, prepared once for each connection, and returns its rows. */
  query<R extends Row>(sql: string, values?: readonly Value[]): Promise<R[]>;
}

/** Address and settings of a database. */
export interface DatabaseOptions {
  readonly url: string;
  readonly connections: number;
  /** A statement that takes longer fails, in milliseconds: its connection is closed, and its outcome unknown. */
  readonly timeoutMs: number;
  readonly prepared: boolean;
  readonly logger: Logger;
}

/** A pool of connections. */
export class Database implements Statements {
  readonly #pool: Pool;
  readonly #client: (timeoutMs: number | undefined) => Client;
  readonly #prepared: boolean;
  readonly #timeoutMs: number;
  /** A name for each statement, so that a connection prepares it once. */
  readonly #names = new Map<string, string>();
  #closed: Promise<void> | undefined;

  private constructor(
    pool: Pool,
    client: (timeoutMs: number | undefined) => Client,
    { prepared, timeoutMs }: DatabaseOptions,
  ) {
    this.#pool = pool;
    this.#client = client;
    this.#prepared = prepared;
    this.#timeoutMs = timeoutMs;
  }

  static async open(options: DatabaseOptions): Promise<Database> {
    const { url, connections, timeoutMs, logger } = options;
    const { Pool, Client } = await loadDriver();
    const config = {
      connectionString: url,
      application_name: "parley",
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
      keepAlive: true,
      types: { getTypeParser: (type: number) => parsers[type] ?? asText },
    };
    const pool = new Pool({ ...config, max: connections });
    // A connection that ends while it is idle: the pool opens another one when it needs it.
    pool.on("error", (err) => logger.debug({ err }, "an idle connection to PostgreSQL ended"));
    // While it is in use, its statement fails as well; the event without a listener would end the process.
    pool.on("connect", (client) =>
      client.on("error", (err) => logger.debug({ err }, "a connection to PostgreSQL ended")),
    );
    const client = (limit: number | undefined): Client => new Client({ ...config, query_timeout: limit });
    return new Database(pool, client, options);
  }

  /** @throws StoreError */
  async run(sql: string): Promise<void> {
    await this.use((client) => client.query(sql));
  }

  /** @throws StoreError */
  async query<R extends Row>(sql: string, values: readonly Value[] = []): Promise<R[]> {
    const copies = values.map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value));
    return this.use((client) => this.#run<R>(client, sql, copies));
  }

  /**
   * Runs a transaction, again after a deadlock.
   * @throws StoreError
   */
  async transaction<T>(run: (on: Statements) => Promise<T>): Promise<T> {
    for (let repeats = 0; ; repeats++) {
      try {
        return await this.use((client) => this.#transact(client, "BEGIN", run));
      } catch (error) {
        if (repeats === MOST_REPEATS || !isUndone(error instanceof StoreError ? error.cause : error)) throw error;
      }
    }
  }

  /**
   * Runs several reads on one moment.
   * @throws StoreError
   */
  async snapshot<T>(run: (on: Statements) => Promise<T>): Promise<T> {
    const begin = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY";
    return this.use((client) => this.#transact(client, begin, run));
  }

  /** Gives a connection to `run`. A connection whose statement failed for another reason than its data is closed. */
  async use<T>(run: (client: PoolClient) => Promise<T>): Promise<T> {
    this.check();
    let client: PoolClient | undefined;
    let failure: StoreError | undefined;
    try {
      client = await this.#pool.connect();
      return await run(client);
    } catch (error) {
      failure = toStoreError(error, "PostgreSQL failed");
      throw failure;
    } finally {
      client?.release(failure?.kind === "unavailable" && !isUndone(failure.cause));
    }
  }

  /** Opens a connection beside the pool, whose statements may take any time if they are `unlimited`. The caller ends it. */
  async connection({ unlimited = false }: { readonly unlimited?: boolean } = {}): Promise<Client> {
    const client = this.#client(unlimited ? undefined : this.#timeoutMs);
    client.on("error", () => {});
    await client.connect();
    return client;
  }

  /** @throws StoreError `closed` */
  check(): void {
    if (this.#closed !== undefined) throw new StoreError("closed", "The store is closed.");
  }

  close(): Promise<void> {
    this.#closed ??= this.#pool.end();
    return this.#closed;
  }

  async #transact<T>(client: PoolClient, begin: string, run: (on: Statements) => Promise<T>): Promise<T> {
    // A process that is suspended in a transaction must not hold its locks.
    await client.query(`${begin}; SET LOCAL idle_in_transaction_session_timeout = ${this.#timeoutMs}`);
    try {
      const result = await run({
        query: (sql, values = []) => this.#run(client, sql, values),
        run: async (sql) => void (await client.query(sql)),
      });
      await client.query("COMMIT");
      return result;
    } catch (error) {
      // Fails on a connection that ended, which the caller closes.
      await client.query("ROLLBACK").catch(() => {});
      throw error;
    }
  }

  async #run<R extends Row>(client: PoolClient, text: string, values: readonly Value[]): Promise<R[]> {
    const result: QueryArrayResult = await client.query({
      ...this.statement(text),
      values: values.map(asBuffer),
      rowMode: "array",
    });
    // The statement determines the types of its rows.
    return result.rows as unknown as R[];
  }

  /** A statement, with its name if connections prepare it. */
  statement(text: string): { readonly text: string; readonly name?: string } {
    return this.#prepared ? { text, name: this.#nameOf(text) } : { text };
  }

  #nameOf(text: string): string {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    const name = `parley_${this.#names.size}`;
    this.#names.set(text, name);
    return name;
  }
}

/** The first row, or undefined. */
export async function first<R extends Row>(rows: Promise<R[]>): Promise<R | undefined> {
  return (await rows)[0];
}

async function loadDriver(): Promise<Pick<typeof import("pg"), "Client" | "Pool">> {
  try {
    return (await import("pg")).default;
  } catch (error) {
    throw new StoreError("failed", "The PostgreSQL store needs the package pg: npm install pg", { cause: error });
  }
}

/** The driver sends a Buffer in binary form, any other view as text. */
function asBuffer(value: Value): Value {
  if (!(value instanceof Uint8Array) || Buffer.isBuffer(value)) return value;
  return Buffer.from(value.buffer, value.byteOffset, value.length);
}

function asText(value: string): string {
  return value;
}

/** Parsers of the types that statements return, by `pg_type.oid`; all others are texts. */
const parsers: Readonly<Record<number, (value: string) => unknown>> = {
  16: (value) => value === "t",
  17: (value) => bytesOf(value),
  20: Number,
  21: Number,
  23: Number,
  701: Number,
};

/** Bytes as PostgreSQL writes them: `\x` and hexadecimal digits. */
function bytesOf(value: string): Uint8Array {
  const { buffer, byteOffset, length } = Buffer.from(value.slice(2), "hex");
  return new Uint8Array(buffer, byteOffset, length);
}
