import * as fc from "fast-check";
import * as vitest from "vitest";
import { storeContract } from "../../../contract/index.js";
import { postgresStore } from "../../../src/store/postgres/index.js";
import type { TaskStore } from "../../../src/store/task-store.js";
import { PostgresServer, programs } from "./server.js";

/** Some of the tests send thousands of statements. */
vitest.vi.setConfig({ testTimeout: 60_000 });

const bin = programs();

if (bin === undefined) vitest.it.skip("needs a PostgreSQL server (Debian: apt-get install postgresql)", () => {});
else {
  const server = new PostgresServer(bin, { fsync: "off" });
  vitest.afterAll(() => server.end());

  const schemas = new WeakMap<TaskStore, string>();
  let count = 0;
  const open = async (schema: string): Promise<TaskStore> => {
    const store = await postgresStore({ url: server.url, schema, require: "none", timeoutMs: 30_000 });
    schemas.set(store, schema);
    return store;
  };

  storeContract({
    name: "postgresStore",
    open: () => open(`s${++count}`),
    durable: { reopen: (closed) => open(schemas.get(closed) ?? "") },
    suite: vitest,
    fc,
  });
}
