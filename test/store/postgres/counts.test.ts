import { afterEach, describe, expect, it } from "vitest";
import { create, follow, OWNER } from "../../../contract/setup.js";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type PostgresStore, postgresStore } from "../../../src/store/postgres/index.js";
import { migrations } from "../../../src/store/postgres/migrations.js";
import { programs, thePostgres } from "./server.js";

async function run(sql: string): Promise<unknown[]> {
  const { default: driver } = await import("pg");
  const client = new driver.Client(thePostgres().url);
  await client.connect();
  try {
    return (await client.query({ text: sql, rowMode: "array" })).rows as unknown[];
  } finally {
    await client.end();
  }
}

/** Creates a task as the first release of the schema did. */
function createByVersion1(schema: string, taskId: string): Promise<unknown[]> {
  const nulls = (count: number): string => "NULL, ".repeat(count);
  return run(
    `SELECT outcome, known FROM ${schema}.append_1(ARRAY['${taskId}'], ARRAY['${OWNER.tenant}'], ARRAY['${OWNER.owner}'], ARRAY['c'], ` +
      `ARRAY[${TaskState.WORKING}]::smallint[], ARRAY[1], ARRAY[0], ARRAY[1], ARRAY[1], ${nulls(20)}` +
      "ARRAY[1], ARRAY[1], ARRAY[1], ARRAY['\\x0100'::bytea])",
  );
}

describe.skipIf(programs() === undefined)("total of PostgresStore.list()", () => {
  const opened: PostgresStore[] = [];
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
  });
  const open = async (schema: string): Promise<PostgresStore> => {
    const store = await postgresStore({ url: thePostgres().url, schema, require: "none" });
    opened.push(store);
    return store;
  };
  const total = async (store: PostgresStore, state?: TaskState): Promise<number> =>
    (await store.list({ ...OWNER, limit: 1, ...(state !== undefined && { state }) })).total;

  it("is the same before and after tallies are folded, for every process", async () => {
    const [one, two] = [await open("counts_fold"), await open("counts_fold")];
    const heads = await Promise.all(["a", "b", "c"].map((taskId) => create(one, { taskId })));
    const [head] = heads;
    if (head === undefined) throw new Error("no task");
    await follow(one, head, { state: TaskState.COMPLETED });
    const totals = async (store: PostgresStore): Promise<number[]> =>
      Promise.all([total(store), total(store, head.state), total(store, TaskState.COMPLETED)]);
    expect(await totals(two)).toEqual([3, 2, 1]);
    await run("SELECT counts_fold.fold_1()");
    expect(await run("SELECT count(*)::int FROM counts_fold.tally")).toEqual([[0]]);
    expect(await totals(two)).toEqual([3, 2, 1]);
    await two.removeTasks({ taskIds: ["a", "b"], unfinished: true });
    expect(await totals(one)).toEqual([1, 1, 0]);
  });

  it("counts what the previous release stores, before and after the migration", async () => {
    await run(`CREATE SCHEMA counts_old; CREATE TABLE counts_old.version (version integer NOT NULL);
      ${String(migrations[0]).replaceAll("{s}", "counts_old")}; INSERT INTO counts_old.version VALUES (1)`);
    expect(await createByVersion1("counts_old", "before")).toEqual([[0, false]]);
    const store = await open("counts_old");
    expect(await total(store)).toBe(1);
    expect(await createByVersion1("counts_old", "after")).toEqual([[0, true]]);
    expect(await createByVersion1("counts_old", "after")).toEqual([[1, true]]);
    expect(await total(store)).toBe(2);
    await run("DELETE FROM counts_old.task WHERE task_id = 'before'");
    expect(await total(store)).toBe(1);
  });

  it("counts on in a server that was restored from a dump, whose transactions have lower numbers", async () => {
    const store = await open("counts_dump");
    await create(store, { taskId: "a" });
    await run("UPDATE counts_dump.folded SET upto = '900000000000'");
    const again = await open("counts_dump");
    await create(again, { taskId: "b" });
    expect(await total(again)).toBe(2);
  });
});
