import { Socket } from "node:net";
import type { Client, Pool, PoolClient, QueryArrayResult } from "pg";
import type { Logger } from "../../core/log.js";
import { StoreError } from "../task-store.js";
import { DEFAULT_SCHEMA, Servers } from "./address.js";
import { codeOf, isUndone, toStoreError } from "./errors.js";
import { isRefusal, moved, ServerHistory } from "./server-history.js";

export type Value = string | number | boolean | null | Uint8Array | Buffer;

/** A row as an array, which is read faster than an object. */
export type Row = readonly unknown[];

/** Maximum number of repetitions of a transaction after a deadlock. */
const MOST_REPEATS = 5;

/** Error code of a write on a read-only server, such as a primary that has become a standby. */
const READ_ONLY = "25006";

/** Options of a use of a connection. */
export interface Use {
  /** True for a write that depends on earlier reads. It is refused if the server has changed since. */
  readonly isGuarded?: boolean;
}

export const GUARDED: Use = { isGuarded: true };

/** Runs statements: the pool, or the connection of a transaction. */
export interface Statements {
  /** Schema of the tables. */
  readonly schema: string;
  /** Runs statements without values, separated by semicolons. */
  run(sql: string): Promise<void>;
  /** Runs a statement, prepared once for each connection, and returns its rows. */
  query<R extends Row>(sql: string, values?: readonly Value[]): Promise<R[]>;
}

/** Address and settings of a database. */
export interface DatabaseOptions {
  readonly url: string;
  /** Schema of the tables. Default `parley`. */
  readonly schema?: string;
  readonly connections: number;
  /** A statement that takes longer fails, in milliseconds: its connection is closed, and its outcome unknown. */
  readonly timeoutMs: number;
  readonly prepared: boolean;
  readonly logger: Logger;
}

/** A pool of connections. */
export class Database implements Statements {
  readonly history: ServerHistory;
  readonly schema: string;
  readonly #pool: Pool;
  readonly #servers: Servers;
  readonly #client: (timeoutMs: number | undefined) => Client;
  readonly #prepared: boolean;
  readonly #timeoutMs: number;
  /** A name for each statement, so that a connection prepares it once. */
  readonly #names = new Map<string, string>();
  /** Current round of connections. Connections of an earlier round are closed. */
  #round = 0;
  readonly #rounds = new WeakMap<PoolClient, number>();
  #closed: Promise<void> | undefined;

  private constructor(driver: Driver, options: DatabaseOptions) {
    const { url, schema = DEFAULT_SCHEMA, connections, timeoutMs, prepared, logger } = options;
    const servers = new Servers(url);
    const history = new ServerHistory(logger);
    const config = {
      application_name: "parley",
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
      keepAlive: true,
      stream: () => new GuardedSocket(),
      types: { getTypeParser: (type: number) => parsers[type] ?? asText },
    };
    class ServerClient extends driver.Client {
      constructor() {
        super({ ...config, connectionString: servers.current });
      }
    }
    const pool = new driver.Pool({
      ...config,
      max: connections,
      Client: ServerClient,
      verify: (client, done) => void history.learn(client).then(() => done(), done),
    });
    // A connection that ends while it is idle: the pool opens another one when it needs it.
    pool.on("error", (err) => logger.debug({ err }, "an idle connection to PostgreSQL ended"));
    // While it is in use, its statement fails as well; the event without a listener would end the process.
    pool.on("connect", (client) => {
      this.#rounds.set(client, this.#round);
      client.on("error", (err) => logger.debug({ err }, "a connection to PostgreSQL ended"));
    });
    history.onNotice(() => this.renew());
    this.history = history;
    this.schema = schema;
    this.#servers = servers;
    this.#pool = pool;
    this.#client = (limit) => new driver.Client({ ...config, connectionString: servers.current, query_timeout: limit });
    this.#prepared = prepared;
    this.#timeoutMs = timeoutMs;
  }

  static async open(options: DatabaseOptions): Promise<Database> {
    return new Database(await loadDriver(), options);
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

  /** Address of the current server. */
  get server(): string {
    return this.#servers.current;
  }

  /** Closes the connections when they are not in use, so that others are opened, perhaps to another server. */
  renew(): void {
    this.#round++;
  }

  /**
   * Runs a transaction, again after a deadlock.
   * @throws StoreError
   */
  async transaction<T>(run: (on: Statements) => Promise<T>, options: Use = {}): Promise<T> {
    for (let repeats = 0; ; repeats++) {
      try {
        const begin = options.isGuarded === true ? `BEGIN; ${this.history.guard}` : "BEGIN";
        return await this.use((client) => this.#transact(client, begin, run), options);
      } catch (error) {
        if (repeats === MOST_REPEATS || !isUndone(error instanceof StoreError ? error.cause : error)) throw error;
      }
    }
  }

  /**
   * Runs several reads on one consistent snapshot.
   * @throws StoreError
   */
  async snapshot<T>(run: (on: Statements) => Promise<T>): Promise<T> {
    const begin = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY";
    return this.use((client) => this.#transact(client, begin, run));
  }

  /** Gives a connection to `run`. A connection whose statement failed for another reason than its data is closed. */
  async use<T>(run: (client: PoolClient) => Promise<T>, { isGuarded = false }: Use = {}): Promise<T> {
    this.check();
    const { history } = this;
    const { moves } = history;
    if (isGuarded) history.check();
    let client: PoolClient | undefined;
    let failure: StoreError | undefined;
    try {
      client = await this.#connect();
      if (isGuarded) history.check(moves);
      const result = await run(client);
      // The previous server may have confirmed writes that this one lacks.
      if (isGuarded) history.check(moves);
      return result;
    } catch (error) {
      if (isRefusal(error) || codeOf(error) === READ_ONLY) this.renew();
      failure = isRefusal(error) ? moved(error) : toStoreError(error, "PostgreSQL failed");
      throw failure;
    } finally {
      client?.release(failure?.kind === "unavailable" && !isUndone(failure.cause));
    }
  }

  /** Opens a connection outside the pool. If it is `unlimited`, statements have no timeout. The caller closes it. */
  async connection({ unlimited = false }: { readonly unlimited?: boolean } = {}): Promise<Client> {
    const server = this.#servers.current;
    const client = this.#client(unlimited ? undefined : this.#timeoutMs);
    client.on("error", () => {});
    try {
      await client.connect();
      await this.history.learn(client);
      return client;
    } catch (error) {
      this.#servers.failOver(server);
      client.end().catch(() => {});
      throw error;
    }
  }

  /** Returns a pooled connection to the current server, the first named one that takes writes. */
  async #connect(): Promise<PoolClient> {
    for (let failures = 0; ; ) {
      const server = this.#servers.current;
      try {
        const client = await this.#pool.connect();
        if (this.#rounds.get(client) === this.#round) return client;
        client.release(true);
      } catch (error) {
        if (++failures >= this.#servers.count) throw error;
        this.#servers.failOver(server);
      }
    }
  }

  /** Opens a connection whose reads all see the same snapshot, however long they take. The caller closes it. */
  async reader(): Promise<Pick<Statements, "query"> & { end(): Promise<void> }> {
    const guarded = async <T>(work: () => Promise<T>): Promise<T> => {
      try {
        return await work();
      } catch (error) {
        throw toStoreError(error, "PostgreSQL failed");
      }
    };
    const client = await guarded(() => this.connection());
    const end = (): Promise<void> => client.end().catch(() => {});
    const begin =
      "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = 0";
    try {
      await guarded(() => client.query(begin));
    } catch (error) {
      void end();
      throw error;
    }
    return { query: (sql, values = []) => guarded(() => this.#run(client, sql, values)), end };
  }

  /** @throws StoreError `closed` */
  check(): void {
    if (this.#closed !== undefined) throw new StoreError("closed", "The store is closed.");
  }

  close(): Promise<void> {
    this.history.close();
    this.#closed ??= this.#pool.end();
    return this.#closed;
  }

  async #transact<T>(client: PoolClient, begin: string, run: (on: Statements) => Promise<T>): Promise<T> {
    // A process that is suspended in a transaction must not hold its locks.
    await client.query(`${begin}; SET LOCAL idle_in_transaction_session_timeout = ${this.#timeoutMs}`);
    try {
      const result = await run({
        schema: this.schema,
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

  async #run<R extends Row>(client: Client | PoolClient, text: string, values: readonly Value[]): Promise<R[]> {
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

/**
 * The connection of the driver to a server. The driver reads in a listener, which throws for an answer that breaks the
 * protocol, such as that of another kind of server. The connection then fails; the exception would end the process.
 */
class GuardedSocket extends Socket {
  override emit(event: string | symbol, ...args: unknown[]): boolean {
    if (event !== "data") return super.emit(event, ...args);
    try {
      return super.emit(event, ...args);
    } catch (cause) {
      this.destroy(new Error("The answer breaks the protocol of PostgreSQL.", { cause }));
      return true;
    }
  }
}

export async function first<R extends Row>(rows: Promise<R[]>): Promise<R | undefined> {
  return (await rows)[0];
}

type Driver = Pick<typeof import("pg"), "Client" | "Pool">;

async function loadDriver(): Promise<Driver> {
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
