import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { create, follow, followRequest } from "../../../contract/setup.js";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type PostgresStore, postgresStore } from "../../../src/store/postgres/index.js";
import { programs, thePostgres } from "./server.js";

const HOUR_MS = 3_600_000;

describe.skipIf(programs() === undefined)("partitions of PostgresStore", () => {
  let schema = "";
  let count = 0;
  let today = 0;
  let timers: MockInstance<typeof setTimeout>;
  let logged: string[];
  let causes: string[];
  const opened: PostgresStore[] = [];
  const query = (sql: string): Promise<unknown[]> => thePostgres().query(sql.replaceAll("{s}", schema));

  beforeEach(async () => {
    timers = vi.spyOn(globalThis, "setTimeout");
    logged = [];
    causes = [];
    schema = `days_${++count}`;
    // The stores find this function before that of the database, so that a test can move their day.
    await query(
      "CREATE SCHEMA {s}_clock; CREATE TABLE {s}_clock.clock (days integer); INSERT INTO {s}_clock.clock VALUES (0); " +
        "CREATE FUNCTION {s}_clock.now() RETURNS timestamptz LANGUAGE sql STABLE " +
        "AS 'SELECT pg_catalog.now() + days * interval ''1 day'' FROM {s}_clock.clock'",
    );
    [today] = (await query("SELECT extract(epoch FROM now())::integer / 86400"))[0] as [number];
  });
  afterEach(async () => {
    timers.mockRestore();
    for (const store of opened.splice(0)) await store.close();
  });

  const open = async (): Promise<PostgresStore> => {
    const warn = ({ err }: { readonly err?: unknown }, message: string): void => {
      logged.push(message);
      causes.push((err as Error).message);
    };
    const logger = { debug: () => {}, info: () => {}, warn, error: warn };
    const url = `${thePostgres().url}&options=-c%20search_path%3D${schema}_clock,pg_catalog`;
    const store = await postgresStore({ url, schema, require: "none", connections: 3, logger });
    opened.push(store);
    return store;
  };
  const move = async (days: number): Promise<unknown> => query(`UPDATE {s}_clock.clock SET days = ${days}`);
  /** Runs the hourly work of all stores at once, and waits for its end. */
  const passHour = async (): Promise<void> => {
    const hourly = timers.mock.calls.filter(([, ms]) => ms === HOUR_MS);
    for (const [work] of hourly.slice(-opened.length)) work();
    const later = (): number => timers.mock.calls.filter(([, ms]) => ms === HOUR_MS).length;
    await expect.poll(later).toBe(hourly.length + opened.length);
  };
  /** Days that have a partition, counted from the first one of the test. */
  const days = async (): Promise<number[]> => {
    const rows = await query(
      "SELECT substr(relname, 9)::integer FROM pg_class WHERE relnamespace = '{s}'::regnamespace AND relkind = 'r' " +
        "AND relname ~ '^segment_[0-9]+$' ORDER BY 1",
    );
    return rows.map((row) => (row as [number])[0] - today);
  };
  /** Segments of each table. */
  const segments = async (): Promise<unknown> =>
    query("SELECT tableoid::regclass::text, count(*)::integer FROM {s}.segment GROUP BY 1 ORDER BY 1");

  it("creates those of the next days once an hour without retention, from two stores at once", async () => {
    const [one] = [await open(), await open()];
    expect(await days()).toEqual([0, 1, 2]);
    await move(2);
    await passHour();
    expect(await days()).toEqual([0, 1, 2, 3, 4]);
    await move(4);
    await create(one, { taskId: "a" });
    expect(await segments()).toEqual([[`${schema}.segment_${today + 4}`, 1]]);
    expect(logged).toEqual([]);
  });

  it("lets appends pass a lock that another transaction holds, logs the failure once, and retries", async () => {
    const store = await open();
    let head = await create(store, { taskId: "a" });
    const client = new (await import("pg")).default.Client(thePostgres().url);
    await client.connect();
    await client.query(`BEGIN; LOCK TABLE ${schema}.segment IN ACCESS SHARE MODE`);
    await move(1);
    const passing = passHour();
    head = await follow(store, head);
    await passing;
    await passHour();
    expect(await days()).toEqual([0, 1, 2]);
    expect(logged).toEqual([expect.stringContaining("no partition for some of the next days")]);
    await client.end();
    await passHour();
    expect(await days()).toEqual([0, 1, 2, 3]);
    await follow(store, head);
  });

  it("removes the events of a day that began without a partition, which then gets one", async () => {
    const store = await open();
    await move(10);
    const head = await create(store, { taskId: "late" });
    await passHour();
    expect(await days()).toEqual([0, 1, 2, 11, 12]);
    expect(causes).toEqual([`segment_other has events of day ${today + 10}`]);
    await store.append(followRequest(head, { state: TaskState.COMPLETED }));
    expect(await segments()).toEqual([[`${schema}.segment_other`, 2]]);
    expect(await store.removeFinished({ before: Number.MAX_SAFE_INTEGER, limit: 10 })).toBe(1);
    expect(await segments()).toEqual([]);
    expect(await query("SELECT FROM {s}.garbage")).toEqual([]);
    await passHour();
    expect(await days()).toEqual([10, 11, 12]);
    await create(store, { taskId: "later" });
    expect(await segments()).toEqual([[`${schema}.segment_${today + 10}`, 1]]);
  });
});
