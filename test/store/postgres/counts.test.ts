import { afterEach, describe, expect, it } from "vitest";
import { create, follow, OWNER } from "../../../contract/setup.js";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type PostgresStore, postgresStore } from "../../../src/store/postgres/index.js";
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

  it("compiles no statement of a fold, which would take a hundred times as long", async () => {
    const store = await open("counts_jit");
    await create(store, { taskId: "a" });
    const { default: driver } = await import("pg");
    const client = new driver.Client(thePostgres().url);
    await client.connect();
    const plans: (string | undefined)[] = [];
    client.on("notice", ({ message }) => plans.push(message));
    try {
      await client.query("LOAD 'auto_explain'");
      await client.query("SET client_min_messages = log; SET auto_explain.log_min_duration = 0");
      await client.query("SET auto_explain.log_analyze = on; SET auto_explain.log_nested_statements = on");
      await client.query("SELECT counts_jit.fold_1()");
    } finally {
      await client.end();
    }
    expect(plans).toContainEqual(expect.stringContaining("UPDATE counts_jit.folded"));
    expect(plans.filter((plan) => plan?.includes("JIT"))).toEqual([]);
  });

  it("continues to count in a server restored from a dump, whose transactions have lower numbers", async () => {
    const store = await open("counts_dump");
    await create(store, { taskId: "a" });
    await run("UPDATE counts_dump.folded SET upto = '900000000000'");
    const again = await open("counts_dump");
    await create(again, { taskId: "b" });
    expect(await total(again)).toBe(2);
  });
});
