import { describe, expect, it, vi } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed, working } from "../../src/agent/event.js";
import { neverCanceled } from "../../src/core/async.js";
import { A2AError } from "../../src/core/error.js";
import type { Limits } from "../../src/core/limits.js";
import { SignalHub } from "../../src/signals/hub.js";
import type { Signals } from "../../src/signals/signals.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { Bench, gate, quick, scope, story } from "./support.js";
import { withMethods } from "./wrapped-stores.js";

vi.setConfig({ testTimeout: 60_000 });

/** An agent that yields a last artifact and stops a moment after its signal. */
const tidy: Omit<Agent, "card"> = {
  async *execute(turn) {
    yield working();
    await new Promise((resolve) => turn.signal.addEventListener("abort", resolve, { once: true }));
    await new Promise((resolve) => setTimeout(resolve, 50));
    yield artifact({ name: "rest", text: `stopped: ${turn.signal.reason?.cause}` });
  },
};

async function twoEngines(
  agent: Omit<Agent, "card">,
  { signals, ...more }: { signals?: Signals; limits?: Limits } = {},
) {
  const store = memoryStore({ shared: true });
  const options = { leaseMs: 60_000, ...(signals && { signals }), limits: { ...quick, cancelGraceMs: 3_000 }, ...more };
  const [one, two] = [new Bench(agent, options, store), new Bench(agent, options, store)];
  await Promise.all([one.engine.start(), two.engine.start()]);
  return { store, one, two, end: () => Promise.all([one.engine.drain(0), two.engine.drain(0)]) };
}

describe("a cancel of a task that another process executes", () => {
  it("gives its agent the grace period, and returns how it ended", async () => {
    const { one, two, end } = await twoEngines(tidy);
    const held = await one.send("go");
    const told = story(held);
    const { task } = await two.engine.cancel(scope, held.taskId);
    expect(TaskState[task.status?.state ?? 0]).toBe("CANCELED");
    expect(task.artifacts.map(({ name }) => name)).toEqual(["rest"]);
    expect(await told).toEqual(await story(await one.send("go").then((again) => cancelLater(one, again))));
    await end();
  });

  it("gives it as well when an operator cancels", async () => {
    const { one, two, end } = await twoEngines(tidy);
    const held = await one.send("go");
    await two.engine.control.cancel(held.taskId);
    const { task } = await two.engine.get(scope, held.taskId);
    expect(task.artifacts).toHaveLength(1);
    await end();
  });

  it("returns the task as its agent ended it in that time", async () => {
    const { one, two, end } = await twoEngines({
      async *execute(turn) {
        yield working();
        await new Promise((resolve) => turn.signal.addEventListener("abort", resolve, { once: true }));
        yield completed();
      },
    });
    const held = await one.send("go");
    const { task } = await two.engine.cancel(scope, held.taskId);
    expect(TaskState[task.status?.state ?? 0]).toBe("COMPLETED");
    await expect(two.engine.cancel(scope, held.taskId)).rejects.toMatchObject({ reason: "TASK_NOT_CANCELABLE" });
    await end();
  });

  it("of two processes is one cancel, and both return it", async () => {
    const { one, two, end } = await twoEngines(tidy);
    const held = await one.send("go");
    const ended = await Promise.all([one, two, two].map(({ engine }) => engine.cancel(scope, held.taskId)));
    expect(ended.map(({ task }) => TaskState[task.status?.state ?? 0])).toEqual(["CANCELED", "CANCELED", "CANCELED"]);
    expect(ended.map(({ task }) => task.artifacts.length)).toEqual([1, 1, 1]);
    await end();
  });

  it("ends the task without its agent when nobody answers", async () => {
    const silent: Signals = { join: (name) => new SignalHub().join(name), close: async () => {} };
    const { one, two, end } = await twoEngines(tidy, { signals: silent });
    const held = await one.send("go");
    const { task } = await two.engine.cancel(scope, held.taskId);
    expect(TaskState[task.status?.state ?? 0]).toBe("CANCELED");
    expect(task.artifacts).toEqual([]);
    await end();
  });

  it("ends the task after the grace period of an agent that does not stop", async () => {
    const { one, two, end } = await twoEngines(
      {
        async *execute() {
          yield working();
          await new Promise(() => {});
        },
      },
      { limits: { ...quick, cancelGraceMs: 100 } },
    );
    const held = await one.send("go");
    const { task } = await two.engine.cancel(scope, held.taskId);
    expect(TaskState[task.status?.state ?? 0]).toBe("CANCELED");
    await expect(two.engine.cancel(scope, held.taskId)).rejects.toBeInstanceOf(A2AError);
    await end();
  });
});

describe("an execution whose task another process has canceled", () => {
  it("logs no failure of the store if its agent ends before this process has read the cancel", async () => {
    const [ending, reading, isReading] = [gate(), gate(), gate()];
    let isHeld = false;
    const store = memoryStore({ shared: true });
    const slow = withMethods(store, {
      read: async (request) => {
        const read = await store.read(request);
        if (!isHeld) return read;
        isReading.open();
        await reading.opened;
        return read;
      },
    });
    const agent: Omit<Agent, "card"> = {
      async *execute() {
        yield working();
        await ending.opened;
      },
    };
    const hub = new SignalHub();
    const options = { leaseMs: 60_000, limits: quick };
    const [one, two] = [new Bench(agent, { ...options, signals: hub }, slow), new Bench(agent, options, store)];
    await Promise.all([one.engine.start(), two.engine.start()]);
    const held = await one.send("go");
    await expect.poll(() => held.now().task.status?.state).toBe(TaskState.WORKING);
    await two.engine.cancel(scope, held.taskId);
    isHeld = true;
    hub.join("another").changed(held.taskId);
    await isReading.opened;
    ending.open();
    await undefined;
    reading.open();
    await expect.poll(() => one.engine.running).toBe(0);
    expect(one.logged.map(({ message }) => message)).not.toContain("an execution could not be stored");
    await Promise.all([one.engine.drain(0), two.engine.drain(0)]);
  });
});

async function cancelLater(bench: Bench, held: Awaited<ReturnType<Bench["send"]>>) {
  void bench.engine.cancel(scope, held.taskId);
  await held.whenIdle(neverCanceled, 10_000);
  return held;
}
