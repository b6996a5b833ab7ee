import { afterEach, describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError, type Agent, artifact, completed, inputRequired, reply, working } from "../../src/index.js";
import { type AgentTest, type AgentTestOptions, sequentialIds, testAgent, textOf } from "../../src/testing/index.js";

const card = { name: "Tested", description: "Is tested.", version: "1", skills: [] };
const open: AgentTest[] = [];

function test(agent: Omit<Agent, "card">, options?: AgentTestOptions): AgentTest {
  const t = testAgent({ card, ...agent }, options);
  open.push(t);
  return t;
}

afterEach(async () => {
  for (const t of open.splice(0)) await t.close();
});

const echo: Omit<Agent, "card"> = {
  async *execute(turn) {
    yield artifact({ name: "echo", text: turn.text });
  },
};

describe("turn.initialMetadata", () => {
  it("is that of the first message in each turn, after a crash too, and `accept` sees it", async () => {
    const seen: unknown[] = [];
    const agent: Agent = {
      card: { name: "Planner", description: "Asks twice.", version: "1.0.0" },
      recover: "restart",
      accept: ({ initialMetadata }) => void seen.push(initialMetadata.plan),
      async *execute(turn) {
        seen.push(turn.initialMetadata.plan);
        (turn.initialMetadata as { plan?: unknown }).plan = "changed";
        yield turn.history.length < 4 ? inputRequired("And?") : completed("Done.");
      },
    };
    await using t = testAgent(agent);
    const task = await t.send("one", { metadata: { plan: "gold" } });
    await t.send("two", { task, metadata: { plan: "silver" } });
    await t.crash();
    await t.send("three", { task });
    expect(seen).toEqual(["gold", "gold", "gold", "gold", "gold", "gold"]);
  });
});

describe("a task of a test", () => {
  it("has parts with plain values, like those of clients", async () => {
    const t = test(echo);
    const task = await t.send([{ text: "hello" }, { data: [1] }]);
    expect(task.artifacts[0]?.parts[0]?.text).toBe("hello");
    for (const each of [await t.get(task), ...(await t.list()), await t.settled(task)]) {
      expect(each.history[0]?.parts.map(({ text, data }) => text ?? data)).toEqual(["hello", [1]]);
    }
  });
});

describe("textOf()", () => {
  it("separates the artifacts that have text by line feeds", async () => {
    const t = test({
      async *execute() {
        yield artifact({ name: "one", text: "1" });
        yield artifact({ name: "file", parts: [{ raw: new Uint8Array(3), filename: "a.bin" }] });
        yield artifact({ name: "two", text: "2" });
        yield artifact({ name: "data", data: { a: 1 } });
      },
    });
    expect(textOf(await t.send("x"))).toBe("1\n2");
  });
});

/** Asks once, then answers. */
const asking: Omit<Agent, "card"> = {
  async *execute(turn) {
    if (turn.history.length === 0) yield inputRequired("Which one?");
    else yield completed(`Took ${turn.text}.`);
  },
};

/** Yields one word and then hangs. */
const stuck: Omit<Agent, "card"> = {
  recover: "restart",
  async *execute(turn) {
    if (turn.attempt > 1) return yield completed(`Attempt ${turn.attempt}.`);
    yield artifact({ text: "half" });
    await new Promise(() => {});
  },
};

describe("testAgent()", () => {
  it("sends a message and gives the task as it is when it rests", async () => {
    const task = await test(echo).send("hello");
    expect(task.status?.state).toBe(TaskState.COMPLETED);
    expect(textOf(task)).toBe("hello");
  });

  it("gives the answer of an agent that needs no task, and says which method is the right one", async () => {
    const messenger = test({
      responds: "message",
      async *execute(turn) {
        yield reply(`You said ${turn.text}.`);
      },
    });
    expect(textOf(await messenger.ask("hi"))).toBe("You said hi.");
    await expect(messenger.send("hi")).rejects.toThrow("ask()");
    await expect(test(echo).ask("hi")).rejects.toThrow("send()");
  });

  it("streams", async () => {
    const cases: (string | undefined)[] = [];
    for await (const { payload } of test(echo).stream("hello")) cases.push(payload.case);
    expect(cases.at(-1)).toBe("statusUpdate");
    expect(cases.at(0)).toBe("task");
    expect(cases).toContain("artifactUpdate");
  });

  it("follows up, lists and cancels", async () => {
    const t = test(asking);
    const first = await t.send("order");
    expect(first.status?.state).toBe(TaskState.INPUT_REQUIRED);
    const second = await t.send("the red one", { task: first });
    expect(second.id).toBe(first.id);
    expect(textOf(second.status!.message!)).toBe("Took the red one.");
    const third = await t.send("order");
    expect((await t.cancel(third)).status?.state).toBe(TaskState.CANCELED);
    expect((await t.list()).map(({ id }) => id)).toEqual([third.id, first.id]);
  });

  it("fails as a client's call would", async () => {
    const t = test({
      ...echo,
      accept: () => {
        throw new A2AError("CONTENT_TYPE_NOT_SUPPORTED", "No.");
      },
    });
    await expect(t.send("hello")).rejects.toMatchObject({ reason: "CONTENT_TYPE_NOT_SUPPORTED" });
    await expect(t.get("unknown")).rejects.toMatchObject({ reason: "TASK_NOT_FOUND" });
    await expect(t.send([])).rejects.toMatchObject({ reason: "INVALID_PARAMS" });
  });

  it("keeps callers apart", async () => {
    const t = test(echo, { caller: { owner: "alice", scopes: ["write"] } });
    const task = await t.send("mine");
    await expect(t.get(task, { caller: { owner: "bob" } })).rejects.toMatchObject({ reason: "TASK_NOT_FOUND" });
    expect((await t.get(task)).id).toBe(task.id);
  });

  it.each(["crash", "restart"] as const)("takes over after a %s what was cut off", async (how) => {
    const t = test(stuck);
    const begun = await t.send("go", { returnImmediately: true });
    for await (const { payload } of t.subscribe(begun)) {
      if (payload.case === "artifactUpdate") break;
      if (payload.case === "task" && payload.value.artifacts.length > 0) break;
    }
    await t[how]();
    const task = await t.settled(begun);
    expect(textOf(task)).toBe("half");
    expect(textOf(task.status!.message!)).toBe("Attempt 2.");
  });

  it("fails a task that a crash cut off, unless the agent says otherwise, and what was open", async () => {
    const t = test({ execute: stuck.execute });
    const waiting = t.send("go");
    await expect.poll(async () => (await t.list()).length).toBe(1);
    await t.crash();
    await expect(waiting).rejects.toMatchObject({ reason: "UNAVAILABLE" });
    const [task] = await t.list();
    expect((await t.settled(task!)).status?.state).toBe(TaskState.FAILED);
  });

  it("hears nothing more of an agent that a crash left behind", async () => {
    let proceed = (): void => {};
    const t = test({
      recover: "restart",
      async *execute(turn) {
        if (turn.attempt > 1) return yield completed("The second.");
        yield working("Begun.");
        await new Promise<void>((resolve) => {
          proceed = resolve;
        });
        yield artifact({ text: "from the grave" });
      },
    });
    const begun = await t.send("go", { returnImmediately: true });
    await expect.poll(async () => (await t.get(begun)).status?.state).toBe(TaskState.WORKING);
    await t.crash();
    proceed();
    const task = await t.settled(begun);
    expect(textOf(task.status!.message!)).toBe("The second.");
    expect(task.artifacts).toEqual([]);
  });

  it("has fixed times and known ids", async () => {
    const now = new Date("2026-01-02T03:04:05.000Z");
    const t = test(echo, { now, ids: sequentialIds() });
    const task = await t.send("hello", { messageId: "m" });
    expect(task).toMatchObject({ id: "id-2", contextId: "id-3" });
    expect(task.status?.timestamp?.seconds).toBe(BigInt(now.getTime() / 1_000));
    await t.close();
    expect((await test(echo).send("hello")).id).toMatch(/^[0-9a-f-]{36}$/);
  });
});
