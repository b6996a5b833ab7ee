import { describe, expect, it, vi } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed, inputRequired, reply, working } from "../../src/agent/event.js";
import { neverCanceled } from "../../src/core/async.js";
import { A2AError } from "../../src/core/error.js";
import { newId } from "../../src/core/ids.js";
import { defaultLimits } from "../../src/core/limits.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { namedTaskId } from "../../src/version/v0.1/task-names.js";
import { marksOf } from "../../src/wire/marks.js";
import { openShared, openStore } from "./stores.js";
import { Bench, gate, scope, settle, tell } from "./support.js";

vi.setConfig({ testTimeout: 60_000 });

/** Repeats each message as a question, until the message is "end". */
const listening: Omit<Agent, "card"> = {
  async *execute(turn) {
    if (turn.text === "end") yield completed(`${turn.history.length}`);
    else yield inputRequired(`heard ${turn.text}`);
  },
};

const ada = { authenticated: true, owner: "ada", scopes: [], claims: {} };
const bob = { ...ada, owner: "bob" };

const named = (name: string, more: object = {}) => ({
  message: { taskId: name },
  namesTasks: true,
  version: "0.1",
  ...more,
});

const reasonOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "none",
    (error) => (error instanceof A2AError ? error.reason : String(error)),
  );

describe("a task that its client has named", () => {
  it("is created by the first message and continued by the next", async () => {
    const bench = new Bench(listening);
    const first = await bench.send("one", named("mine"));
    expect(await settle(first)).toBe("INPUT_REQUIRED");
    const second = await bench.send("end", named("mine"));
    expect(await settle(second)).toBe("COMPLETED");
    expect(second.now().task.id).toBe("mine");
    expect(second.now().task.history.map(({ taskId }) => taskId)).toEqual(["mine", "mine", "mine"]);
  });

  it("is created only where the call may name tasks", async () => {
    const bench = new Bench(listening);
    expect(await reasonOf(bench.send("one", { message: { taskId: "mine" } }))).toBe("TASK_NOT_FOUND");
  });

  it("is found by its name and by the id that it is kept under, in every call", async () => {
    const bench = new Bench(listening);
    await settle(await bench.send("one", named("mine")));
    const keptAs = namedTaskId(scope, "mine");
    for (const id of ["mine", keptAs]) {
      expect((await bench.engine.get(scope, id)).task.id).toBe("mine");
      const handle = await bench.engine.open(scope, id);
      expect(handle.now().task.id).toBe("mine");
      handle.release();
      const followUp = await bench.send("two", { message: { taskId: id } });
      await settle(followUp);
      expect(followUp.now().task.history.every(({ taskId }) => taskId === "mine")).toBe(true);
    }
    const page = await bench.engine.list({ ...scope, limit: 10 }, {});
    expect(page.views.map(({ task }) => task.id)).toEqual(["mine"]);
    const canceled = await bench.engine.cancel(scope, "mine");
    expect([canceled.task.id, canceled.task.status?.state]).toEqual(["mine", TaskState.CANCELED]);
    const refused = bench.engine.cancel(scope, "mine").catch((error: A2AError) => error.metadata.taskId);
    expect(await refused).toBe("mine");
  });

  it("has events that belong to the name", async () => {
    const bench = new Bench({
      async *execute() {
        yield working("at it");
        yield artifact({ name: "a", text: "one" });
        yield completed("done");
      },
    });
    const held = await bench.send("go", named("mine"));
    const ids: unknown[] = [];
    for await (const { payload } of held.events(held.accepted!, neverCanceled)) {
      if (payload.case === "statusUpdate") ids.push(payload.value.taskId, payload.value.status?.message?.taskId);
      if (payload.case === "artifactUpdate") ids.push(payload.value.taskId);
    }
    expect(ids).toEqual(Array(5).fill("mine"));
  });

  it("gives its agent an id that no other task has", async () => {
    const seen: string[] = [];
    const bench = new Bench({
      async *execute(turn) {
        seen.push(turn.taskId);
        yield completed();
      },
    });
    for (const caller of [ada, bob]) await settle(await bench.send("go", named("same", { caller })));
    expect(new Set(seen).size).toBe(2);
    for (const taskId of seen) expect(taskId).not.toBe("same");
  });

  it("is one task, whoever comes first of many at once", async () => {
    const bench = new Bench(listening);
    const sent = await Promise.all(Array.from({ length: 8 }, (_, i) => bench.send(`m${i}`, named("mine"))));
    await Promise.all(sent.map(settle));
    const { task } = await bench.engine.get(scope, "mine");
    const said = task.history.filter(({ messageId }) => /^m\d+$/.test(messageId));
    expect(said).toHaveLength(8);
    expect((await bench.engine.list({ ...scope, limit: 10 }, {})).total).toBe(1);
  });

  it("is one task of two processes that create it at once", async () => {
    for (let round = 0; round < 10; round++) {
      const stores = openShared();
      const benches = stores.map((store) => new Bench(listening, { leaseMs: 600 }, store));
      await Promise.all(benches.map(({ engine }) => engine.start()));
      const sent = await Promise.all(benches.map((bench, i) => bench.send(`m${i}`, named("mine"))));
      for (const held of sent) expect(await settle(held)).toBe("INPUT_REQUIRED");
      for (const { engine } of benches) {
        const { task } = await engine.get(scope, "mine");
        expect(task.history.filter(({ messageId }) => messageId === "m1")).toHaveLength(2);
        expect((await engine.list({ ...scope, limit: 10 }, {})).total).toBe(1);
      }
      await Promise.all(benches.map(({ engine }) => engine.drain(0)));
    }
  });

  it("may be created again by the one that waited, where the first one was refused", async () => {
    const asked = gate();
    let turns = 0;
    const bench = new Bench({
      responds: "either",
      async *execute() {
        turns++;
        if (turns > 1) return yield completed("second");
        await asked.opened;
        throw new A2AError("INVALID_PARAMS", "Not this one.");
      },
    });
    const first = reasonOf(bench.send("one", named("mine")));
    // Starts the first turn before the second send, because two sends may reach the store in any order.
    await expect.poll(() => turns).toBe(1);
    const second = bench.send("two", named("mine"));
    asked.open();
    expect(await first).toBe("INVALID_PARAMS");
    expect(await settle(await second)).toBe("COMPLETED");
  });
});

describe("names of other callers", () => {
  it("are no task of this one, and keep no name from it", async () => {
    const bench = new Bench(listening);
    await settle(await bench.send("hers", named("same", { caller: ada })));
    const his = { ...scope, owner: "bob" };
    expect(await reasonOf(bench.engine.get(his, "same"))).toBe("TASK_NOT_FOUND");
    expect(await reasonOf(bench.engine.get(his, namedTaskId({ ...scope, owner: "ada" }, "same")))).toBe(
      "TASK_NOT_FOUND",
    );
    await settle(await bench.send("his", named("same", { caller: bob })));
    const texts = async (owner: string) =>
      (await bench.engine.get({ ...scope, owner }, "same")).task.history.map(({ parts }) => parts[0]?.content.value);
    expect(await texts("ada")).toEqual(["hers"]);
    expect(await texts("bob")).toEqual(["his"]);
  });

  it("make no difference to what the store is asked, found or not", async () => {
    const asked: string[] = [];
    const store = openStore();
    const watched = new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          asked.push(String(name));
          return value.apply(target, args);
        };
      },
    }) as TaskStore;
    const bench = new Bench(listening, {}, watched);
    // Ids that the server made for another owner, that another owner chose, and that do not exist.
    const made = await bench.send("hers", { caller: ada });
    await settle(made);
    await settle(await bench.send("hers", named("chosen", { caller: ada })));
    const his = { ...scope, owner: "bob" };
    const asking = async (id: string): Promise<string[]> => {
      asked.length = 0;
      // The comparison ignores the cached count of an owner's open tasks, and heartbeats and leases, which have their
      // own times.
      await reasonOf(bench.engine.get(his, id));
      await reasonOf(bench.engine.cancel(his, id));
      await reasonOf(bench.engine.pushConfigs.find(his, id));
      await settle(await bench.send("his", named(id, { caller: bob })));
      return asked.filter((name) => !["heartbeat", "claimLeases", "countOpen", "setLease"].includes(name));
    };
    const free = await asking("free");
    expect(await asking("chosen")).toEqual(free);
    expect(await asking(made.now().task.id)).toEqual(await asking(newId()));
  });

  it("are those of the same owner under another tenant, too", async () => {
    const bench = new Bench(listening);
    await settle(await bench.send("x", named("same", { caller: ada, tenant: "one" })));
    expect(await reasonOf(bench.engine.get({ tenant: "two", owner: "ada" }, "same"))).toBe("TASK_NOT_FOUND");
  });
});

describe("a direct answer to a message that names a task", () => {
  const direct = (responds: "message" | "either"): Omit<Agent, "card"> => ({
    responds,
    async *execute(turn) {
      yield reply(`re: ${turn.text}`);
    },
  });

  it.each(["message", "either"] as const)("completes the task, which is shown at once (responds: %s)", async (how) => {
    const bench = new Bench(direct(how));
    for (const idempotency of [undefined, { key: "k", fingerprint: "f" }]) {
      const name = `mine ${idempotency?.key}`;
      const held = await bench.send("hi", named(name, { idempotency }));
      expect(held.accepted).toBeUndefined();
      const { task } = held.now();
      expect(task.status?.state).toBe(TaskState.COMPLETED);
      expect(task.status?.message?.parts[0]?.content.value).toBe("re: hi");
      held.release();
      expect((await bench.engine.get(scope, name)).task.status?.state).toBe(TaskState.COMPLETED);
    }
  });

  it("goes on as a task where its agent begins one", async () => {
    const bench = new Bench({
      responds: "either",
      async *execute() {
        yield working();
        yield completed("done");
      },
    });
    const held = await bench.send("hi", named("mine"));
    const told: string[] = [];
    for await (const event of held.events(held.accepted!, neverCanceled)) told.push(tell(event));
    expect(told).toEqual(["WORKING", "COMPLETED done"]);
  });

  it("stores nothing where the agent refuses the message", async () => {
    const bench = new Bench({
      responds: "either",
      // biome-ignore lint/correctness/useYield: it refuses before.
      async *execute() {
        throw new A2AError("INVALID_PARAMS", "No.");
      },
    });
    expect(await reasonOf(bench.send("hi", named("mine")))).toBe("INVALID_PARAMS");
    expect(await reasonOf(bench.engine.get(scope, "mine"))).toBe("TASK_NOT_FOUND");
  });
});

describe("the version that a task was created in", () => {
  it("is noted on what is shown of it, by another process as well", async () => {
    const [one, two] = openShared().map((store) => new Bench(listening, {}, store)) as [Bench, Bench];
    const held = await one.send("x", named("mine"));
    await settle(held);
    held.release();
    const plain = await one.send("x");
    await settle(plain);
    plain.release();
    for (const { engine } of [one, two]) {
      expect(marksOf((await engine.get(scope, "mine")).task)?.version).toBe("0.1");
      expect(marksOf((await engine.get(scope, plain.now().task.id)).task)?.version).toBeUndefined();
    }
  });

  it("outlives snapshots", async () => {
    const [one, two] = openShared().map(
      (store) =>
        new Bench(
          {
            async *execute() {
              for (let i = 0; i < 200; i++) yield working(`${i}`);
              yield completed();
            },
          },
          {},
          store,
        ),
    ) as [Bench, Bench];
    await settle(await one.send("x", named("mine")));
    const keptAs = namedTaskId(scope, "mine");
    await expect.poll(async () => (await one.store.load({ taskId: keptAs }))?.snapshot).toBeDefined();
    expect(marksOf((await two.engine.get(scope, "mine")).task)?.version).toBe("0.1");
  });
});

describe("a name whose task is over", () => {
  const once: Omit<Agent, "card"> = {
    async *execute(turn) {
      yield completed(`done with ${turn.text}, ${turn.history.length} before`);
    },
  };

  const saidBy = async (bench: Bench, name: string): Promise<unknown> =>
    (await bench.engine.get(scope, name)).task.status?.message?.parts[0]?.content.value;

  it("is refused, where it is not to be reopened", async () => {
    const bench = new Bench(once);
    await settle(await bench.send("one", named("mine")));
    expect(await reasonOf(bench.send("two", named("mine")))).toBe("UNSUPPORTED_OPERATION");
  });

  it("is given to another task of its context, as often as that may be, and what is over does not change", async () => {
    const bench = new Bench(once, { maxReopens: 2 });
    const held = await bench.send("1", { ...named("mine"), message: { taskId: "mine", contextId: "c" } });
    await settle(held);
    for (const [text, before] of [
      ["2", 2],
      ["3", 4],
    ] as const) {
      await settle(await bench.send(text, named("mine")));
      expect(await saidBy(bench, "mine")).toBe(`done with ${text}, ${before} before`);
    }
    expect(await reasonOf(bench.send("4", named("mine")))).toBe("UNSUPPORTED_OPERATION");
    const { views } = await bench.engine.list({ ...scope, limit: 10 }, {});
    expect(views.map(({ task }) => [task.id, task.contextId])).toEqual(Array(3).fill(["mine", "c"]));
    const [first, second] = [namedTaskId(scope, "mine"), namedTaskId(scope, "mine", 1)];
    expect([await saidBy(bench, first), await saidBy(bench, second)]).toEqual([
      "done with 1, 0 before",
      "done with 2, 2 before",
    ]);
    expect(await bench.engine.pushConfigs.find(scope, "mine")).toBe(namedTaskId(scope, "mine", 2));
  });

  it("is found when retention has removed the tasks before", async () => {
    let now = 1_000;
    const bench = new Bench(once, { maxReopens: 3, retentionMs: 3_600_000, now: () => now });
    for (const text of ["1", "2", "3"]) {
      now += 1_000;
      await settle(await bench.send(text, named("mine")));
    }
    expect(await bench.store.removeFinished({ before: now - 500, limit: 10 })).toBe(2);
    expect(await saidBy(bench, "mine")).toBe("done with 3, 4 before");
    await settle(await bench.send("4", named("mine")));
    expect(await saidBy(bench, "mine")).toBe("done with 4, 6 before");
  });

  it("is given to one task of several sends at once, in one process or two", async () => {
    const [one, two] = openShared().map((store) => new Bench(listening, { maxReopens: 5, leaseMs: 600 }, store)) as [
      Bench,
      Bench,
    ];
    await Promise.all([one.engine.start(), two.engine.start()]);
    await settle(await one.send("end", named("mine")));
    const sent = await Promise.all([one, one, two, two].map((bench, i) => bench.send(`m${i}`, named("mine"))));
    for (const held of sent) await settle(held);
    expect((await one.engine.list({ ...scope, limit: 10 }, {})).total).toBe(2);
    const { history } = (await two.engine.get(scope, "mine")).task;
    expect(history.filter(({ messageId }) => /^m\d+$/.test(messageId))).toHaveLength(5);
    await Promise.all([one.engine.drain(0), two.engine.drain(0)]);
  });

  it.each(Array.from({ length: 7 }, (_, lives) => lives))(
    "is found among %s tasks, none, some or all",
    async (lives) => {
      const bench = new Bench(once, { maxReopens: 5 });
      for (let life = 0; life < lives; life++) {
        if (life < 6) await settle(await bench.send(`${life}`, named("mine")));
      }
      const newest = namedTaskId(scope, "mine", Math.max(0, lives - 1));
      expect(await bench.engine.pushConfigs.find(scope, "mine").catch(() => "none")).toBe(
        lives === 0 ? "none" : newest,
      );
    },
  );

  it("asks the store once for a name that no task has, and a few times for the newest of many", async () => {
    const store = memoryStore();
    const head = vi.spyOn(store, "head");
    const bench = new Bench(once, { maxReopens: 64 }, store);
    await reasonOf(bench.engine.pushConfigs.find(scope, "nobody"));
    expect(head.mock.calls.length).toBeLessThanOrEqual(3);
    for (let life = 0; life < 20; life++) await settle(await bench.send(`${life}`, named("mine")));
    head.mockClear();
    await bench.engine.pushConfigs.find(scope, "mine");
    expect(head.mock.calls.length).toBeLessThanOrEqual(16);
  });

  it("takes the newest messages over, as far as they are small enough together", async () => {
    const bench = new Bench(once, { maxReopens: 2, limits: { ...defaultLimits, maxTaskBytes: 8_000 } });
    await settle(await bench.send("x".repeat(3_000), named("mine")));
    await settle(await bench.send("2", named("mine")));
    // The answer repeats its message, so it is too large as well.
    expect(await saidBy(bench, "mine")).toBe("done with 2, 0 before");
    await settle(await bench.send("3", named("mine")));
    expect(await saidBy(bench, "mine")).toBe("done with 3, 2 before");
  });

  it("stays that of a task that the server has named", async () => {
    const bench = new Bench(once, { maxReopens: 2 });
    const made = await bench.send("one");
    await settle(made);
    const { id } = made.now().task;
    expect(await reasonOf(bench.send("two", named(id)))).toBe("UNSUPPORTED_OPERATION");
  });
});
