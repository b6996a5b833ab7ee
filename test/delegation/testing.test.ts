import { describe, expect, it } from "vitest";
import { type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { artifact, completed, inputRequired, working } from "../../src/agent/event.js";
import { createA2A } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { testAgent, textOf } from "../../src/testing/index.js";
import { agentOf } from "./servers.js";

const said = (task: Task): string => textOf(task.status?.message ?? task);

const front = {
  ...agentOf("Front", async function* (turn) {
    const { text } = yield* turn.delegate("other");
    yield completed(`heard ${text}`);
  }),
  recover: "restart" as const,
};

describe("testAgent() with remoteAgents", () => {
  it("serves fakes to the agent under test", async () => {
    const other = agentOf("Other", async function* (turn) {
      yield artifact({ text: `${turn.text}!` });
    });
    await using test = testAgent(front, { remoteAgents: { other } });
    const task = await test.send("hello");
    expect(said(task)).toBe("heard hello!");
  });

  it("lets it crash in the middle of a delegation, which goes on where it was", async () => {
    let began = 0;
    let proceed = (): void => {};
    const held = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    const other = agentOf("Other", async function* () {
      began++;
      yield working("begun");
      yield artifact({ id: "a", text: "one " });
      await held;
      yield artifact({ id: "a", text: "two", append: true });
    });
    await using test = testAgent(front, { remoteAgents: { other } });
    const task = await test.send("hello", { returnImmediately: true });
    await expect.poll(async () => (await test.get(task)).artifacts.length).toBe(1);
    await test.crash();
    proceed();
    const ended = await test.settled(task);
    expect(ended.artifacts.map(({ parts }) => parts.map(({ content }) => content.value))).toEqual([["one ", "two"]]);
    expect(ended.history.map(textOf)).toEqual(["hello", "begun"]);
    expect(said(ended)).toBe("heard one two");
    expect(began).toBe(1);
  });

  it("fails a task whose agent is not to be restarted, and lets the other one go", async () => {
    let stopped = false;
    const other = agentOf("Other", async function* ({ signal }) {
      yield artifact({ id: "a", text: "one " });
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      stopped = true;
    });
    await using test = testAgent({ ...front, recover: "fail" }, { remoteAgents: { other } });
    const task = await test.send("hello", { returnImmediately: true });
    await expect.poll(async () => (await test.get(task)).artifacts.length).toBe(1);
    await test.crash();
    expect((await test.settled(task)).status?.state).toBe(TaskState.FAILED);
    await expect.poll(() => stopped).toBe(true);
  });

  it("hands an answer on after a crash that came between the question and it", async () => {
    const heard: string[] = [];
    const other = agentOf("Other", async function* (turn) {
      heard.push(turn.text);
      if (turn.history.length === 0) yield inputRequired("which?");
      else yield completed(`took ${turn.text}`);
    });
    await using test = testAgent(front, { remoteAgents: { other } });
    const asked = await test.send("hello");
    expect(said(asked)).toBe("which?");
    await test.crash();
    const task = await test.send("blue", { task: asked });
    expect(said(task)).toBe("heard took blue");
    expect(heard).toEqual(["hello", "blue"]);
  });

  it.each([
    ["says the same", () => "the work"],
    ["says something else", (attempt: number) => `attempt ${attempt}`],
  ])("begins no second sub-task when it dies before it hears of the first, and %s the second time", async (_, says) => {
    const heard: string[] = [];
    const other = createA2A({
      agent: agentOf("Other", async function* (turn) {
        heard.push(turn.text);
        yield working("at it");
        yield artifact({ id: "a", text: "do" });
        yield artifact({ id: "a", text: "ne", append: true });
      }),
      store: memoryStore(),
      publicUrl: "http://other.localhost",
      cardGrpc: "omit",
    });
    let isHeld = true;
    let arrived = 0;
    // Requests arrive, but answers to sends are lost while the line is held.
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const answer = await other.fetch(new Request(input, init));
      const isSend = init?.method === "POST";
      if (isSend) arrived++;
      if (isSend && isHeld) await new Promise((_, reject) => init.signal?.addEventListener("abort", reject));
      return answer;
    };
    const asking = {
      ...agentOf("Front", async function* (turn) {
        const { text } = yield* turn.delegate("other", says(turn.attempt));
        yield completed(text);
      }),
      recover: "restart" as const,
    };
    await using test = testAgent(asking, { remoteAgents: { other: { url: "http://other.localhost", fetch } } });
    const task = await test.send("hello", { returnImmediately: true });
    await expect.poll(() => arrived).toBe(1);
    isHeld = false;
    await test.crash();
    const ended = await test.settled(task);
    expect(said(ended)).toBe("done");
    expect(ended.artifacts.map(({ parts }) => parts.map(({ content }) => content.value))).toEqual([["do", "ne"]]);
    expect(ended.history.map(textOf)).toEqual(["hello", "at it"]);
    // The pieces arrive as they were sent, and not joined as in the snapshot of the sub-task.
    const pieces: unknown[] = [];
    const resume = { extensions: ["urn:parley:ext:resume:v1"], headers: { "parley-after-generation": "1" } };
    for await (const { payload } of test.subscribe(task, resume)) {
      if (payload.case === "artifactUpdate") pieces.push(payload.value.artifact?.parts.length);
    }
    expect(pieces).toEqual([1, 1]);
    expect(heard).toEqual([says(1)]);
    await other.close({ graceMs: 0 });
  });
});
