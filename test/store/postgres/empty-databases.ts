import { postgresStore } from "../../../src/store/postgres/index.js";
import type { PostgresServer } from "./server.js";

/** Schema of the tables. */
const SCHEMA = "copied";

/** Keeps what a new database has, beside the tables of the store, so that `empty` can bring it back. */
const KEEP = `
CREATE TABLE public.fresh (name text, kind "char", content json);
DO $keep$ DECLARE each record; content json; BEGIN
  FOR each IN SELECT relname, relkind FROM pg_class WHERE relnamespace = '${SCHEMA}'::regnamespace LOOP
    content := NULL;
    IF each.relkind = 'r' THEN EXECUTE format('SELECT json_agg(t) FROM ${SCHEMA}.%I t', each.relname) INTO content; END IF;
    INSERT INTO public.fresh VALUES (each.relname, each.relkind, content);
  END LOOP;
END $keep$;
CREATE FUNCTION public.empty() RETURNS boolean LANGUAGE plpgsql SET session_replication_role = replica AS $empty$
DECLARE each record; BEGIN
  LOOP
    PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend';
    EXIT WHEN NOT FOUND;
    PERFORM pg_sleep(0.005), pg_stat_clear_snapshot();
  END LOOP;
  IF EXISTS (
    SELECT FROM (SELECT relname::text AS name, relkind AS kind FROM pg_class WHERE relnamespace = '${SCHEMA}'::regnamespace) now
    FULL JOIN public.fresh USING (name, kind) WHERE now IS NULL OR fresh IS NULL
  ) THEN RETURN false; END IF;
  FOR each IN SELECT * FROM public.fresh WHERE kind IN ('r', 'S') LOOP
    IF each.kind = 'S' THEN
      PERFORM setval(format('${SCHEMA}.%I', each.name), 1, false);
    ELSIF pg_relation_size(format('${SCHEMA}.%I', each.name)) > 131072 THEN
      EXECUTE format('TRUNCATE ${SCHEMA}.%I', each.name);
    ELSE
      EXECUTE format('DELETE FROM ${SCHEMA}.%I', each.name);
    END IF;
    IF each.content IS NOT NULL THEN
      EXECUTE format('INSERT INTO ${SCHEMA}.%I SELECT * FROM json_populate_recordset(NULL::${SCHEMA}.%1$I, $1)', each.name)
        USING each.content;
    END IF;
  END LOOP;
  RETURN true;
END $empty$`;

/**
 * Databases that have the tables of a store and no rows. The tables are made once and copied, which takes a fifth of the time
 * that making them takes. A database that a test has left is emptied for the next, which takes a fraction of the time of a copy.
 */
export class EmptyDatabases {
  readonly schema: string = SCHEMA;
  readonly #server: PostgresServer;
  #template: Promise<void> | undefined;
  #made: string[] = [];
  #emptied: string[] = [];
  #count = 0;

  constructor(server: PostgresServer) {
    this.#server = server;
  }

  /** Returns the address of one. */
  async make(): Promise<string> {
    const name = this.#emptied.pop() ?? (await this.#copy());
    this.#made.push(name);
    return this.#server.urlOf(name);
  }

  /** Empties those that are in use, and ends the connections that they still have. */
  async drop(): Promise<void> {
    for (const name of this.#made.splice(0)) {
      const [row] = await this.#server.query("SELECT public.empty()", name);
      if ((row as [boolean])[0]) this.#emptied.push(name);
      // A test has added tables.
      else await this.#server.query(`DROP DATABASE ${name} WITH (FORCE)`);
    }
  }

  async #copy(): Promise<string> {
    this.#template ??= this.#makeTemplate();
    await this.#template;
    const name = `empty_${++this.#count}`;
    await this.#server.query(`CREATE DATABASE ${name} TEMPLATE tables STRATEGY FILE_COPY`);
    return name;
  }

  async #makeTemplate(): Promise<void> {
    await this.#server.query("CREATE DATABASE tables");
    const store = await postgresStore({ url: this.#server.urlOf("tables"), schema: this.schema, require: "none" });
    await store.close();
    await this.#server.query(KEEP, "tables");
  }
}
