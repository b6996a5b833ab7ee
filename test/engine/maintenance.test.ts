import { expect, it, onTestFinished } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { inputRequired } from "../../src/agent/event.js";
import { yieldToEventLoop } from "../../src/core/event-loop.js";
import { defaultLimits } from "../../src/core/limits.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { openStore } from "./stores.js";
import { Bench, gate, scope, settle } from "./support.js";
import { withMethods } from "./wrapped-stores.js";

it("makes up for no rounds of its maintenance that a slow store kept from beginning", async () => {
  const proceed = gate();
  let [claims, looks] = [0, 0];
  const store = new Proxy(openStore(), {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name === "leasesOf") looks++;
      if (name !== "claimLeases") return value.bind(target);
      return async (request: Parameters<TaskStore["claimLeases"]>[0]) => {
        claims++;
        await proceed.opened;
        return target.claimLeases(request);
      };
    },
  });
  const bench = new Bench({ async *execute() {} }, { leaseMs: 150 }, store);
  await bench.engine.start();
  await expect.poll(() => claims).toBe(1);
  // About twenty rounds are due in this time.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  proceed.open();
  // The drain waits for the current round.
  await bench.engine.drain(0);
  expect(looks).toBeLessThanOrEqual(2);
});

it("lets claims and the end of the server in between the batches of a removal without end", async () => {
  let [isOver, removals, claims] = [false, 0, 0];
  onTestFinished(() => {
    isOver = true;
  });
  const kept = openStore();
  const store = withMethods(kept, {
    removeFinished: async ({ limit }) => {
      if (removals++ === 0) claims = 0;
      await yieldToEventLoop();
      return isOver ? 0 : limit;
    },
    claimLeases: async (request) => {
      claims++;
      return kept.claimLeases(request);
    },
  });
  const bench = new Bench({ async *execute() {} }, { leaseMs: 150, retentionMs: 1 }, store);
  await bench.engine.start();
  await expect.poll(() => removals).toBeGreaterThan(0);
  await expect.poll(() => claims).toBeGreaterThan(0);
  await bench.engine.drain(50);
  const removed = removals;
  await yieldToEventLoop();
  await yieldToEventLoop();
  expect(removals).toBe(removed);
});

it("cancels no more of the tasks that wait for their clients once the server ends", async () => {
  const [read, proceed] = [gate(), gate()];
  const kept = openStore();
  const store = withMethods(kept, {
    listInterrupted: async (request) => {
      const heads = await kept.listInterrupted(request);
      if (heads.length === 2) read.open();
      await proceed.opened;
      return heads;
    },
  });
  const ask = {
    async *execute() {
      yield inputRequired("Which one?");
    },
  };
  let time = Date.now();
  const limits = { ...defaultLimits, maxInterruptedMs: 1_000 };
  const bench = new Bench(ask, { limits, now: () => time }, store);
  for (const text of ["one", "two"]) await settle(await bench.send(text));
  await expect.poll(() => bench.engine.executions).toBe(0);
  time += 2_000;
  await bench.engine.start();
  await read.opened;
  const draining = bench.engine.drain(0);
  proceed.open();
  await draining;
  const asked = { ...scope, limit: 10, state: TaskState.INPUT_REQUIRED };
  expect((await bench.engine.list(asked, {})).total).toBe(2);
});
