import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { AgentError } from "../../src/agent/errors.js";
import { artifact, completed, inputRequired, working } from "../../src/agent/event.js";
import { A2AError } from "../../src/core/error.js";
import { isSlow, openStore } from "./stores.js";
import { Bench, gate, quick, scope, settle, story } from "./support.js";

/** The story of a task whose agent yields these events. */
async function yields(...events: unknown[]): Promise<string[]> {
  const bench = new Bench({
    async *execute() {
      for (const event of events) yield event as never;
    },
  });
  return story(await bench.send("x"));
}

/** A value that throws when it is inspected. */
function hostile(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

interface Yielded {
  readonly yielded?: string;
}

describe("an agent without a type checker", () => {
  it.each([
    ["a name that is a number", { kind: "artifact", name: 5, text: "x" }],
    ["a text that is a number", { kind: "artifact", text: 5 }],
    ["bytes that are a text", { kind: "artifact", parts: [{ raw: "abc" }] }],
    ["bytes that are a list", { kind: "artifact", parts: [{ raw: [1, 2] }] }],
    ["parts that are no list", { kind: "artifact", parts: "abc" }],
    ["extensions that are a text", { kind: "artifact", text: "x", extensions: "abc" }],
    ["metadata with a number that is not finite", { kind: "artifact", text: "x", metadata: { a: Number.NaN } }],
    ["metadata with undefined", { kind: "artifact", text: "x", metadata: { a: undefined } }],
    ["metadata that is a date", { kind: "artifact", text: "x", metadata: new Date(0) }],
    ["metadata that is a list", { kind: "artifact", text: "x", metadata: [1] }],
    ["data with a bigint", { kind: "artifact", data: { a: 1n } }],
    ["metadata of a task that is a number", { kind: "metadata", metadata: 5 }],
    ["metadata of a task that is missing", { kind: "metadata" }],
    ["metadata of a task with a function", { kind: "metadata", metadata: { a: () => 1 } }],
    ["metadata of a task with too many members", { kind: "metadata", metadata: { a: new Array(50_001).fill(0) } }],
    ["an unknown state", { kind: "status", state: 99 }],
    ["the state of a new task", { kind: "status", state: TaskState.SUBMITTED }],
  ])("fails its task with a reason for %s, after what it said before", async (_what, event) => {
    const [first, last, ...more] = await yields(working(), event);
    expect(first).toBe("WORKING");
    expect(last).toMatch(/^FAILED The agent's answer is not valid: /);
    expect(more).toEqual([]);
  });

  it.each([
    ["null", null],
    ["undefined", undefined],
    ["a value that throws when it is looked at", hostile()],
    ["an error whose message throws", Object.defineProperty(new Error("x"), "message", { get: () => hostile() })],
    ["an AgentError whose message is no text", Object.assign(new AgentError("x"), { message: 5 })],
  ])("fails its task when it throws %s, and nothing else fails", async (_what, thrown) => {
    const bench = new Bench({
      // biome-ignore lint/correctness/useYield: it only throws.
      async *execute() {
        throw thrown;
      },
    });
    expect((await story(await bench.send("x")))[0]).toMatch(/^FAILED The agent failed unexpectedly\. Reference: /);
  });

  it("may yield one buffer and one object again and again", async () => {
    const bytes = new Uint8Array(2);
    const metadata: Record<string, number> = {};
    const bench = new Bench({
      async *execute() {
        for (let i = 1; i <= 3; i++) {
          bytes.fill(i);
          metadata.round = i;
          yield artifact({ id: `${i}`, parts: [{ raw: bytes }], metadata });
        }
        bytes.fill(9);
        metadata.round = 9;
      },
    });
    const held = await bench.send("x");
    await story(held);
    const { artifacts } = (await bench.engine.get(scope, held.accepted!.task.id)).task;
    expect(artifacts.map((a) => [...(a.parts[0]!.content.value as Uint8Array)])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
    expect(artifacts.map((a) => a.metadata?.round)).toEqual([1, 2, 3]);
  });

  it("cannot change what the client sent", async () => {
    const bench = new Bench({
      async *execute(turn) {
        turn.message.messageId = "changed";
        turn.message.parts.length = 0;
        yield working();
      },
    });
    const held = await bench.send("x");
    await story(held);
    expect(held.now().task.history[0]).toMatchObject({ messageId: "m1", parts: [{ content: { value: "x" } }] });
  });

  it("may return its last event", async () => {
    const bench = new Bench({
      // biome-ignore lint/correctness/useYield: it says everything with its return.
      async *execute(): AsyncGenerator<never, unknown> {
        return artifact({ text: "last" });
      },
    });
    expect(await story(await bench.send("x"))).toEqual(["artifact last", "COMPLETED"]);
  });

  it.each<readonly [unknown, string]>([
    ["secret", "a text of 6 characters"],
    [{ text: "secret" }, "an object with the members text"],
    [{ kind: "text", text: "secret" }, "an object with the members kind, text"],
    [[{ kind: "status" }], "a list that begins with an object with the members kind"],
    [artifact, "a function"],
    [undefined, "undefined"],
    [new Map(), "a value of Map"],
  ])("finds in the log what it yielded that is not an event: %o", async (value, yielded) => {
    for (const responds of ["task", "either", "message"] as const) {
      const bench = new Bench({
        responds,
        async *execute() {
          yield value as never;
        },
      });
      const answer = await bench.send("x").then(story, ({ message }: Error) => [message]);
      expect(answer[0]).toMatch(/^FAILED The agent's answer is not valid: yield what|^The agent did not answer/);
      const logged = bench.logged.map(({ facts, message }) => ({ message, yielded: (facts as Yielded).yielded }));
      expect(logged).toEqual([{ message: "an agent's answer is not valid", yielded }]);
      expect(JSON.stringify([answer, bench.logged])).not.toContain("secret");
    }
  });

  it("is named once in the log where its execute() is no generator", async () => {
    const bench = new Bench({ execute: () => Promise.resolve() as never });
    expect((await story(await bench.send("x")))[0]).toMatch(/^FAILED The agent failed unexpectedly/);
    expect(bench.logged.map(({ facts, message }) => [message, String((facts as { err?: unknown }).err)])).toEqual([
      [
        "an agent failed unexpectedly",
        "TypeError: execute() has to return an async iterable: write it as `async *execute(turn)`",
      ],
    ]);
  });

  it.each([
    ["undefined", undefined],
    ["null", null],
    ["a value that throws", hostile()],
  ])(
    "fails its task with a reason where it decides between task and message and begins with %s",
    async (_what, event) => {
      const bench = new Bench({
        responds: "either",
        async *execute() {
          yield event as never;
        },
      });
      expect((await story(await bench.send("x")))[0]).toMatch(
        /^FAILED The agent('s answer is not valid: | failed unexpectedly)/,
      );
    },
  );

  it("leaves no half surrogate pair in the log", async () => {
    expect(await yields(artifact({ text: "a\ud800b" }))).toEqual(["artifact a\ufffdb", "COMPLETED"]);
  });
});

describe("a cancel at an awkward moment", () => {
  it("ends the streams of a task that has just paused with CANCELED", async () => {
    const store = openStore();
    for (let round = 0; round < 20; round++) {
      const bench = new Bench(
        {
          async *execute() {
            yield inputRequired("?");
          },
        },
        { limits: quick },
        store,
      );
      const held = await bench.send("x");
      const { id: taskId } = held.accepted!.task;
      await settle(held);
      const follow = bench.send("more", { message: { taskId } }).then(story, () => []);
      const { task } = await bench.engine.cancel(scope, taskId);
      expect(task.status?.state).toBe(TaskState.CANCELED);
      const told = await follow;
      // On a slow store, the turn of the message may pause before it is canceled.
      const ends = isSlow ? ["CANCELED", "INPUT_REQUIRED ?"] : ["CANCELED"];
      if (told.length > 0) expect(ends).toContain(told.at(-1));
    }
  });

  it("lets an agent that it left behind clean up", async () => {
    const [stuck, cleaned] = [gate(), gate()];
    const agent: Omit<Agent, "card"> = {
      async *execute() {
        try {
          yield working();
          await stuck.opened;
          yield working("too late");
        } finally {
          cleaned.open();
        }
      },
    };
    const bench = new Bench(agent, { limits: quick });
    const held = await bench.send("x");
    await bench.engine.cancel(scope, held.accepted!.task.id);
    stuck.open();
    await cleaned.opened;
  });
});

describe("what accept() returns", () => {
  const refusals: [what: string, accept: () => unknown][] = [
    ["false", () => false],
    ["a promise of false", async () => false],
    ["an error", () => new A2AError("PERMISSION_DENIED", "No.")],
    ["a generator, which never runs", async function* () {}],
  ];

  it.each(refusals)("lets no message in that it is meant to refuse: %s", async (_what, accept) => {
    let runs = 0;
    const agent = {
      accept,
      async *execute() {
        runs++;
        yield completed();
      },
    } as unknown as Omit<Agent, "card">;
    const bench = new Bench(agent);
    await expect(bench.send("x")).rejects.toMatchObject({ reason: "INTERNAL" });
    expect([runs, (await bench.engine.list({ ...scope, limit: 10 }, {})).total]).toEqual([0, 0]);
    expect(bench.logged).toContainEqual(
      expect.objectContaining({ facts: expect.objectContaining({ err: expect.any(TypeError) }) }),
    );
  });

  it("means nothing else", async () => {
    const bench = new Bench({ accept: () => true as never, async *execute() {} });
    expect(await settle(await bench.send("x"))).toBe("COMPLETED");
  });
});
