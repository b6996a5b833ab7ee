import { describe, expect, it, vi } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Step } from "../../gen/parley/log/v1/log_pb.js";
import type { Agent, Turn } from "../../src/agent/agent.js";
import { StepError } from "../../src/agent/errors.js";
import { artifact, completed, inputRequired, reply, working } from "../../src/agent/event.js";
import { neverCanceled } from "../../src/core/async.js";
import { defaultLimits } from "../../src/core/limits.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { decodeEntry, millisOf } from "../../src/task/entry.js";
import { openShared, openStore } from "./stores.js";
import { Bench, gate, quick, scope, settle, story } from "./support.js";
import { mortal, withMethods } from "./wrapped-stores.js";

vi.setConfig({ testTimeout: 60_000 });

/** The cases of a task's entries, in order. */
async function kinds(store: TaskStore, taskId: string): Promise<(string | undefined)[]> {
  return (await entries(store, taskId)).map(({ event }) => event.case);
}

async function entries(store: TaskStore, taskId: string): Promise<ReturnType<typeof decodeEntry>[]> {
  return (await store.read({ taskId, after: 0, limit: 1_000 })).map(decodeEntry);
}

const leaseMs = 240;

/** Kills the process of an agent when `dies` resolves, and continues in another one. Returns the final task. */
async function crashed(agent: Omit<Agent, "card">, dies: Promise<void>, texts: readonly string[] = ["x"]) {
  const [one, store] = openShared();
  const first = mortal(one);
  const before = new Bench(agent, { leaseMs, limits: { ...defaultLimits, maxStallMs: 0 } }, first.store);
  await before.engine.start();
  const held = await before.send(texts[0] ?? "");
  const taskId = held.taskId;
  for (const text of texts.slice(1)) {
    await settle(held);
    await before.send(text, { message: { taskId } });
  }
  await dies;
  first.die();
  const after = new Bench(agent, { leaseMs }, store);
  await after.engine.start();
  const again = await after.engine.open(scope, taskId);
  for await (const _ of again.events({ position: 0, generation: 0 }, neverCanceled));
  await expect.poll(() => again.now().task.status?.state, { timeout: 30_000 }).toBe(TaskState.COMPLETED);
  return { again, after, store, taskId };
}

describe("turn.step()", () => {
  it("refuses a result that takes those of the task over maxTaskBytes, also in another process", async () => {
    const kept: number[] = [];
    const agent: Omit<Agent, "card"> = {
      async *execute(turn) {
        try {
          for (let i = 0; i < 4; i++) await turn.step("fill", () => "x".repeat(5_998));
        } catch (error) {
          yield working(String(error));
        }
        const kinds = await entries(bench.store, turn.taskId);
        kept.push(kinds.filter(({ event }) => event.case === "step").length);
        if (turn.text === "on") yield inputRequired("More?");
        else await Promise.all(["a", "b"].map((name) => turn.step(name, () => "x".repeat(1_500))));
      },
    };
    const limits = { ...defaultLimits, maxTaskBytes: 20_000 };
    const store = openStore();
    let bench = new Bench(agent, { limits }, store);
    const held = await bench.send("on");
    const { taskId } = held;
    expect(await settle(held)).toBe("INPUT_REQUIRED");
    const text = "The results of the task's steps would have 24000 bytes as JSON, of at most 20000.";
    expect((await story(held)).join()).toContain(text);
    held.release();
    await bench.engine.drain(0);
    bench = new Bench(agent, { limits }, store);
    const again = await bench.send("end", { message: { taskId, messageId: "again" } });
    expect(await settle(again)).toBe("FAILED");
    expect(kept).toEqual([3, 3]);
    expect((await story(again)).at(-1)).toContain("would have 21004 bytes as JSON, of at most 20000.");
    again.release();
    await bench.engine.drain(0);
  });

  it("is in the log and nowhere else: no stream, no task and no generation shows it", async () => {
    const bench = new Bench({
      async *execute(turn) {
        yield working("begun");
        const plan = await turn.step("plan", async () => ["Rome", "Oslo"]);
        yield artifact({ text: plan.join() });
        await turn.step("mail", () => {});
      },
    });
    const held = await bench.send("go");
    expect(await story(held)).toEqual(["WORKING begun", "artifact Rome,Oslo", "COMPLETED"]);
    const view = held.now();
    expect(view.generation).toBe(4);
    expect(view.task.history).toHaveLength(2);
    expect(JSON.stringify(view.task.artifacts)).not.toContain("plan");
    expect(await kinds(bench.store, held.taskId)).toEqual(["created", "status", "step", "artifact", "step", "status"]);
    const list = await bench.engine.list({ ...scope, limit: 10 } as never, {});
    expect(list.views.map(({ generation }) => generation)).toEqual([4]);
  });

  it("tells operators what it was, when it began and how often it was tried", async () => {
    let tries = 0;
    const bench = new Bench({
      async *execute(turn) {
        const work = (): string => {
          if (tries++ < 2) throw new Error("busy");
          return "secret";
        };
        await turn.step("call", work, { retries: 5, backoffMs: 1 });
        await turn.step("refused", () => Promise.reject(new RangeError("too far"))).catch(() => {});
      },
    });
    const held = await bench.send("go");
    await settle(held);
    const [begun, call, refused] = await entries(bench.store, held.taskId);
    expect(call?.event.value).toMatchObject({ name: "call", count: 1, turn: 1, call: 1, attempts: 3 });
    expect(call?.event.value).toMatchObject({ outcome: { case: "result", value: '"secret"' } });
    const { started } = { ...(call?.event.value as Step) };
    expect(millisOf(started)).toBeGreaterThan(millisOf(begun?.time) - 60_000);
    expect(refused?.event.value).toMatchObject({
      outcome: { case: "error", value: { name: "RangeError", message: "too far", agentError: false } },
    });
    const lines = bench.logged.filter(({ message }) => message === "a step is stored").map(({ facts }) => facts);
    expect(lines).toMatchObject([
      { taskId: held.taskId, step: "call", attempts: 3, failed: false },
      { taskId: held.taskId, step: "refused", attempts: 1, failed: true },
    ]);
    expect(JSON.stringify(lines)).not.toContain("secret");
  });

  it("keeps the order of the agent's events", async () => {
    const bench = new Bench({
      async *execute(turn) {
        for (let i = 0; i < 20; i++) {
          yield artifact({ name: "a", text: `${i}`, append: true });
          await turn.step("same", () => i);
        }
      },
    });
    const held = await bench.send("go");
    await settle(held);
    const all = await kinds(bench.store, held.taskId);
    expect(all).toEqual(["created", ...Array.from({ length: 40 }, (_, i) => (i % 2 ? "step" : "artifact")), "status"]);
  });

  it("gives a turn that runs again after a crash what is stored, and works on", async () => {
    const worked: string[] = [];
    const dead = gate();
    const { again, store, taskId } = await crashed(
      {
        recover: "restart",
        async *execute(turn) {
          const work = (name: string) => async () => {
            worked.push(`${name} ${turn.attempt}`);
            return { name, attempt: turn.attempt };
          };
          const plan = await turn.step("plan", work("plan"));
          const failed = await turn
            .step("fail", () => Promise.reject(new Error("no")))
            .catch((error: unknown) => error);
          const large = await turn.step("large", () => "x".repeat(300_000));
          if (turn.attempt === 1) {
            dead.open();
            await new Promise(() => {});
          }
          const last = await turn.step("last", work("last"));
          const is = failed instanceof StepError && failed.message;
          yield artifact({ data: { plan, last, is, large: large.length } });
        },
      },
      dead.opened,
    );
    expect(worked).toEqual(["plan 1", "last 2"]);
    expect(again.now().task.artifacts[0]?.parts[0]).toMatchObject({
      content: { value: { kind: { value: { fields: { is: { kind: { value: 'The step "fail" failed: no' } } } } } } },
    });
    expect(await kinds(store, taskId)).toEqual(["created", "step", "step", "step", "step", "artifact", "status"]);
  });

  it("gives later turns of the task the result of a step per task, also after a crash", async () => {
    const worked: string[] = [];
    const dead = gate();
    const agent: Omit<Agent, "card"> = {
      recover: "restart",
      async *execute(turn) {
        const work = (name: string) => () => {
          worked.push(`${name} ${turn.text} ${turn.attempt}`);
          return turn.text;
        };
        const first = await turn.step("first", work("task"), { per: "task" });
        const own = await turn.step("own", work("turn"));
        if (turn.text === "one") return yield inputRequired("?");
        if (turn.attempt === 1) {
          dead.open();
          await new Promise(() => {});
        }
        yield completed(`${first} ${own}`);
      },
    };
    const { again } = await crashed(agent, dead.opened, ["one", "two"]);
    expect(worked).toEqual(["task one 1", "turn one 1", "turn two 1"]);
    expect(again.now().task.status?.message?.parts[0]?.content.value).toBe("one two");
  });

  it("fails a turn whose program has changed, and tells the operator why", async () => {
    const dead = gate();
    const [one, store] = openShared();
    const first = mortal(one);
    const agent = (name: string): Omit<Agent, "card"> => ({
      recover: "restart",
      async *execute(turn) {
        await turn.step(name, () => name);
        if (turn.attempt === 1) {
          dead.open();
          await new Promise(() => {});
        }
        yield completed();
      },
    });
    const before = new Bench(agent("plan"), { leaseMs, limits: { ...defaultLimits, maxStallMs: 0 } }, first.store);
    await before.engine.start();
    const { taskId } = await before.send("x");
    await dead.opened;
    first.die();
    const after = new Bench(agent("route"), { leaseMs }, store);
    await after.engine.start();
    const state = async () => (await after.engine.get(scope, taskId)).task.status?.state;
    await expect.poll(state, { timeout: 30_000 }).toBe(TaskState.FAILED);
    const { facts } = after.logged.find(({ message }) => message === "an agent failed unexpectedly") ?? {};
    expect(String((facts as { err: Error }).err)).toContain('asks for the step "route" as number 1');
    const { task } = await after.engine.get(scope, taskId);
    expect(task.status?.message?.parts[0]?.content.value).not.toContain("route");
  });

  it("stores the steps of an agent that decides for a task with the task, and those of a direct answer never", async () => {
    const agent: Omit<Agent, "card"> = {
      responds: "either",
      async *execute(turn) {
        const route = await turn.step("route", () => turn.text);
        if (route === "reply") return yield reply("hello");
        yield working(route);
        await turn.step("plan", () => 1);
      },
    };
    const bench = new Bench(agent);
    await bench.reply("reply");
    const held = await bench.send("task");
    await settle(held);
    expect(await kinds(bench.store, held.taskId)).toEqual(["created", "step", "status", "step", "status"]);
    // The store may refuse this message, so the agent continues after it is stored.
    const keyed = await bench.send("task", { idempotency: { key: "key", fingerprint: "same" } });
    await settle(keyed);
    expect(await kinds(bench.store, keyed.taskId)).toEqual(["created", "step", "status", "step", "status"]);
  });

  it("does not work after the turn's last event, and does not wait for a step that the agent left behind", async () => {
    const outcomes: unknown[] = [];
    const left = gate();
    const bench = new Bench({
      async *execute(turn) {
        void turn.step("left", () => left.opened).catch((error: unknown) => outcomes.push(error));
        try {
          yield completed();
        } finally {
          await turn.step("late", () => outcomes.push("worked")).catch((error: unknown) => outcomes.push(error));
        }
      },
    });
    const held = await bench.send("go");
    expect(await settle(held)).toBe("COMPLETED");
    await expect.poll(() => outcomes.length).toBe(1);
    expect(String(outcomes[0])).toContain('The turn is over: the step "late"');
    left.open();
    await expect.poll(() => outcomes.length).toBe(2);
    expect(String(outcomes[1])).toContain('The turn is over: the step "left"');
    expect(await kinds(bench.store, held.taskId)).toEqual(["created", "status"]);
  });

  it("ends with a canceled task: its signal fires, and nothing of it is stored", async () => {
    const begun = gate();
    const outcomes: unknown[] = [];
    const bench = new Bench(
      {
        async *execute(turn: Turn) {
          begun.open();
          const work = (signal: AbortSignal): Promise<never> =>
            new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
          yield completed(await turn.step("long", work).catch((error: unknown) => void outcomes.push(error)));
        },
      },
      { limits: quick },
    );
    const held = await bench.send("go");
    await begun.opened;
    await bench.engine.cancel(scope, held.taskId);
    expect(outcomes).toMatchObject([{ name: "AbortReason", cause: "canceled" }]);
    expect(await kinds(bench.store, held.taskId)).not.toContain("step");
  });

  it("does not move the generation that a send expects", async () => {
    const bench = new Bench({
      async *execute(turn) {
        if (turn.text === "end") return;
        yield inputRequired("?");
        await turn.step("after", () => 1);
      },
    });
    const held = await bench.send("go");
    await settle(held);
    const { generation, task } = held.now();
    expect(generation).toBe(2);
    const { taskId } = held;
    await expect(bench.send("end", { message: { taskId }, ifGeneration: 1 })).rejects.toThrow("generation 2.");
    await settle(await bench.send("end", { message: { taskId, contextId: task.contextId }, ifGeneration: 2 }));
    expect(await kinds(bench.store, taskId)).toEqual(["created", "status", "step", "message", "status"]);
  });

  it("keeps a large number of steps, and refuses more than a turn may have", async () => {
    const [one, store] = openShared();
    const bench = new Bench(
      {
        async *execute(turn) {
          for (let i = 0; i < 200; i++) await turn.step("each", () => i);
          yield inputRequired("?");
        },
      },
      {},
      one,
    );
    const held = await bench.send("go");
    await settle(held);
    const other = new Bench({ async *execute() {} }, {}, store);
    const log = await other.engine.open(scope, held.taskId);
    expect(log.now()).toMatchObject({ position: 202, generation: 2 });
  });
});

describe("a store that fails", () => {
  it("ends the turn whose step it did not store, and another run works again", async () => {
    const store = openStore();
    let isBroken = false;
    const broken = withMethods(store, {
      append: (request) => (isBroken ? Promise.reject(new Error("no disk")) : store.append(request)),
    });
    const outcomes: unknown[] = [];
    const bench = new Bench(
      {
        recover: "restart",
        async *execute(turn) {
          yield working();
          isBroken = turn.attempt === 1;
          outcomes.push(await turn.step("x", () => turn.attempt).catch((error: unknown) => error));
        },
      },
      { leaseMs },
      broken,
    );
    await bench.engine.start();
    const held = await bench.send("go");
    await expect.poll(() => outcomes.length).toBe(1);
    expect(outcomes[0]).toBeInstanceOf(Error);
    isBroken = false;
    await expect.poll(() => outcomes.length, { timeout: 30_000 }).toBe(2);
    expect(outcomes[1]).toBe(2);
    expect(await settle(held)).toBe("COMPLETED");
  });
});
