import { describe, expect, it, vi } from "vitest";
import { bytesOf, configOf } from "../../contract/setup.js";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed, inputRequired, working } from "../../src/agent/event.js";
import type { EnginePushes, EntriesRequest } from "../../src/engine/engine.js";
import type { PastTask } from "../../src/engine/pushes.js";
import type { NewPushConfig, TaskStore } from "../../src/store/task-store.js";
import { TaskFold } from "../../src/task/fold.js";
import { viewOf } from "../../src/task/shared-view.js";
import { openShared, stores } from "./stores.js";
import { Bench, gate, scope, settle } from "./support.js";

vi.setConfig({ testTimeout: 60_000 });

const config: NewPushConfig = configOf({ taskId: "", configId: "x" });
const pushConfig = (): NewPushConfig => config;
const claim = { leaseMs: 600_000, now: Number.MAX_SAFE_INTEGER, limit: 100 };

/** Records the tasks whose appends an engine reports. */
function newsOf({ pushes }: { readonly pushes: EnginePushes }): string[] {
  const news: string[] = [];
  pushes.onAppend((taskId) => news.push(taskId));
  return news;
}

async function read(bench: Bench, request: Partial<EntriesRequest> & { taskId: string }): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  for await (const page of bench.engine.pushes.readEntries({ ...scope, after: 0, ...request })) entries.push(...page);
  return entries;
}

const positions = (entries: readonly LogEntry[]): number[] => entries.map(({ position }) => position);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

/** Answers immediately, first with a question. */
const asking: Omit<Agent, "card"> = {
  async *execute(turn) {
    yield turn.text === "ask" ? inputRequired("what?") : completed();
  },
};

describe.each(stores)("a push configuration that comes with a message, on the store %s", (_, open) => {
  it("is stored with the task that it creates, and what comes is due for it", async () => {
    const bench = new Bench(asking, {}, open());
    const news = newsOf(bench.engine);
    const task = await bench.send("hi", { pushConfig });
    const { id: taskId } = task.now().task;
    expect(await bench.store.getPushConfig({ taskId, configId: "x" })).toEqual({
      bytes: bytesOf("config"),
      position: 0,
    });
    await settle(task);
    expect(new Set(news)).toEqual(new Set([taskId]));
    const claimed = await bench.store.claimDeliveries({ ...claim, holder: bench.engine.pushes.holder });
    expect(claimed).toMatchObject([{ taskId, configId: "x", position: 0 }]);
    expect(positions(await read(bench, { taskId }))).toEqual([1, 2]);
    await bench.engine.drain(0);
  });

  it("is stored with a follow-up, and has that and what comes after it", async () => {
    const bench = new Bench(asking, {}, open());
    const task = await bench.send("ask");
    await settle(task);
    const { id: taskId } = task.now().task;
    await settle(await bench.send("go on", { message: { taskId }, pushConfig }));
    expect(await bench.store.getPushConfig({ taskId, configId: "x" })).toMatchObject({ position: 2 });
    expect((await read(bench, { taskId, after: 2 })).map(({ event }) => event.case)).toEqual(["message", "status"]);
    await bench.engine.drain(0);
  });

  it("is stored once, however often an idempotent send is repeated", async () => {
    const bench = new Bench(asking, {}, open());
    const idempotency = { key: "key", fingerprint: "same" };
    const first = await bench.send("hi", { pushConfig, idempotency });
    await settle(first);
    const { id: taskId } = first.now().task;
    await bench.store.deletePushConfig({ taskId, configId: "x" });
    const again = await bench.send("hi", { pushConfig: () => ({ ...config, maxPerOwner: 0 }), idempotency });
    expect(again.now().task.id).toBe(taskId);
    expect(await bench.store.getPushConfig({ taskId, configId: "x" })).toBeUndefined();
    await bench.engine.drain(0);
  });

  it("refuses its message, and nothing else, when it is one too many", async () => {
    const bench = new Bench(asking, {}, open());
    const few = (configId: string) => () => ({ ...config, configId, maxPerTask: 1, maxPerOwner: 2 });
    const first = await bench.send("ask", { pushConfig: few("x") });
    await settle(first);
    const { id: taskId } = first.now().task;
    const refused = { reason: "TOO_MANY_REQUESTS" };
    const other = bench.send("more", { message: { taskId }, pushConfig: few("y") });
    const beside = bench.send("ask", { message: { taskId } });
    await expect(other).rejects.toMatchObject({ ...refused, message: expect.stringContaining("The task") });
    expect(await settle(await beside)).toBe("INPUT_REQUIRED");
    await bench.send("ask", { pushConfig: few("x") });
    await expect(bench.send("third", { pushConfig: few("x") })).rejects.toMatchObject({
      ...refused,
      message: expect.stringContaining("The caller"),
    });
    expect((await bench.engine.list({ ...scope, limit: 10 }, {})).total).toBe(2);
    await bench.engine.drain(0);
  });
});

describe.each(stores)("EnginePushes on the store %s", (_, open) => {
  it("says nothing of tasks without configurations, and hears of one that is put while the task is at work", async () => {
    const go = gate();
    const bench = new Bench(
      {
        async *execute() {
          yield working();
          await go.opened;
          yield completed();
        },
      },
      {},
      open(),
    );
    const news = newsOf(bench.engine);
    const task = await bench.send("hi");
    const silent = await bench.send("hi");
    await expect.poll(() => task.now().task.status?.state).toBe(TaskState.WORKING);
    const { id: taskId } = task.now().task;
    expect(news).toEqual([]);
    expect(await bench.store.putPushConfig(configOf({ taskId, configId: "x" }))).toBe("put");
    go.open();
    await Promise.all([settle(task), settle(silent)]);
    expect(news).toEqual([taskId]);
    await bench.engine.drain(0);
  });

  it("goes on when a listener throws, and says what it is told to say", async () => {
    const bench = new Bench(asking, {}, open());
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    bench.engine.pushes.onAppend(() => {
      throw new Error("a listener's own");
    });
    const news = newsOf(bench.engine);
    expect(await settle(await bench.send("hi", { pushConfig }))).toBe("COMPLETED");
    expect(news.length).toBeGreaterThan(0);
    bench.engine.pushes.notify("told");
    expect(news.at(-1)).toBe("told");
    expect(warned).toHaveBeenCalled();
    warned.mockRestore();
    await bench.engine.drain(0);
  });

  it("reads a log in order up to its end, in memory, beyond the tail, and when the task is cold", async () => {
    const many = 700;
    const asked = gate();
    const bench = new Bench(
      {
        async *execute() {
          for (let index = 0; index < many; index++) yield artifact({ name: "a", text: `${index}`, append: true });
          await asked.opened;
        },
      },
      {},
      open(),
    );
    const task = await bench.send("hi");
    const { id: taskId } = task.now().task;
    await expect.poll(() => task.now().position, { timeout: 20_000 }).toBe(many + 1);
    for (const after of [0, 1, 17, many - 1, many, many + 1, many + 9]) {
      expect(positions(await read(bench, { taskId, after }))).toEqual(upTo(many + 1).slice(after));
    }
    asked.open();
    expect(await settle(task)).toBe("COMPLETED");
    task.release();
    const loads = vi.spyOn(bench.store, "load");
    for (const after of [0, 15, many + 1, many + 2]) {
      expect(positions(await read(bench, { taskId, after }))).toEqual(upTo(many + 2).slice(after));
    }
    expect(loads).not.toHaveBeenCalled();
    await bench.engine.drain(0);
  });

  it("reads nothing of a task of another owner or tenant, or that is not there", async () => {
    const bench = new Bench(asking, {}, open());
    const task = await bench.send("hi");
    const { id: taskId } = task.now().task;
    for (const cold of [false, true]) {
      expect(await read(bench, { taskId, owner: "somebody else" })).toEqual([]);
      expect(await read(bench, { taskId, tenant: "elsewhere" })).toEqual([]);
      if (!cold) await settle(task);
      if (!cold) task.release();
    }
    expect(await read(bench, { taskId: "unknown" })).toEqual([]);
    await bench.engine.drain(0);
  });
});

describe("EnginePushes of two processes", () => {
  async function two(agent: Omit<Agent, "card"> = asking, all: readonly TaskStore[] = openShared()) {
    const [one, other] = all.map((store) => new Bench(agent, { leaseMs: 600 }, store));
    if (one === undefined || other === undefined) throw new Error("two are needed");
    await Promise.all([one.engine.start(), other.engine.start()]);
    return { one, other, end: () => Promise.all([one.engine.drain(0), other.engine.drain(0)]) };
  }

  it("tells the process that appends, whichever one made the configuration", async () => {
    const { one, other, end } = await two();
    const news = newsOf(one.engine);
    const task = await one.send("ask");
    await settle(task);
    const { id: taskId } = task.now().task;
    await other.store.putPushConfig(configOf({ taskId, configId: "x" }));
    await settle(await one.send("go on", { message: { taskId } }));
    expect(news).toContain(taskId);
    await end();
  });

  it("reads what the other process appended, which its own log does not have yet", async () => {
    const { one, other, end } = await two();
    const task = await one.send("ask");
    await settle(task);
    const { id: taskId } = task.now().task;
    const before = positions(await read(one, { taskId })).length;
    await settle(await other.send("go on", { message: { taskId } }));
    expect(positions(await read(one, { taskId, after: before }))).toEqual([before + 1, before + 2]);
    task.release();
    await end();
  });

  it("knows how long it is taken for a living one, and that it was given up", async () => {
    const [mine, theirs] = openShared();
    let isGivenUp = false;
    const store = new Proxy(mine, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (name !== "heartbeat" || !isGivenUp) return typeof value === "function" ? value.bind(target) : value;
        isGivenUp = false;
        return async () => false;
      },
    });
    const { one, other, end } = await two(asking, [store, theirs]);
    const { pushes } = one.engine;
    expect(pushes.leaseMs).toBe(600);
    expect(pushes.isSteady()).toBe(true);
    await expect.poll(() => pushes.heartbeatStatus.until - performance.now()).toBeGreaterThan(0);
    expect(pushes.heartbeatStatus.until - performance.now()).toBeLessThanOrEqual(600);
    expect(pushes.heartbeatStatus.epoch).toBe(0);
    isGivenUp = true;
    await expect.poll(() => pushes.heartbeatStatus.epoch).toBe(1);
    const before = pushes.heartbeatStatus.until;
    await pushes.heartbeat();
    expect(pushes.heartbeatStatus.until).toBeGreaterThan(before);
    expect(other.engine.pushes.holder).not.toBe(pushes.holder);
    await end();
  });
});

describe.each(stores)("a task as it was at one of its entries, on the store %s", (_, open) => {
  const asked = (bench: Bench, taskId: string, position: number): Promise<PastTask | undefined> =>
    Promise.resolve(bench.engine.pushes.taskAt({ ...scope, taskId, position }));

  it.each([
    ["small, behind a snapshot", 200, "x"],
    ["large", 40, "x".repeat(60_000)],
  ])("is that of all entries before it: %s", async (_what, pieces, text) => {
    const agent: Omit<Agent, "card"> = {
      async *execute() {
        yield working();
        for (let piece = 0; piece < pieces; piece++)
          yield artifact({ name: "a", text: `${piece}${text}`, append: true });
        yield inputRequired("and now?");
      },
    };
    const bench = new Bench(agent, {}, open());
    const task = await bench.send("hi");
    await settle(task);
    const { id: taskId } = task.now().task;
    const entries = await read(bench, { taskId });
    const foldTo = (position: number): TaskFold => {
      const fold = new TaskFold();
      for (const entry of entries.slice(0, position)) fold.apply(entry);
      return fold;
    };
    const head = entries.length;
    expect((await asked(bench, taskId, head))?.isLive).toBe(true);
    const places = [1, 2, 3, 30, head - 1, head];
    const found = await Promise.all(places.map((position) => asked(bench, taskId, position)));
    for (const [i, position] of places.entries()) {
      expect(found[i]?.fold.position).toBe(position);
      expect(viewOf(found[i]?.fold as TaskFold)).toEqual(viewOf(foldTo(position)));
    }
    // The result is the same for a task that is not in memory.
    task.release();
    const other = new Bench(agent, {}, bench.store);
    const cold = await asked(other, taskId, head);
    expect([cold?.isLive, viewOf(cold?.fold as TaskFold)]).toEqual([false, viewOf(foldTo(head))]);
    await bench.engine.drain(0);
  });

  it("is that of nobody else, and of no entry that is not there", async () => {
    const bench = new Bench(asking, {}, open());
    const task = await bench.send("ask");
    await settle(task);
    const { id: taskId } = task.now().task;
    const { pushes } = bench.engine;
    expect(await pushes.taskAt({ tenant: "", owner: "other", taskId, position: 2 })).toBeUndefined();
    expect(await asked(bench, taskId, 9)).toBeUndefined();
    expect(await asked(bench, "none", 1)).toBeUndefined();
    await bench.engine.drain(0);
  });
});
