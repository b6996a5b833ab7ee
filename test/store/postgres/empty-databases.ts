import { postgresStore } from "../../../src/store/postgres/index.js";
import type { PostgresServer } from "./server.js";

/**
 * Databases that have the tables of a store and no rows. The tables are made once and copied, which takes a fifth of the time
 * that making them takes.
 */
export class EmptyDatabases {
  /** Schema of the tables. */
  readonly schema = "copied";
  readonly #server: PostgresServer;
  #template: Promise<void> | undefined;
  #made: string[] = [];
  #count = 0;

  constructor(server: PostgresServer) {
    this.#server = server;
  }

  /** Makes one, and returns its address. */
  async make(): Promise<string> {
    this.#template ??= this.#makeTemplate();
    await this.#template;
    const name = `empty_${++this.#count}`;
    await this.#server.query(`CREATE DATABASE ${name} TEMPLATE tables STRATEGY FILE_COPY`);
    this.#made.push(name);
    return this.#server.urlOf(name);
  }

  /** Removes those that were made, with the connections that they still have. */
  async drop(): Promise<void> {
    for (const name of this.#made.splice(0)) await this.#server.query(`DROP DATABASE ${name} WITH (FORCE)`);
  }

  async #makeTemplate(): Promise<void> {
    await this.#server.query("CREATE DATABASE tables");
    const store = await postgresStore({ url: this.#server.urlOf("tables"), schema: this.schema, require: "none" });
    await store.close();
  }
}
