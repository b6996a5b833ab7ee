import * as fc from "fast-check";
import * as vitest from "vitest";
import { storeContract } from "../../contract/index.js";
import { postgresStore } from "../../src/store/postgres/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { EmptyDatabases } from "../store/postgres/empty-databases.js";
import { PostgresServer } from "../store/postgres/server.js";
import { scaled } from "../support/soak.js";
import { type LaterVersion, programsOf } from "./support/postgres-versions.js";

vitest.vi.setConfig({ testTimeout: 120_000 });

const versions = [16, 17, 18] satisfies LaterVersion[];

/**
 * Number of parts of the contract. `PARLEY_POSTGRES=all` runs the whole contract on each version. Otherwise each
 * version runs a different sixth, because `test/store/postgres/contract.test.ts` runs all of it on Debian's version.
 */
const PARTS = process.env.PARLEY_POSTGRES === "all" ? 1 : 6;

/** Draws fewer random histories, except in a soak. Debian's version draws as many as all others together. */
const someHistories: typeof fc = {
  ...fc,
  assert: ((property: never, { numRuns = 100, ...more }: fc.Parameters) =>
    fc.assert(property, { ...more, numRuns: scaled(Math.ceil(numRuns / PARTS), numRuns) })) as typeof fc.assert,
};

/** Runs a part of a suite: the first test of each group, and the tests with this remainder. */
function partOf(remainder: number): typeof vitest {
  let count = 0;
  const it = (name: string, ...rest: [never]): void => {
    if (count === 0 || count % PARTS === remainder) vitest.it(name, ...rest);
    count++;
  };
  const describe = (name: string, body: () => void): void => {
    vitest.describe(name, () => {
      count = 0;
      body();
    });
  };
  return { ...vitest, describe, it } as unknown as typeof vitest;
}

for (const [index, version] of versions.entries()) {
  vitest.describe(`PostgreSQL ${version}`, () => {
    let server: PostgresServer;
    let databases: EmptyDatabases;
    let remove = (): void => {};
    vitest.beforeAll(async () => {
      const programs = await programsOf(version);
      remove = programs.remove;
      server = new PostgresServer(programs.bin, { fsync: "off" });
      databases = new EmptyDatabases(server);
    });
    vitest.afterEach(() => databases.drop());
    vitest.afterAll(() => {
      server?.end();
      remove();
    });

    const urls = new WeakMap<TaskStore, string>();
    const open = async (url: string): Promise<TaskStore> => {
      const store = await postgresStore({ url, schema: databases.schema, require: "none", timeoutMs: 30_000 });
      urls.set(store, url);
      return store;
    };

    vitest.it("has the version", async () => {
      vitest
        .expect(await server.query("SHOW server_version"))
        .toEqual([[vitest.expect.stringMatching(`^${version}\\.`)]]);
    });

    storeContract({
      name: "postgresStore",
      open: async () => open(await databases.make()),
      durable: { reopen: (closed) => open(urls.get(closed) ?? "") },
      suite: PARTS === 1 ? vitest : partOf(index),
      fc: someHistories,
    });

    vitest.it("takes writes again after the server was killed", async () => {
      const store = await postgresStore({ url: server.url, schema: "killed", require: "none", timeoutMs: 2_000 });
      try {
        server.stop("immediate");
        await vitest.expect.poll(() => store.health.status.healthy, { timeout: 10_000 }).toBe(false);
        server.start();
        await vitest.expect.poll(() => store.health.status.healthy, { timeout: 20_000 }).toBe(true);
        vitest.expect(store.history?.moves).toBe(0);
      } finally {
        await store.close();
      }
    });
  });
}
