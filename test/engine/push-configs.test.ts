import { describe, expect, it } from "vitest";
import { artifact, completed, inputRequired, reply } from "../../src/agent/event.js";
import type { A2AError } from "../../src/core/error.js";
import type { Engine } from "../../src/engine/engine.js";
import type { TaskHandle } from "../../src/engine/read/task-handle.js";
import type { NewPushConfig } from "../../src/store/task-store.js";
import { openShared, openStore } from "./stores.js";
import { Bench, scope, settle } from "./support.js";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

function config(configId: string, more: Partial<NewPushConfig> = {}): NewPushConfig {
  return {
    configId,
    bytes: bytesOf(configId),
    target: "https://hooks.example:443",
    maxPerTask: 2,
    maxPerOwner: 10,
    ...more,
  };
}

/** The configuration of a send, which is made for the id of its task. */
const sent = (configId: string, more: Partial<NewPushConfig> = {}) => ({
  pushConfig: (taskId: string) => config(configId, { bytes: bytesOf(`${configId} of ${taskId}`), ...more }),
});

const asking = {
  async *execute() {
    yield inputRequired("More?");
  },
};

const errorOf = (promise: Promise<unknown>): Promise<A2AError> =>
  promise.then(
    () => expect.unreachable("it was not refused"),
    (error) => error as A2AError,
  );

const idOf = (task: TaskHandle | undefined): string => task?.now().task.id ?? "";

const idsOf = async (engine: Engine, taskId: string): Promise<string[]> =>
  (await engine.pushConfigs.list(scope, { taskId, after: "", limit: 100 })).map(({ key }) => key.configId);

describe("a configuration that comes with a send", () => {
  it("is stored with the task that the send creates, from its beginning", async () => {
    const bench = new Bench(asking);
    const task = await bench.send("x", sent("one"));
    const taskId = idOf(task);
    const stored = await bench.store.getPushConfig({ taskId, configId: "one" });
    expect(stored).toMatchObject({ bytes: bytesOf(`one of ${taskId}`), position: 0 });
    task.release();
  });

  it("is stored with a message for a task that is there, from that message on", async () => {
    const bench = new Bench(asking);
    const task = await bench.send("x");
    await settle(task);
    const { generation } = task.now();
    const next = await bench.send("y", { message: { taskId: idOf(task) }, ...sent("one") });
    const { position } = (await bench.store.getPushConfig({ taskId: idOf(task), configId: "one" })) ?? {};
    expect(position).toBe(generation);
    expect(await idsOf(bench.engine, idOf(task))).toEqual(["one"]);
    for (const held of [task, next]) held.release();
  });

  it("is not stored again by a retry", async () => {
    const bench = new Bench(asking);
    const idempotency = { key: "key", fingerprint: "same" };
    const sends = ["one", "two", "three"].map((id) => bench.send("x", { idempotency, ...sent(id) }));
    const tasks = await Promise.all(sends);
    tasks.push(await bench.send("x", { idempotency, ...sent("four") }));
    const [first] = tasks;
    expect(new Set(tasks.map(idOf)).size).toBe(1);
    expect(await idsOf(bench.engine, idOf(first))).toEqual(["one"]);
    for (const task of tasks) task.release();
  });

  it("is not stored again by a retry at another process", async () => {
    const benches = openShared().map((store) => new Bench(asking, {}, store)) as [Bench, Bench];
    const idempotency = { key: "key", fingerprint: "same" };
    const tasks = await Promise.all(benches.map((bench, i) => bench.send("x", { idempotency, ...sent(`at ${i}`) })));
    expect(new Set(tasks.map(idOf)).size).toBe(1);
    expect(await idsOf(benches[0].engine, idOf(tasks[0]))).toHaveLength(1);
    for (const task of tasks) task.release();
  });

  it("is dropped where an agent answers with a message", async () => {
    let asked = 0;
    const bench = new Bench({
      responds: "either",
      async *execute() {
        yield reply("No task.");
      },
    });
    const pushConfig = (): NewPushConfig => {
      asked++;
      return config("one");
    };
    expect((await bench.engine.send(bench.order("x", { pushConfig }))).kind).toBe("message");
    expect(asked).toBe(0);
  });

  it("refuses the message when the owner has too many, and nothing is stored", async () => {
    for (const responds of ["task", "either"] as const) {
      let runs = 0;
      const bench = new Bench({
        responds,
        async *execute() {
          runs++;
          yield artifact({ text: "x" });
          yield inputRequired();
        },
      });
      const first = await bench.send("x", sent("one", { maxPerOwner: 1 }));
      await settle(first);
      const error = await errorOf(bench.send("y", sent("one", { maxPerOwner: 1 })));
      expect(error).toMatchObject({ reason: "TOO_MANY_REQUESTS", metadata: { limit: "maxPushConfigsPerOwner" } });
      expect((await bench.engine.list({ ...scope, limit: 10 }, {})).total).toBe(1);
      // An agent that chooses between task and message has begun its turn. Its events are not stored.
      expect(runs).toBe(responds === "task" ? 1 : 2);
      first.release();
    }
  });

  it("refuses its own message alone when the task has too many", async () => {
    const bench = new Bench({
      async *execute() {
        yield artifact({ text: "x" });
        yield inputRequired();
      },
    });
    const task = await bench.send("x", sent("one"));
    await settle(task);
    const taskId = idOf(task);
    const follow = (text: string, id?: string) =>
      bench.send(text, { message: { taskId }, ...(id === undefined ? {} : sent(id)) });
    const outcomes = await Promise.allSettled([follow("a"), follow("b", "two"), follow("c", "three"), follow("d")]);
    // The store decides which of the two comes first.
    const refused = outcomes.findIndex(({ status }) => status === "rejected");
    expect([1, 2]).toContain(refused);
    expect(outcomes.filter(({ status }) => status === "rejected")).toHaveLength(1);
    expect(outcomes[refused]).toMatchObject({
      reason: { reason: "TOO_MANY_REQUESTS", metadata: { limit: "maxPushConfigsPerTask" } },
    });
    await expect.poll(() => task.now().task.artifacts.length, { timeout: 10_000 }).toBe(4);
    const heard = task.now().task.history.map(({ parts }) => parts[0]?.content.value);
    expect(heard).not.toContain(["a", "b", "c", "d"][refused]);
    const stored = refused === 1 ? "three" : "two";
    expect(await idsOf(bench.engine, taskId)).toEqual(["one", stored]);
    // An existing configuration can be replaced at the limit.
    (await follow("e", stored)).release();
    for (const outcome of outcomes) if (outcome.status === "fulfilled") outcome.value.release();
    task.release();
  });
});

describe("Engine.pushConfigs", () => {
  it("keeps, gives, lists and removes the configurations of a task", async () => {
    const bench = new Bench(asking);
    const { pushConfigs } = bench.engine;
    const task = await bench.send("x");
    await settle(task);
    const taskId = idOf(task);
    await pushConfigs.put(scope, taskId, config("b"));
    await pushConfigs.put(scope, taskId, config("a"));
    await pushConfigs.put(scope, taskId, config("a", { bytes: bytesOf("new") }));
    expect((await pushConfigs.get(scope, { taskId, configId: "a" }))?.bytes).toEqual(bytesOf("new"));
    expect(await pushConfigs.get(scope, { taskId, configId: "c" })).toBeUndefined();
    const page = await pushConfigs.list(scope, { taskId, after: "a", limit: 5 });
    expect(page).toEqual([{ key: { taskId, configId: "b" }, bytes: bytesOf("b") }]);
    await pushConfigs.delete(scope, { taskId, configId: "a" });
    await pushConfigs.delete(scope, { taskId, configId: "a" });
    expect(await idsOf(bench.engine, taskId)).toEqual(["b"]);
    task.release();
  });

  it("knows no task of anybody else, in the words for one that is not there", async () => {
    const bench = new Bench(asking);
    const { pushConfigs } = bench.engine;
    const task = await bench.send("x", sent("one"));
    await settle(task);
    const strangers = [
      { tenant: "", owner: "bob" },
      { tenant: "north", owner: "" },
    ];
    for (const stranger of strangers) {
      const attempts = (taskId: string) => [
        pushConfigs.put(stranger, taskId, config("x")),
        pushConfigs.get(stranger, { taskId, configId: "one" }),
        pushConfigs.list(stranger, { taskId, after: "", limit: 5 }),
        pushConfigs.delete(stranger, { taskId, configId: "one" }),
      ];
      const theirs = await Promise.all(attempts(idOf(task)).map(errorOf));
      const none = await Promise.all(attempts("unknown").map(errorOf));
      const seen = ({ reason, message, metadata }: A2AError) => ({ reason, message, ids: Object.keys(metadata) });
      expect(theirs.map(seen)).toEqual(none.map(seen));
      expect(theirs.map(({ reason }) => reason)).toEqual(Array(4).fill("TASK_NOT_FOUND"));
    }
    expect(await idsOf(bench.engine, idOf(task))).toEqual(["one"]);
    task.release();
  });

  it("names the limit that is in the way", async () => {
    const bench = new Bench(asking);
    const { pushConfigs } = bench.engine;
    const task = await bench.send("x", sent("one"));
    await settle(task);
    await pushConfigs.put(scope, idOf(task), config("two"));
    const ofTask = await errorOf(pushConfigs.put(scope, idOf(task), config("three")));
    expect(ofTask).toMatchObject({ reason: "TOO_MANY_REQUESTS", metadata: { limit: "maxPushConfigsPerTask" } });
    const ofOwner = await errorOf(
      pushConfigs.put(scope, idOf(task), config("three", { maxPerTask: 9, maxPerOwner: 2 })),
    );
    expect(ofOwner).toMatchObject({ reason: "TOO_MANY_REQUESTS", metadata: { limit: "maxPushConfigsPerOwner" } });
    task.release();
  });

  it("does not count what will never be delivered again for its owner", async () => {
    const bench = new Bench({
      async *execute() {
        yield completed();
      },
    });
    const task = await bench.send("x");
    await settle(task);
    // An ended task gets no further events.
    for (const id of ["a", "b"]) await bench.engine.pushConfigs.put(scope, idOf(task), config(id, { maxPerOwner: 1 }));
    expect(await idsOf(bench.engine, idOf(task))).toEqual(["a", "b"]);
    task.release();
  });

  it("is unavailable where the store is", async () => {
    const store = openStore();
    const bench = new Bench(asking, {}, store);
    const task = await bench.send("x");
    await settle(task);
    task.release();
    await store.close();
    const { reason } = await errorOf(bench.engine.pushConfigs.get(scope, { taskId: idOf(task), configId: "a" }));
    expect(reason).toBe("UNAVAILABLE");
  });
});
