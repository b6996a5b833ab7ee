import { describe, expect, it } from "vitest";
import type { Agent, Turn } from "../../src/agent/agent.js";
import { AgentError } from "../../src/agent/errors.js";
import { artifact, completed, working } from "../../src/agent/event.js";
import { uncaughtFaults } from "../support/faults.js";
import { Bench, quick, story } from "./support.js";

/** Agents of authors without a type checker, which break the types. Their faults only end their task. */

const faults = uncaughtFaults();

const thrower = (): never => {
  throw new AgentError("a fault");
};
const never = new Promise<never>(() => {});

async function* good() {
  yield artifact({ id: "a", text: "x" });
  yield completed();
}

const iterator = (more: object) => () => ({
  [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false, value: working() }), ...more }),
});

const failing: Record<string, (turn: Turn) => unknown> = {
  "throws at once": thrower,
  "returns nothing": () => undefined,
  "returns null": () => null,
  "returns an event": () => completed(),
  "is async and returns nothing": async () => {},
  "is async and throws": async () => thrower(),
  "is async and throws later": async () => {
    await new Promise((resolve) => setImmediate(resolve));
    thrower();
  },
  "has no next": () => ({ [Symbol.asyncIterator]: () => ({}) }),
  "has no iterator": () => ({ [Symbol.asyncIterator]: () => undefined }),
  "throws where it is iterated": () => ({ [Symbol.asyncIterator]: thrower }),
  "throws where it is looked at": () => Object.defineProperty({}, Symbol.asyncIterator, { get: thrower }),
  "has a next that throws at once": iterator({ next: thrower }),
  "has a next that gives nothing": iterator({ next: async () => undefined }),
  "has a next that gives nothing at once": iterator({ next: () => undefined }),
  "has results that throw where they are looked at": iterator({
    next: async () => Object.defineProperty({}, "done", { get: thrower }),
  }),
};

const ending: Record<string, (turn: Turn) => unknown> = {
  "is async and returns a generator": async () => good(),
  "throws in its finally": async function* () {
    try {
      yield* good();
    } finally {
      thrower();
    }
  },
  "never returns from its finally": async function* () {
    try {
      yield* good();
    } finally {
      await never;
    }
  },
  "has a return that throws at once": iterator({
    next: async () => ({ done: false, value: completed() }),
    return: thrower,
  }),
  "has a return that is none": iterator({ next: async () => ({ done: false, value: completed() }), return: 5 }),
  "has a return that throws where it is looked at": () => ({
    [Symbol.asyncIterator]: () =>
      Object.defineProperty({ next: async () => ({ done: false, value: completed() }) }, "return", { get: thrower }),
  }),
  "has a next that is not async": iterator({ next: () => ({ done: false, value: completed() }) }),
};

const recovers: Record<string, () => unknown> = {
  throws: thrower,
  "is async": async () => "restart",
  "is async and throws": async () => thrower(),
  "gives nonsense": () => 5,
};

async function told(execute: unknown, responds: "task" | "either"): Promise<string[]> {
  const bench = new Bench({ execute: execute as Agent["execute"], responds }, { limits: quick });
  const held = await bench.send("x");
  const all = await story(held);
  held.release();
  await bench.engine.drain(0);
  return all;
}

/** Waits until unhandled errors would be reported, and expects none. */
async function nothingElse(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(faults).toEqual([]);
}

describe.each(["task", "either"] as const)("an agent that responds %s", (responds) => {
  it.each(Object.entries(failing))("fails its task when it %s", async (_what, execute) => {
    expect((await told(execute, responds)).at(-1)).toMatch(/^FAILED/);
    await nothingElse();
  });

  it.each(Object.entries(ending))("ends its task when it %s", async (_what, execute) => {
    expect((await told(execute, responds)).at(-1)).toBe("COMPLETED");
    await nothingElse();
  });
});

describe("an agent's recover", () => {
  it.each(Object.entries(recovers))("that %s fails what was cut off", async (_what, recover) => {
    const agent: Omit<Agent, "card"> = {
      recover: recover as () => "fail",
      async *execute() {
        yield working();
        await never;
      },
    };
    const bench = new Bench(agent, { limits: quick });
    const held = await bench.send("x");
    const events = story(held).catch(() => []);
    await expect.poll(() => held.now().generation).toBe(2);
    await bench.engine.drain(0);
    await events;
    expect((await bench.store.head({ taskId: held.now().task.id }))?.state).toBe(4);
    held.release();
    await nothingElse();
  });
});
