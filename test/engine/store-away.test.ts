import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, working } from "../../src/agent/event.js";
import type { EngineOptions } from "../../src/engine/engine.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { type AppendRequest, StoreError, type TaskStore } from "../../src/store/task-store.js";
import { Bench, gate, settle, story } from "./support.js";
import { fragile, mortal, withMethods } from "./wrapped-stores.js";

const benches: Bench[] = [];
afterEach(async () => {
  for (const bench of benches.splice(0)) await bench.engine.drain(0);
});

async function start(agent: Omit<Agent, "card">, store: TaskStore, options: Partial<EngineOptions>): Promise<Bench> {
  const bench = new Bench(agent, options, store);
  benches.push(bench);
  await bench.engine.start();
  return bench;
}

/** Far longer than a test, so that no turn that continues has waited for it. */
const leaseMs = 60_000;

/** An agent whose attempts each wait at their own gate before the last event. */
function waiting(recover: "restart" | "fail" = "restart", gates = Array.from({ length: 3 }, gate)) {
  const heard: number[] = [];
  const agent: Omit<Agent, "card"> = {
    recover,
    async *execute(turn) {
      heard.push(turn.attempt);
      yield working();
      await gates[turn.attempt - 1]?.opened;
      yield artifact({ id: "a", text: `attempt ${turn.attempt}` });
    },
  };
  return { agent, heard, gates };
}

/** Waits for the nth status `WORKING`, then disables the store until the execution has noticed. */
async function cut(bench: Bench, taskId: string, nth: number, { fail, open }: Record<"fail" | "open", () => void>) {
  await expect.poll(async () => (await bench.store.head({ taskId }))?.position).toBe(nth + 1);
  fail();
  open();
  const cuts = () => bench.logged.filter(({ message }) => message === "an execution could not be stored").length;
  await expect.poll(cuts).toBe(nth);
}

describe("an execution that an outage of the store has ended", () => {
  it("continues as soon as the store is back, with a new fence each time, and counts for no restart", async () => {
    const { store, fail, mend } = fragile();
    const { agent, heard, gates } = waiting();
    const bench = await start(agent, store, { leaseMs, maxRestarts: 0 });
    const held = await bench.send("x");
    const told = story(held);
    const { id: taskId } = held.now().task;
    const attempts: (number | undefined)[] = [];
    for (const [index, { open }] of gates.slice(0, 2).entries()) {
      await cut(bench, taskId, index + 1, { fail: () => fail("not done"), open });
      attempts.push((await store.head({ taskId }))?.lease?.attempt);
      mend();
      await expect.poll(() => heard.length, { timeout: 10_000 }).toBe(index + 2);
    }
    gates[2]?.open();
    expect(await told).toEqual(["WORKING", "WORKING", "WORKING", "artifact attempt 3", "COMPLETED"]);
    expect(heard).toEqual([1, 2, 3]);
    expect(new Set(attempts).size).toBe(2);
    held.release();
  }, 20_000);

  it("fails at once with a reason if its agent must not run again", async () => {
    const { store, fail, mend } = fragile();
    const { agent, gates } = waiting("fail");
    const bench = await start(agent, store, { leaseMs });
    const held = await bench.send("x");
    const told = story(held);
    const { id: taskId } = held.now().task;
    await cut(bench, taskId, 1, { fail: () => fail("not done"), open: () => gates[0]?.open() });
    mend();
    const why = "FAILED The agent was stopped by an outage of the task store before it finished.";
    expect(await told).toEqual(["WORKING", why]);
    held.release();
  });

  it("stores nothing more when an append of its first attempt arrives late", async () => {
    const kept = memoryStore();
    let late: AppendRequest | undefined;
    const append: TaskStore["append"] = async (request) => {
      if (late !== undefined || request.expected !== 1) return kept.append(request);
      late = request;
      throw new StoreError("unavailable", "No answer.");
    };
    const { agent, heard, gates } = waiting();
    gates[0]?.open();
    const bench = await start(agent, withMethods(kept, { append }), { leaseMs });
    const held = await bench.send("x");
    await expect.poll(() => heard, { timeout: 5_000 }).toEqual([1, 2]);
    // The new attempt has stored nothing yet, so only the lease distinguishes the two.
    const { id: taskId } = held.now().task;
    const request = { ...(late as AppendRequest), expected: (await kept.head({ taskId }))?.position ?? 0 };
    const head = { ...request.head, position: request.expected + request.entries.length };
    await expect(kept.append({ ...request, head })).rejects.toMatchObject({ kind: "fenced" });
    gates[1]?.open();
    expect(await settle(held)).toBe("COMPLETED");
    held.release();
  });

  it.each([0, 1])("counts a crash of its process that follows, with maxRestarts %i", async (maxRestarts) => {
    const { store, fail, mend } = fragile(memoryStore({ shared: true }));
    const { agent, heard, gates } = waiting();
    const { store: through, die } = mortal(store);
    const first = await start(agent, through, { leaseMs: 600, maxRestarts });
    const held = await first.send("x");
    const { id: taskId } = held.now().task;
    await cut(first, taskId, 1, { fail: () => fail("not done"), open: () => gates[0]?.open() });
    mend();
    await expect.poll(() => heard).toEqual([1, 2]);
    die();
    benches.length = 0;
    gates[2]?.open();
    const second = await start(agent, store, { leaseMs: 600, maxRestarts });
    const state = async () => (await second.store.head({ taskId }))?.state;
    await expect.poll(state, { timeout: 5_000 }).toBe(maxRestarts === 0 ? TaskState.FAILED : TaskState.COMPLETED);
    expect(heard).toEqual(maxRestarts === 0 ? [1, 2] : [1, 2, 3]);
  });
});

describe("an execution whose own append fails", () => {
  it("counts as one that crashed while the store answers others", async () => {
    const kept = memoryStore();
    const append: TaskStore["append"] = async (request) => {
      if (!request.entries.some((entry) => Buffer.from(entry).includes("poison"))) return kept.append(request);
      await sleep(700);
      throw new StoreError("unavailable", "No answer.");
    };
    const heard: number[] = [];
    let isOver = false;
    const agent: Omit<Agent, "card"> = {
      recover: "restart",
      async *execute(turn) {
        if (turn.text === "busy") {
          for (; !isOver; await sleep(20)) yield working();
          return;
        }
        heard.push(turn.attempt);
        yield artifact({ text: "poison" });
      },
    };
    const bench = await start(agent, withMethods(kept, { append }), { leaseMs: 300, maxRestarts: 1 });
    const busy = await bench.send("busy");
    const held = await bench.send("x");
    expect(await story(held)).toEqual(["FAILED The agent was stopped by a crash of the server before it finished."]);
    isOver = true;
    expect(heard).toEqual([1, 2]);
    expect(await settle(busy)).toBe("COMPLETED");
    held.release();
    busy.release();
  }, 20_000);
});
