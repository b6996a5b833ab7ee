import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { create, follow, readAll } from "../../../contract/setup.js";
import { Database } from "../../../src/store/postgres/database.js";
import { type PostgresStore, type PostgresStoreOptions, postgresStore } from "../../../src/store/postgres/index.js";
import { PostgresServer, programs } from "./server.js";

const bin = programs();

describe.skipIf(bin === undefined)("connections of PostgresStore", () => {
  // Its log has a line for each statement, which begins with the process of the connection.
  const settings = { fsync: "off", log_statement: "all", log_line_prefix: "%p " };
  const server = bin === undefined ? (undefined as never) : new PostgresServer(bin, settings);
  const ends: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });
  afterAll(() => server.end());
  const open = async (options: Partial<PostgresStoreOptions> = {}): Promise<PostgresStore> => {
    const store = await postgresStore({ url: server.url, require: "none", connections: 3, ...options });
    ends.push(() => store.close());
    return store;
  };
  /** Processes of the connections that ran statements with a text, one for each statement. */
  const processesOf = (text: string): number[] => {
    const lines = readFileSync(join(server.folder, "log"), "utf8").split("\n");
    return lines
      .filter((line) => line.includes(" LOG:  execute ") && line.includes(text))
      .map((line) => Number.parseInt(line, 10));
  };

  it.each([
    [undefined, true],
    [true, true],
    [false, false],
  ])("prepare the statements of the store with the option prepared: %s", async (prepared, arePrepared) => {
    const opened = vi.spyOn(Database, "open");
    const store = await open({ schema: `prepared_${prepared}`, ...(prepared !== undefined && { prepared }) });
    const database = await (opened.mock.results.at(-1)?.value as Promise<Database>);
    opened.mockRestore();
    await follow(store, await create(store, { taskId: "a" }));
    // At once, so that each connection of the pool answers.
    const names = "SELECT statement FROM pg_prepared_statements";
    const rows = await Promise.all(
      [1, 2, 3].map(() => database.use(async (client) => (await client.query(names)).rows)),
    );
    const statements = rows.flat().map(({ statement }) => String(statement));
    if (arePrepared) expect(statements).toContainEqual(expect.stringContaining("append_1("));
    else expect(statements).toEqual([]);
  });

  it("carry notifications of 500 appends in a few statements, apart from appends", async () => {
    const schema = "hints";
    const [one, two] = [await open({ schema }), await open({ schema })];
    const [a, b] = [one.signals?.join("a"), two.signals?.join("b")];
    const heard = new Set<string>();
    b?.onChanged((ids) => {
      for (const id of ids) heard.add(id);
    });
    const probe = (): number => {
      a?.changed("probe");
      return heard.size;
    };
    await expect.poll(probe).toBeGreaterThan(0);
    const before = processesOf("pg_notify").length;
    const ids = Array.from({ length: 500 }, (_, index) => `t${index}`);
    // The engine announces a task after its commit.
    const append = async (taskId: string): Promise<void> => {
      await create(one, { taskId });
      a?.changed(taskId);
    };
    await Promise.all(ids.map(append));
    await expect.poll(() => ids.filter((id) => !heard.has(id))).toEqual([]);
    const [notifying, appending] = [processesOf("pg_notify"), processesOf(`${schema}.append_1`)];
    expect(notifying.length - before).toBeLessThan(50);
    expect(appending.length).toBeGreaterThan(0);
    expect(notifying.filter((process) => appending.includes(process))).toEqual([]);
  });

  it("carry the heartbeats of several holders on one connection beside the event loop", async () => {
    const store = await open({ schema: "beats" });
    const request = { leaseMs: 45, again: false, maxStallMs: 60_000 };
    await Promise.all(["a", "b"].map((holder) => store.heartbeat({ ...request, holder })));
    const beats = (): Promise<unknown[]> => server.query("SELECT id, beat FROM beats.holder ORDER BY id");
    const own = await beats();
    expect(own).toHaveLength(2);
    const beaten = async (): Promise<boolean[]> =>
      (await beats()).map((row, index) => JSON.stringify(row) !== JSON.stringify(own[index]));
    await expect.poll(beaten).toEqual([true, true]);
    const connections = "SELECT count(*)::integer FROM pg_stat_activity WHERE application_name = 'parley heartbeat'";
    expect(await server.query(connections)).toEqual([[1]]);
  });

  it("notify nobody in the transaction of an append", async () => {
    const store = await open({ schema: "silent" });
    const client = new (await import("pg")).default.Client(server.url);
    await client.connect();
    ends.push(() => client.end());
    const heard: (string | undefined)[] = [];
    client.on("notification", ({ payload }) => heard.push(payload));
    await client.query("LISTEN parley_silent");
    await follow(store, await create(store, { taskId: "a" }));
    // Notifications arrive in the order of their commits.
    await server.query("NOTIFY parley_silent, 'last'");
    await expect.poll(() => heard).toContain("last");
    expect(heard).toEqual(["last"]);
  });

  it("use the new password of a changed .pgpass without a restart", async () => {
    await server.query("CREATE ROLE changing LOGIN PASSWORD 'old'; GRANT CREATE ON DATABASE postgres TO changing");
    const rules = join(server.folder, "data", "pg_hba.conf");
    writeFileSync(rules, `local all changing scram-sha-256\n${readFileSync(rules, "utf8")}`);
    await server.query("SELECT pg_reload_conf()");
    const passwords = join(server.folder, "pgpass");
    const usePassword = (password: string): void =>
      writeFileSync(passwords, `*:*:*:changing:${password}\n`, { mode: 0o600 });
    vi.stubEnv("PGPASSFILE", passwords);
    ends.push(() => vi.unstubAllEnvs());
    usePassword("old");
    const store = await open({ schema: "changing", url: server.url.replace("postgres@", "changing@") });
    await create(store, { taskId: "a" });
    await server.query("ALTER ROLE changing PASSWORD 'new'");
    await server.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'changing'");
    await expect.poll(() => store.health.status.healthy, { timeout: 10_000 }).toBe(false);
    usePassword("new");
    await expect.poll(() => store.health.status.healthy, { timeout: 10_000 }).toBe(true);
    await create(store, { taskId: "b" });
    expect(await readAll(store, "b")).toEqual(["1"]);
  });

  it("of a second role that acts as the first leave the tables to the first", async () => {
    await server.query("CREATE ROLE owning LOGIN; GRANT CREATE ON DATABASE postgres TO owning");
    await server.query("CREATE ROLE acting LOGIN IN ROLE owning; ALTER ROLE acting SET role = 'owning'");
    const as = (role: string) => open({ schema: "led", url: server.url.replace("postgres@", `${role}@`) });
    const [second, first] = [await as("acting"), await as("owning")];
    await create(second, { taskId: "a" });
    expect(await readAll(first, "a")).toEqual(["1"]);
    const owners = "SELECT DISTINCT tableowner::text FROM pg_tables WHERE schemaname = 'led'";
    expect(await server.query(owners)).toEqual([["owning"]]);
  });

  it("open to a database that hides its timeline, and the log says so", async () => {
    await server.query(
      "CREATE ROLE plain LOGIN; GRANT CREATE ON DATABASE postgres TO plain; " +
        "REVOKE EXECUTE ON FUNCTION pg_control_system(), pg_control_checkpoint() FROM PUBLIC",
    );
    const logged: string[] = [];
    const info = (_facts: object, message: string): void => void logged.push(message);
    const logger = { debug: () => {}, info, warn: info, error: info };
    const hidden = "the database does not tell its timeline: a failover that loses events is not noticed";
    await open({ schema: "told", logger });
    expect(logged).not.toContain(hidden);
    const store = await open({ schema: "hidden", url: server.url.replace("postgres@", "plain@"), logger });
    expect(logged.filter((message) => message === hidden)).toEqual([hidden]);
    await follow(store, await create(store, { taskId: "a" }));
    expect(await readAll(store, "a")).toEqual(["1", "2"]);
  });
});
