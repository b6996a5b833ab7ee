import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { Agent, Turn } from "../../src/agent/agent.js";
import { type AgentEvent, artifact, completed, inputRequired, reply, working } from "../../src/agent/event.js";
import { unstored } from "../../src/engine/run/task-output.js";
import { setConstants } from "../support/constants.js";
import { scaled } from "../support/soak.js";
import { isSlow } from "./stores.js";
import { Bench, gate, settle, story } from "./support.js";

vi.setConfig({ testTimeout: 60_000 });

/** The events that a client of the agent receives. */
async function told(execute: Agent["execute"], more: Partial<Agent> = {}): Promise<string[]> {
  return story(await new Bench({ execute, ...more }).send("go"));
}

const later = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("turn.emit()", () => {
  it("does what yield does, in the order of both", async () => {
    const seen = await told(async function* ({ emit }) {
      void emit(working("1"));
      yield working("2");
      await emit(working("3"));
      void emit(working("4"));
      void emit(artifact({ text: "5" }));
      yield working("6");
    });
    expect(seen).toEqual(["WORKING 1", "WORKING 2", "WORKING 3", "WORKING 4", "artifact 5", "WORKING 6", "COMPLETED"]);
  });

  it("shows the events of a callback while the agent waits for something else", async () => {
    const end = gate();
    const bench = new Bench({
      async *execute({ emit }) {
        setTimeout(() => void emit(working("from a timer")), 1);
        await end.opened;
        yield completed("done");
      },
    });
    const held = await bench.send("go");
    await expect.poll(() => held.now().generation).toBe(2);
    end.open();
    expect(await story(held)).toEqual(["WORKING from a timer", "COMPLETED done"]);
  });

  it("keeps its order while the agent's own events are taken", async () => {
    const seen = await told(async function* ({ emit }) {
      const emitting = (event: AgentEvent, name: string): AgentEvent => {
        let emitted = false;
        const get = (target: AgentEvent, key: string | symbol): unknown => {
          if (key === "kind" && !emitted) void emit(working(name));
          emitted ||= key === "kind";
          return Reflect.get(target, key);
        };
        return new Proxy(event, { get });
      };
      yield working("1");
      yield emitting(artifact({ text: "2" }), "3");
      await later();
      yield emitting(completed("5"), "4");
    });
    expect(seen).toEqual(["WORKING 1", "artifact 2", "WORKING 3", "WORKING 4", "COMPLETED 5"]);
  });

  it("is kept when the agent returns at once", async () => {
    expect(
      await told(async function* ({ emit }) {
        void emit(working("1"));
        void emit(working("2"));
        yield* [];
      }),
    ).toEqual(["WORKING 1", "WORKING 2", "COMPLETED"]);
  });

  it("works in an agent without a generator, and in one that is promised", async () => {
    const agent = ({ emit }: Turn): AsyncIterable<AgentEvent> => {
      void emit(working("early"));
      return (async function* () {
        yield completed();
      })();
    };
    expect(await told(agent)).toEqual(["WORKING early", "COMPLETED"]);
    const promised = async (turn: Turn): Promise<AsyncIterable<AgentEvent>> => {
      await turn.emit(working("before"));
      return agent(turn);
    };
    expect(await told(promised as never)).toEqual(["WORKING before", "WORKING early", "COMPLETED"]);
  });

  it("ends the task, or asks, as a yielded event would", async () => {
    const seen = await told(async function* ({ emit, signal }) {
      await emit(completed("from a callback"));
      if (!signal.aborted) yield working("too late");
    });
    expect(seen).toEqual(["COMPLETED from a callback"]);
    const bench = new Bench({
      async *execute(turn) {
        await turn.emit(turn.text === "go" ? inputRequired("?") : completed());
        yield* [];
      },
    });
    const held = await bench.send("go");
    expect(await settle(held)).toBe("INPUT_REQUIRED");
    expect(await settle(await bench.send("on", { message: { taskId: held.taskId } }))).toBe("COMPLETED");
  });

  it("decides between a task and a direct answer", async () => {
    const agent: Omit<Agent, "card"> = {
      responds: "either",
      async *execute(turn) {
        void turn.emit(turn.text === "reply" ? reply("hello") : working("first"));
        await later();
        if (turn.text !== "reply") yield working("second");
      },
    };
    const bench = new Bench(agent);
    expect((await bench.reply("reply")).parts[0]?.content.value).toBe("hello");
    expect(await story(await bench.send("task"))).toEqual(["WORKING first", "WORKING second", "COMPLETED"]);
    const direct = new Bench({ ...agent, responds: "message" });
    expect((await direct.reply("reply")).parts[0]?.content.value).toBe("hello");
  });

  it("fails the task if it is no event", async () => {
    const seen = await told(async function* ({ emit }) {
      await emit("text" as never);
      await later();
      yield working();
    });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toContain("FAILED The agent's answer is not valid");
  });

  it("is read before the error that follows it", async () => {
    const seen = await told(async function* ({ emit }) {
      void emit(working("1"));
      yield* [];
      throw new Error("secret");
    });
    expect(seen).toEqual(["WORKING 1", expect.stringMatching(/^FAILED The agent failed unexpectedly/)]);
  });

  it("is dropped and logged after the end, and its promise resolves", async () => {
    let turn: Turn | undefined;
    const bench = new Bench({
      async *execute(own) {
        turn = own;
        yield completed();
      },
    });
    const held = await bench.send("go");
    await settle(held);
    await expect.poll(() => bench.engine.executions).toBe(0);
    await turn?.emit(working("late"));
    expect(held.now().generation).toBe(2);
    expect(bench.logged).toContainEqual({
      facts: { taskId: held.taskId, event: "WORKING" },
      message: "an agent emitted an event after its turn; the event is dropped",
    });
  });

  it("is dropped and logged after the last event of a turn, which it does not prolong", async () => {
    const bench = new Bench({
      async *execute({ emit }) {
        void emit(completed());
        void emit(working("late"));
        await later();
        yield working("later");
      },
    });
    const held = await bench.send("go");
    expect(await story(held)).toEqual(["COMPLETED"]);
    await expect
      .poll(() => bench.logged.map(({ message }) => message))
      .toContainEqual(
        "an agent yielded an event after the end of its task; the event is dropped, and the agent stopped",
      );
  });

  it("is dropped and logged after a direct reply, and does not stop the agent that cleans up", async () => {
    let cleaned = false;
    const bench = new Bench({
      responds: "message",
      async *execute({ emit }) {
        yield reply("hello");
        await later();
        await emit(working("late"));
        cleaned = true;
      },
    });
    expect((await bench.reply("go")).parts[0]?.content.value).toBe("hello");
    await expect.poll(() => cleaned).toBe(true);
    expect(bench.logged.map(({ facts, message }) => ({ ...facts, message }))).toEqual([
      { event: "WORKING", message: "an agent emitted an event after its turn; the event is dropped" },
    ]);
  });

  it("slows the agent down that waits for it, as a yield does", async () => {
    setConstants(unstored, { maxEvents: 4 });
    const hold = gate();
    let emitted = 0;
    const bench = new Bench({
      async *execute({ emit }) {
        for (; emitted < 50; emitted++) await emit(working(`${emitted}`));
        yield completed();
      },
    });
    const { append } = bench.store;
    bench.store.append = async (request) => {
      if (request.head.position > 2) await hold.opened;
      return append.call(bench.store, request);
    };
    const held = await bench.send("go");
    for (let i = 0; i < 50; i++) await later();
    expect(emitted).toBeLessThan(15);
    hold.open();
    expect(await story(held)).toHaveLength(51);
  });

  it("loses, doubles and reorders nothing, whoever emits and yields in between", async () => {
    const moves = fc.array(fc.constantFrom("yield", "emit", "wait", "tick", "callback"), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(moves, async (drawn) => {
        const expected: string[] = [];
        const seen = await told(async function* ({ emit }) {
          const callbacks: Promise<unknown>[] = [];
          let number = 0;
          const next = (): AgentEvent => {
            expected.push(`WORKING ${++number}`);
            return working(`${number}`);
          };
          for (const move of drawn) {
            if (move === "yield") yield next();
            else if (move === "emit") void emit(next());
            else if (move === "wait") await emit(next());
            else if (move === "tick") await later();
            else callbacks.push(later().then(() => emit(next())));
          }
          await Promise.all(callbacks);
        });
        expect(seen).toEqual([...expected, "COMPLETED"]);
      }),
      { numRuns: isSlow ? scaled(15, 50) : 50 },
    );
  });
});
