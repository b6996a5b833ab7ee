import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed, failed, inputRequired, reply, working } from "../../src/agent/event.js";
import { neverCanceled } from "../../src/core/async.js";
import { agentCleanup } from "../../src/engine/run/agent-end.js";
import { setConstants, setConstantsOfFile } from "../support/constants.js";
import { Bench, quick, scope, settle, story } from "./support.js";

const never = new Promise<never>(() => {});

/** Agents have little time to end, so that lingering ones are detected soon. */
setConstantsOfFile(agentCleanup, { timeoutMs: 50 });

const lettingGo = "an agent did not return after its last event; its execution ends without it";

/** Number of executions that the log reports as released. */
const letGo = ({ logged }: Bench): number => logged.filter(({ message }) => message === lettingGo).length;

const count = 5;

/** Agents that yield their last event but do not return. */
const staying: [name: string, agent: Omit<Agent, "card">, state: string][] = [
  [
    "in its finally",
    {
      async *execute() {
        try {
          yield working();
          yield completed();
        } finally {
          await never;
        }
      },
    },
    "TASK_STATE_COMPLETED",
  ],
  [
    "in its finally, after an artifact",
    {
      async *execute() {
        try {
          yield artifact({ text: "x" });
          yield failed("no");
        } finally {
          await never;
        }
      },
    },
    "TASK_STATE_FAILED",
  ],
  [
    "in an iterator of its own",
    {
      execute: () => ({
        [Symbol.asyncIterator]: () => ({
          next: async () => ({ done: false as const, value: completed() }),
          return: () => never,
        }),
      }),
    },
    "TASK_STATE_COMPLETED",
  ],
];

describe("an agent that never returns after its last event", () => {
  it.each(staying)("does not keep its execution: %s", async (_where, agent, state) => {
    const bench = new Bench(agent, { limits: quick });
    await bench.engine.start();
    const held = await Promise.all(Array.from({ length: count }, () => bench.send("x")));
    for (const each of held) expect(`TASK_STATE_${await settle(each)}`).toBe(state);
    for (const each of held) each.release();
    await expect.poll(() => bench.engine.executions).toBe(0);
    expect(letGo(bench)).toBe(count);
    // The engine neither waits for these executions nor leaves their leases.
    await bench.engine.drain(60_000);
    expect(await bench.store.leasesOf({ holder: "", after: "", limit: 10 })).toEqual([]);
  });

  it("is told by its signal, which may end what it still waits for", async () => {
    const causes: unknown[] = [];
    const bench = new Bench(
      {
        async *execute({ signal }) {
          yield completed();
          await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
          causes.push((signal.reason as Error).cause);
        },
      },
      { limits: quick },
    );
    await story(await bench.send("x"));
    await expect.poll(() => causes).toEqual(["ended"]);
    expect([bench.engine.executions, letGo(bench)]).toEqual([0, 1]);
  });

  it("is waited for as long as it may take", async () => {
    setConstants(agentCleanup, { timeoutMs: 60_000 });
    let done = false;
    const bench = new Bench(
      {
        async *execute() {
          try {
            yield completed();
          } finally {
            await new Promise((resolve) => setTimeout(resolve, 20));
            done = true;
          }
        },
      },
      { limits: quick },
    );
    await story(await bench.send("x"));
    await bench.engine.drain(60_000);
    expect([done, letGo(bench)]).toEqual([true, 0]);
  });

  it("does not keep the caller of a direct answer", async () => {
    const bench = new Bench({
      responds: "message",
      async *execute() {
        try {
          yield reply("hello");
        } finally {
          await never;
        }
      },
    });
    expect((await bench.reply("x")).parts[0]?.content.value).toBe("hello");
  });

  it("does not hold up a caller that gets an error for an answer", async () => {
    const bench = new Bench({
      responds: "message",
      async *execute() {
        try {
          yield working();
        } finally {
          await never;
        }
      },
    });
    await expect(bench.reply("x")).rejects.toMatchObject({ reason: "INVALID_AGENT_RESPONSE" });
  });
});

describe("an agent that ignores its signal", () => {
  it.each([
    ["waits for ever", () => never],
    ["goes on yielding", () => new Promise((resolve) => setTimeout(resolve, 1))],
    [
      "stops, and stays in its finally",
      (signal: AbortSignal) => new Promise((_, reject) => signal.addEventListener("abort", reject)),
    ],
  ])("does not keep its execution after a cancel: it %s", async (_how, wait) => {
    const bench = new Bench(
      {
        async *execute({ signal }) {
          try {
            for (;;) {
              yield working();
              await wait(signal);
            }
          } finally {
            await never;
          }
        },
      },
      { limits: quick },
    );
    await bench.engine.start();
    const held = await Promise.all(Array.from({ length: count }, () => bench.send("x")));
    for (const each of held) {
      await each.whenPast(1, neverCanceled, 5_000);
      const { id } = each.accepted!.task;
      expect((await bench.engine.cancel(scope, id)).task.status?.state).toBe(5);
      each.release();
    }
    expect(bench.engine.executions).toBe(0);
    await bench.engine.drain(60_000);
  });

  it("keeps it while its task waits for its client: it may go on by itself", async () => {
    const bench = new Bench(
      {
        async *execute() {
          yield inputRequired("?");
          await never;
        },
      },
      { limits: quick },
    );
    const held = await bench.send("x");
    await held.whenPast(1, neverCanceled, 5_000);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(bench.engine.executions).toBe(1);
    await bench.engine.drain(0);
    expect(bench.engine.executions).toBe(0);
  });
});
