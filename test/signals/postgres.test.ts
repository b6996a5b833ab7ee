import { describe, expect, it } from "vitest";
import { postgresStore } from "../../src/store/postgres/index.js";
import { programs, thePostgres } from "../store/postgres/server.js";
import { signalCases } from "./cases.js";

const isInstalled = programs() !== undefined;

/** Runs a statement on a connection of its own. */
async function run(sql: string, values: readonly string[] = []): Promise<void> {
  const { default: driver } = await import("pg");
  const client = new driver.Client(thePostgres().url);
  await client.connect();
  await client.query(sql, [...values]);
  await client.end();
}

describe.skipIf(!isInstalled)("the PostgreSQL store", () => {
  let schemas = 0;
  signalCases("NOTIFY", async () => {
    const schema = `signals_${++schemas}`;
    const { url } = thePostgres();
    const open = () => postgresStore({ url, schema, require: "none", connections: 3 });
    const [one, two] = [await open(), await open()];
    const ofStore = ({ signals, close }: typeof one) => ({
      join: (name: string) => signals?.join(name) ?? missing(),
      close: async () => {
        await signals?.close();
        await close();
      },
    });
    return {
      one: ofStore(one),
      two: ofStore(two),
      stranger: (text) => run("SELECT pg_notify($1, $2)", [`parley_${schema}`, text]),
      cut: () =>
        run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query ~ $1", [
          `LISTEN parley_${schema}|pg_notify`,
        ]),
    };
  });

  it("closes though its signals were never used", async () => {
    const store = await postgresStore({ url: thePostgres().url, schema: "unused", require: "none" });
    expect(store.signals).toBeDefined();
    await store.close();
  });
});

function missing(): never {
  throw new Error("a store of PostgreSQL has signals");
}
