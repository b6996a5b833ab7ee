import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Client } from "pg";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { bytesOf, create, followRequest, headOf, readAll } from "../../../contract/setup.js";
import { silentLogger } from "../../../src/core/log.js";
import { Database } from "../../../src/store/postgres/database.js";
import { type PostgresStore, type PostgresStoreOptions, postgresStore } from "../../../src/store/postgres/index.js";
import { type Migrated, migrate, versionOf } from "../../../src/store/postgres/migrate.js";
import { migrateDatabase } from "../../../src/store/postgres/migrate-database.js";
import { migrations, type Step } from "../../../src/store/postgres/migrations.js";
import { laterSteps } from "../../fixtures/migration/steps.js";
import { PostgresServer, programs } from "./server.js";

const bin = programs();
const script = fileURLToPath(new URL("../../fixtures/migration/migrate.ts", import.meta.url));

/** Version of this release. */
const now = migrations.length;

describe.skipIf(bin === undefined)("migrate()", () => {
  const server = bin === undefined ? (undefined as never) : new PostgresServer(bin, { fsync: "off" });
  afterAll(() => server.end());
  const ends: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });
  let count = 0;
  const open = async (options: Partial<PostgresStoreOptions> = {}): Promise<PostgresStore> => {
    const store = await postgresStore({ url: server.url, schema: `s${++count}`, require: "none", ...options });
    ends.push(() => store.close());
    return store;
  };
  const database = async (): Promise<Database> => {
    const settings = { connections: 3, timeoutMs: 5_000, prepared: false, logger: silentLogger };
    const opened = await Database.open({ url: server.url, ...settings });
    ends.push(() => opened.close());
    return opened;
  };
  const later = async (schema: string, steps: readonly Step[] = laterSteps): Promise<Migrated> =>
    migrate({ database: await database(), schema, logger: silentLogger, steps });
  const connect = async (): Promise<Client> => {
    const client = new (await import("pg")).default.Client(server.url);
    await client.connect();
    ends.push(() => client.end());
    return client;
  };
  /** A migrator that is a process of its own. */
  const start = (
    schema: string,
  ): { readonly child: ChildProcess; readonly text: () => string; done: Promise<unknown> } => {
    const child = spawn(process.execPath, ["--import", "tsx", script, server.url, schema]);
    let text = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (text += String(chunk)));
    const done = new Promise((resolve) => child.on("close", (code, signal) => resolve(signal ?? code)));
    ends.push(() => child.kill("SIGKILL"));
    return { child, text: () => text, done };
  };

  it("migrates while servers of the previous release append and read, without an error or a loss", async () => {
    const schema = "online";
    const [one, two] = [await open({ schema }), await open({ schema })];
    let isOver = false;
    const stream = async (store: PostgresStore, taskId: string): Promise<number> => {
      let head = await create(store, { taskId });
      while (!isOver) {
        const request = followRequest(head, { state: head.position % 3 === 0 ? 2 : 1, statusTime: head.position });
        await store.append(request);
        head = { ...head, ...request.head };
        await create(store, { taskId: `${taskId}-${head.position}` });
        expect(await store.read({ taskId, after: head.position - 1, limit: 10 })).toHaveLength(1);
        expect((await one.list({ ...head, limit: 3 })).heads.length).toBeGreaterThan(0);
      }
      return head.position;
    };
    const streams = [stream(one, "a"), stream(two, "b"), stream(two, "c")];
    await sleep(200);
    expect(await later(schema)).toEqual({ from: migrations.length, to: laterSteps.length });
    await sleep(200);
    isOver = true;
    for (const [index, position] of (await Promise.all(streams)).entries()) {
      const taskId = ["a", "b", "c"][index] ?? "";
      expect((await one.head({ taskId }))?.position).toBe(position);
      expect(await readAll(one, taskId)).toHaveLength(position);
    }
    const { rows } = await (await connect()).query(`SELECT bool_and(later = 7) AS whole FROM ${schema}.task`);
    expect(rows).toEqual([{ whole: true }]);
    await expect(open({ schema })).rejects.toMatchObject({ kind: "newer-schema" });
  });

  it("lets several processes migrate at once, each step once", async () => {
    const schema = "several";
    await open({ schema });
    const results = await Promise.all([later(schema), later(schema), later(schema)]);
    expect(results.map(({ to }) => to)).toEqual(Array(3).fill(now + 3));
    const { rows } = await (await connect()).query(`SELECT version FROM ${schema}.version ORDER BY version`);
    expect(rows.map(({ version }) => version)).toEqual(Array.from({ length: now + 3 }, (_, index) => index + 1));
    const created = await Promise.all(Array.from({ length: 4 }, () => open({ schema: "created" })));
    expect(created).toHaveLength(4);
  });

  it("continues after a kill in the middle, and creates an index again that was left invalid", async () => {
    const schema = "killed";
    const store = await open({ schema });
    await create(store, { taskId: "a" });
    // The index waits for the end of this older transaction.
    const blocker = await connect();
    await blocker.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
    await blocker.query("SELECT 1");
    const killed = start(schema);
    const watcher = await connect();
    const index = async (): Promise<unknown> =>
      (
        await watcher.query("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)::oid", [
          `${schema}.task_later`,
        ])
      ).rows[0]?.indisvalid;
    await expect.poll(index).toBe(false);
    killed.child.kill("SIGKILL");
    expect(await killed.done).toBe("SIGKILL");
    // The server notices the end of a waiting connection late.
    await watcher.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX%'");
    await blocker.query("COMMIT");
    expect(await index()).toBe(false);
    expect(await versionOf(await database(), schema)).toEqual({ version: now + 1, isCopy: false });

    const again = start(schema);
    expect(await again.done).toBe(0);
    expect(again.text()).toContain("an index of an interrupted migration is created again");
    expect(again.text()).toContain(JSON.stringify({ from: now + 1, to: now + 3 }));
    expect(await index()).toBe(true);
    expect(await readAll(store, "a")).toHaveLength(1);
  });

  it("stops waiting for a lock that a long transaction holds, lets servers continue, and gets it later", async () => {
    const schema = "locked";
    const store = await open({ schema, timeoutMs: 4_000 });
    let head = await create(store, { taskId: "a" });
    const blocker = await connect();
    await blocker.query(`BEGIN; SELECT count(*) FROM ${schema}.task`);
    let migrated: Migrated | undefined;
    const migrating = later(schema).then((result) => (migrated = result));
    const until = performance.now() + 2_500;
    let appended = 0;
    // Without the timeout of the lock, the first append would wait for the long transaction, and fail.
    while (performance.now() < until) {
      const request = followRequest(head, { state: 1 + (head.position % 2), statusTime: head.position });
      await store.append(request);
      head = { ...head, ...request.head };
      appended++;
    }
    expect(appended).toBeGreaterThan(0);
    expect(migrated).toBeUndefined();
    await blocker.query("COMMIT");
    expect(await migrating).toEqual({ from: now, to: now + 3 });
    expect(await readAll(store, "a")).toHaveLength(head.position);
  });

  it("rolls a failed step back, and keeps the steps before it", async () => {
    const schema = "failed";
    await open({ schema });
    const broken = [...laterSteps.slice(0, now + 1), "CREATE TABLE {s}.half (id bigint); SELECT 1 / 0"];
    await expect(later(schema, broken)).rejects.toMatchObject({ kind: "failed" });
    expect(await versionOf(await database(), schema)).toEqual({ version: now + 1, isCopy: false });
    const { rows } = await (await connect()).query("SELECT to_regclass('failed.half') AS half");
    expect(rows).toEqual([{ half: null }]);
    expect(await later(schema)).toEqual({ from: now + 1, to: now + 3 });
  });

  it("refuses an older schema with `check`, and names the command", async () => {
    await expect(open({ schema: "unborn", migrate: "check" })).rejects.toThrow(
      `The schema unborn has no tables, and this release needs version ${now}: run "parley migrate"`,
    );
    expect((await versionOf(await database(), "unborn")).version).toBe(0);
    const url = `${server.url}&schema=unborn`;
    expect(await migrateDatabase(url, silentLogger)).toEqual({ from: 0, to: migrations.length, schema: "unborn" });
    expect(await migrateDatabase(url, silentLogger)).toMatchObject({ from: migrations.length });
    await open({ schema: "unborn", migrate: "check" });
    await expect(
      migrate({ database: await database(), schema: "unborn", logger: silentLogger, steps: laterSteps, mode: "check" }),
    ).rejects.toThrow(`has version ${now}, and this release needs version ${now + 3}`);
  });

  it("serves with a role that may only read and write rows, once the schema is current", async () => {
    const schema = "granted";
    const client = await connect();
    await client.query("CREATE ROLE plain LOGIN");
    const url = server.url.replace("postgres@", "plain@");
    await expect(open({ schema, url })).rejects.toThrow("permission denied");
    await migrateDatabase(`${server.url}&schema=${schema}`, silentLogger);
    await client.query(
      `GRANT USAGE ON SCHEMA ${schema} TO plain; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} ` +
        `TO plain; GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO plain`,
    );
    const store = await open({ schema, url, migrate: "check" });
    await create(store, { taskId: "a" });
    // Days whose partition the role may not drop, and days that never had one.
    await client.query(`DROP TABLE ${schema}.segment_${Math.floor(Date.now() / 86_400_000)}`);
    await store.append({
      head: headOf({ taskId: "b", state: 3 }),
      expected: 0,
      creates: true,
      entries: [bytesOf("x")],
    });
    expect(await store.removeFinished({ before: 2_000, limit: 10 })).toBe(1);
    const { rows } = await client.query(`SELECT count(*)::int AS left FROM ${schema}.garbage`);
    expect(rows).toEqual([{ left: 0 }]);
  });
});
