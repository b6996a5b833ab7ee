import * as fc from "fast-check";
import * as vitest from "vitest";
import { storeContract } from "../../../contract/index.js";
import { postgresStore } from "../../../src/store/postgres/index.js";
import type { TaskStore } from "../../../src/store/task-store.js";
import { EmptyDatabases } from "./empty-databases.js";
import { PostgresServer, programs } from "./server.js";

/** Some of the tests send thousands of statements. */
vitest.vi.setConfig({ testTimeout: 60_000 });

const bin = programs();

if (bin === undefined) vitest.it.skip("needs a PostgreSQL server (Debian: apt-get install postgresql)", () => {});
else {
  const server = new PostgresServer(bin, { fsync: "off" });
  vitest.afterAll(() => server.end());
  const databases = new EmptyDatabases(server);
  vitest.afterEach(() => databases.drop());

  const urls = new WeakMap<TaskStore, string>();
  const open = async (url: string): Promise<TaskStore> => {
    const store = await postgresStore({ url, schema: databases.schema, require: "none", timeoutMs: 30_000 });
    urls.set(store, url);
    return store;
  };

  storeContract({
    name: "postgresStore",
    open: async () => open(await databases.make()),
    durable: { reopen: (closed) => open(urls.get(closed) ?? "") },
    suite: vitest,
    fc,
  });
}
