import { afterEach, describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed, inputRequired, working } from "../../src/agent/event.js";
import { neverCanceled } from "../../src/core/async.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { StoreError, type TaskStore } from "../../src/store/task-store.js";
import { Bench, gate, scope, settle, story, tell } from "./support.js";
import { fragile, withMethods } from "./wrapped-stores.js";

const benches: Bench[] = [];
afterEach(async () => {
  for (const bench of benches.splice(0)) await bench.engine.drain(0);
});

async function start(agent: Omit<Agent, "card">, store: TaskStore): Promise<Bench> {
  const bench = new Bench(agent, { leaseMs: 200 }, store);
  benches.push(bench);
  await bench.engine.start();
  return bench;
}

const asking: Omit<Agent, "card"> = {
  recover: "restart",
  async *execute(turn) {
    if (turn.text === "ask") yield inputRequired("What?");
    else yield completed(`You said ${turn.text}.`);
  },
};

describe("a message whose append had no clear outcome", () => {
  for (const how of ["done", "not done"] as const) {
    it(`is one message when it is sent again under its key: ${how}`, async () => {
      const { store, fail, mend } = fragile();
      const bench = await start(asking, store);
      const held = await bench.send("ask");
      await settle(held);
      const taskId = held.now().task.id;
      const idempotency = { key: "k", fingerprint: "f" };
      const send = () => bench.send("blue", { message: { taskId }, idempotency });
      fail(how);
      await expect(send()).rejects.toMatchObject({ reason: "UNAVAILABLE", retryAfterMs: 1_000 });
      mend();
      const again = await send();
      expect(await settle(again)).toBe("COMPLETED");
      const said = again.now().task.history.map(({ parts }) => String(parts[0]?.content.value));
      expect(said.filter((text) => text === "blue")).toHaveLength(1);
      expect(again.now().task.status?.message?.parts[0]?.content.value).toBe("You said blue.");
      again.release();
      held.release();
    });
  }

  it("is UNAVAILABLE if it creates a task that is read before the store answers, and the turn runs", async () => {
    const kept = memoryStore({ shared: true });
    const isRead = gate();
    const failsOnce = { now: true };
    const store = withMethods(kept, {
      append: async (request) => {
        const done = await kept.append(request);
        if (!failsOnce.now) return done;
        failsOnce.now = false;
        await isRead.opened;
        throw new StoreError("unavailable", "The connection was lost.");
      },
      read: async (request) => {
        const entries = await kept.read(request);
        if (entries.length > 0) isRead.open();
        return entries;
      },
    });
    const bench = await start(asking, store);
    await expect(bench.send("blue")).rejects.toMatchObject({ reason: "UNAVAILABLE", retryAfterMs: 1_000 });
    const task = async () => (await bench.engine.list({ ...scope, limit: 2 }, {})).views[0]?.task;
    await expect.poll(async () => (await task())?.status?.state, { timeout: 20_000 }).toBe(TaskState.COMPLETED);
  });

  it("is shown by a read when it was done", async () => {
    const { store, fail, mend } = fragile();
    const bench = await start(asking, store);
    const held = await bench.send("ask");
    await settle(held);
    const taskId = held.now().task.id;
    fail("done");
    await expect(bench.send("blue", { message: { taskId } })).rejects.toMatchObject({ reason: "UNAVAILABLE" });
    const { task } = await bench.engine.get(scope, taskId);
    expect(task.history.map(({ parts }) => String(parts[0]?.content.value))).toContain("blue");
    mend();
    held.release();
  });
});

describe("a message that was stored while its caller was refused, and that no agent has heard of", () => {
  /** An agent whose turns must not be repeated. Records the turns that it began. */
  function careful(): { agent: Omit<Agent, "card">; begun: string[] } {
    const begun: string[] = [];
    const agent: Omit<Agent, "card"> = {
      recover: "fail",
      async *execute(turn) {
        begun.push(`${turn.text} ${turn.attempt}`);
        if (turn.text === "ask") yield inputRequired("What?");
        else yield completed(`You said ${turn.text}.`);
      },
    };
    return { agent, begun };
  }

  it.each(["gone", "perhaps there"])(
    "has its turn, when the lease of the turn before is %s",
    async (lease) => {
      const { agent, begun } = careful();
      const { store, fail, mend } = fragile();
      const bench = await start(agent, store);
      const held = await bench.send("ask");
      await settle(held);
      const { id: taskId } = held.now().task;
      if (lease === "gone") await expect.poll(async () => (await store.head({ taskId }))?.lease).toBeNull();
      fail("done");
      await expect(bench.send("blue", { message: { taskId } })).rejects.toMatchObject({ reason: "UNAVAILABLE" });
      mend();
      await expect.poll(() => held.now().task.status?.state, { timeout: 10_000 }).toBe(TaskState.COMPLETED);
      expect(held.now().task.status?.message?.parts[0]?.content.value).toBe("You said blue.");
      expect(begun).toEqual(["ask 1", "blue 1"]);
      held.release();
    },
    15_000,
  );

  it("has its turn when it began a task", async () => {
    const { agent, begun } = careful();
    const { store, fail, mend } = fragile();
    const bench = await start(agent, store);
    fail("done");
    await expect(bench.send("red")).rejects.toMatchObject({ reason: "UNAVAILABLE" });
    mend();
    const all = async () => (await bench.engine.list({ ...scope, limit: 10 }, {})).views;
    await expect.poll(async () => (await all())[0]?.task.status?.state, { timeout: 10_000 }).toBe(TaskState.COMPLETED);
    expect(begun).toEqual(["red 1"]);
  }, 15_000);

  it("has its turn in the next process when this one ends in order before it was found", async () => {
    const { agent, begun } = careful();
    const { store, fail, mend } = fragile();
    const before = new Bench(agent, { leaseMs: 60_000 }, store);
    await before.engine.start();
    fail("done");
    await expect(before.send("red")).rejects.toMatchObject({ reason: "UNAVAILABLE" });
    mend();
    await before.engine.drain(0);
    expect(begun).toEqual([]);
    const after = await start(agent, store);
    const all = async () => (await after.engine.list({ ...scope, limit: 10 }, {})).views;
    await expect.poll(async () => (await all())[0]?.task.status?.state, { timeout: 10_000 }).toBe(TaskState.COMPLETED);
    expect(begun).toEqual(["red 1"]);
  }, 15_000);

  it.each(["done", "not done"] as const)(
    "has its turn when it waited, and the lease could not be moved to it: %s",
    async (how) => {
      const { agent, begun } = careful();
      const { store, fail, mend } = fragile();
      const end = gate();
      const bench = await start(
        {
          ...agent,
          async *execute(turn) {
            if (turn.text !== "first") return yield* agent.execute(turn);
            begun.push(`${turn.text} ${turn.attempt}`);
            yield working();
            await end.opened;
          },
        },
        store,
      );
      const held = await bench.send("first");
      await held.whenPast(1, neverCanceled, 5_000);
      const { id: taskId } = held.now().task;
      (await bench.send("second", { message: { taskId } })).release();
      fail(how);
      end.open();
      await expect.poll(() => bench.logged.some(({ message }) => /could not be stored/.test(message))).toBe(true);
      mend();
      await expect.poll(() => held.now().task.status?.state, { timeout: 10_000 }).toBe(TaskState.COMPLETED);
      expect(begun).toEqual(["first 1", "second 1"]);
      held.release();
    },
    15_000,
  );

  it("is no turn that an agent began while its task was on its way to the store: that one fails", async () => {
    const { store, fail, mend } = fragile();
    const proceed = gate();
    const begun: number[] = [];
    const bench = await start(
      {
        responds: "either",
        async *execute(turn) {
          begun.push(turn.attempt);
          yield working();
          await proceed.opened;
        },
      },
      store,
    );
    fail("done");
    await expect(bench.send("red")).rejects.toMatchObject({ reason: "UNAVAILABLE" });
    mend();
    proceed.open();
    const all = async () => (await bench.engine.list({ ...scope, limit: 10 }, {})).views;
    await expect.poll(async () => (await all())[0]?.task.status?.state, { timeout: 10_000 }).toBe(TaskState.FAILED);
    expect(begun).toEqual([1]);
  }, 15_000);
});

describe("a task that is cut off by its store", () => {
  it("keeps no caller waiting for its end, and goes on when the store does", async () => {
    const { store, fail, mend } = fragile();
    const proceed = gate();
    const agent: Omit<Agent, "card"> = {
      recover: "restart",
      async *execute(turn) {
        yield working();
        if (turn.attempt === 1) await proceed.opened;
        yield artifact({ id: "a", text: `attempt ${turn.attempt}` });
        // The pause keeps the end out of the artifact's append.
        if (turn.attempt === 1) await new Promise((resolve) => setTimeout(resolve, 50));
      },
    };
    const bench = await start(agent, store);
    const held = await bench.send("x", { idempotency: { key: "k", fingerprint: "f" } });
    const told = story(held);
    await held.whenPast(1, neverCanceled, 5_000);
    const waiting = held.whenIdle(neverCanceled, 60_000);
    fail("done");
    proceed.open();
    await expect(waiting).rejects.toMatchObject({ reason: "UNAVAILABLE", retryAfterMs: 1_000 });
    const again = await bench.send("x", { idempotency: { key: "k", fingerprint: "f" } });
    await expect(again.whenIdle(neverCanceled, 60_000)).rejects.toMatchObject({ reason: "UNAVAILABLE" });
    // Readers see the last known state until the store works again.
    expect((await bench.engine.get(scope, again.now().task.id)).task.status?.state).toBe(TaskState.WORKING);
    mend();
    // The first attempt's artifact was stored although the append failed.
    expect(await told).toEqual(["WORKING", "artifact attempt 1", "WORKING", "artifact attempt 2", "COMPLETED"]);
    expect(bench.logged.filter(({ message }) => /could not be stored/.test(message))).toHaveLength(1);
    again.release();
    held.release();
  });
});

/** A healthy store that refuses its second append, which has the first event. */
function once(how: "done" | "not done"): TaskStore {
  const kept = memoryStore();
  let appends = 0;
  return withMethods(kept, {
    append: async (request) => {
      appends++;
      if (appends !== 2) return kept.append(request);
      if (how === "done") await kept.append(request);
      throw new StoreError("unavailable", "Once.");
    },
  });
}

describe("an event that could not be stored", () => {
  const result = artifact({ id: "a", text: "the result" });
  const soon = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));
  const never = new Promise<never>(() => {});
  const ways: [string, Agent["execute"]][] = [
    [
      "an end that comes later",
      async function* () {
        yield result;
        await soon();
        yield completed();
      },
    ],
    [
      "an end that is returned",
      async function* () {
        yield result;
        await soon();
        return completed();
      },
    ],
    [
      "a pause",
      async function* () {
        yield result;
        await soon();
        yield inputRequired("?");
      },
    ],
    [
      "an agent that waits for its signal",
      async function* (turn) {
        yield result;
        await new Promise((resolve) => turn.signal.addEventListener("abort", resolve));
      },
    ],
    [
      "a clean-up that never ends",
      async function* () {
        try {
          yield result;
          await soon();
          yield working();
        } finally {
          await never;
        }
      },
    ],
  ];

  it.each(ways)("has nothing stored behind it, and its task does not stay at work: %s", async (_, execute) => {
    const bench = await start({ execute }, once("not done"));
    const held = await bench.send("x");
    const told = story(held);
    const events = await told;
    expect(events.at(-1)).toMatch(/^FAILED/);
    expect(events).toHaveLength(1);
    held.release();
  });

  it("fires the signal of its agent with a cause of its own", async () => {
    let cause: unknown;
    const bench = await start(
      {
        async *execute(turn) {
          yield result;
          await new Promise((resolve) => turn.signal.addEventListener("abort", resolve));
          cause = (turn.signal.reason as Error).cause;
        },
      },
      once("not done"),
    );
    const held = await bench.send("x");
    await story(held);
    expect(cause).toBe("store-failed");
    held.release();
  });

  it("is found by readers when it was the end, and stored after all", async () => {
    const bench = await start(
      {
        async *execute() {
          yield completed("done");
        },
      },
      once("done"),
    );
    const held = await bench.send("x");
    expect(await story(held)).toEqual(["COMPLETED done"]);
    held.release();
  });
});

describe("a stream whose events have to be read from the store", () => {
  it("ends as unavailable while the store is unavailable, and resumes after its last event", async () => {
    const kept = memoryStore();
    const first = await start({ execute: saying("once", "twice") }, kept);
    const held = await first.send("x");
    await settle(held);
    const { id } = held.now().task;
    held.release();
    let isAway = false;
    const read: TaskStore["read"] = async (request) => {
      if (isAway) throw new StoreError("unavailable", "The disk is away.");
      return kept.read(request);
    };
    const { engine } = await start({ execute: saying() }, withMethods(kept, { read }));
    const late = await engine.open(scope, id);
    isAway = true;
    const events = async (): Promise<string[]> => {
      const told: string[] = [];
      for await (const event of late.events({ position: 1, generation: 1 }, neverCanceled)) told.push(tell(event));
      return told;
    };
    await expect(events()).rejects.toMatchObject({ reason: "UNAVAILABLE", retryAfterMs: 1_000 });
    isAway = false;
    expect(await events()).toEqual(["artifact once", "artifact twice", "COMPLETED"]);
    late.release();
  });
});

/** An agent that yields some texts and completes. */
function saying(...texts: readonly string[]): Agent["execute"] {
  return async function* () {
    for (const text of texts) yield artifact({ text });
    yield completed();
  };
}
