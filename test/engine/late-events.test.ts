import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed, failed, inputRequired, rejected, reply, working } from "../../src/agent/event.js";
import { Bench, quick, story } from "./support.js";

/** Events that agents yield after the end of their task. The engine drops and logs them. */

const afterTask = "an agent yielded an event after the end of its task; the event is dropped, and the agent stopped";
const afterReply = "an agent yielded an event after its direct answer; the event is dropped, and the agent stopped";

/** The log lines with their facts. */
const lines = ({ logged }: Bench): unknown[] => logged.map(({ facts, message }) => ({ ...facts, message }));

async function run(agent: Omit<Agent, "card">): Promise<{ bench: Bench; told: string[]; taskId: string }> {
  const bench = new Bench(agent, { limits: quick });
  const held = await bench.send("x");
  const taskId = held.now().task.id;
  const told = await story(held);
  held.release();
  await expect.poll(() => bench.engine.executions).toBe(0);
  return { bench, told, taskId };
}

describe("an event after the end of its task", () => {
  it("is dropped, and named once", async () => {
    let stopped = false;
    const { bench, told, taskId } = await run({
      async *execute() {
        try {
          yield rejected("no");
          yield working("still here");
          yield completed();
        } finally {
          stopped = true;
        }
      },
    });
    expect(told).toEqual(["REJECTED no"]);
    expect(lines(bench)).toEqual([{ taskId, agent: "Test", event: "WORKING", ended: "REJECTED", message: afterTask }]);
    expect(stopped).toBe(true);
  });

  it.each([
    ["an artifact", artifact({ text: "late" }), "artifact"],
    ["a direct answer", reply("late"), "reply"],
    ["a second end", failed("late"), "FAILED"],
    ["no event", "late", "none"],
  ])("is named when it is %s", async (_what, late, event) => {
    const { bench, told, taskId } = await run({
      async *execute() {
        yield completed();
        yield late as never;
      },
    });
    expect(told).toEqual(["COMPLETED"]);
    expect(lines(bench)).toEqual([{ taskId, agent: "Test", event, ended: "COMPLETED", message: afterTask }]);
  });

  it("is named when it is returned", async () => {
    const { bench, told, taskId } = await run({
      async *execute() {
        yield completed();
        return failed("late");
      },
    });
    expect(told).toEqual(["COMPLETED"]);
    expect(lines(bench)).toEqual([{ taskId, agent: "Test", event: "FAILED", ended: "COMPLETED", message: afterTask }]);
  });

  it("is none where the agent only ends, or cleans up", async () => {
    let cleaned = false;
    const { bench } = await run({
      async *execute() {
        yield completed();
        await new Promise((resolve) => setImmediate(resolve));
        cleaned = true;
      },
    });
    expect([cleaned, lines(bench)]).toEqual([true, []]);
  });

  it("is none behind a pause: the agent may go on by itself", async () => {
    const { bench, told } = await run({
      async *execute() {
        yield inputRequired("?");
        yield completed();
      },
    });
    expect(told.at(-1)).toBe("COMPLETED");
    expect(lines(bench)).toEqual([]);
  });
});

describe("an event after a direct answer", () => {
  it("is dropped, and named", async () => {
    const bench = new Bench({
      responds: "message",
      async *execute() {
        yield reply("one");
        yield reply("two");
      },
    });
    expect((await bench.reply("x")).parts[0]?.content.value).toBe("one");
    await expect.poll(() => lines(bench)).toEqual([{ agent: "Test", event: "reply", message: afterReply }]);
  });

  it("is none where the agent only ends", async () => {
    let cleaned = false;
    const bench = new Bench({
      responds: "message",
      async *execute() {
        yield reply("one");
        cleaned = true;
      },
    });
    await bench.reply("x");
    await expect.poll(() => cleaned).toBe(true);
    expect(lines(bench)).toEqual([]);
  });
});

describe("a direct answer that is returned", () => {
  it.each(["message", "either"] as const)(
    "is as good as one that is yielded, where an agent responds: %s",
    async (responds) => {
      const bench = new Bench({
        responds,
        // biome-ignore lint/correctness/useYield: that is the point.
        async *execute() {
          return reply("one");
        },
      });
      expect((await bench.reply("x")).parts[0]?.content.value).toBe("one");
      expect(lines(bench)).toEqual([]);
    },
  );
});
